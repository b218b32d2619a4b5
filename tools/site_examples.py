"""MkDocs hook: adds a page to the site for each file in `examples/`.

The page of a notebook contains its text, code and committed outputs. The page
of a script contains its docstring, its figure
(`docs/figures/example_NAME.png`) and its code.
"""

import ast
import base64
import json
import pathlib

EXAMPLES = pathlib.Path(__file__).parents[1] / "examples"


def on_files(files, config):
    """Adds the pages; MkDocs calls it with the files of the site."""
    from mkdocs.structure.files import File

    for path in sorted(EXAMPLES.iterdir()):
        if path.suffix not in (".ipynb", ".py"):
            continue
        page = notebook_page if path.suffix == ".ipynb" else script_page
        text, figures = page(path)
        contents = {f"examples/{path.stem}.md": text}
        contents |= {f"examples/{name}": png for name, png in figures.items()}
        for uri, content in contents.items():
            files.append(File.generated(config, uri, content=content))
    return files


def notebook_page(path: pathlib.Path) -> tuple[str, dict[str, bytes]]:
    """Returns Markdown of a notebook, and its figures by name."""
    parts, figures = [], {}
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source.replace("](../docs/", "](../"))
            continue
        parts.append(fenced(source, "python"))
        for output in cell["outputs"]:
            data = output.get("data", {})
            if "image/png" in data:
                name = f"{path.stem}_{len(figures)}.png"
                figures[name] = base64.b64decode("".join(data["image/png"]))
                parts.append(f"![figure]({name})")
            elif "text" in output:
                parts.append(fenced("".join(output["text"]), "text"))
    return "\n\n".join(parts) + "\n", figures


def script_page(path: pathlib.Path) -> tuple[str, dict[str, bytes]]:
    """Returns Markdown of a script; the site already has its figure."""
    source = path.read_text(encoding="utf-8")
    title, _, text = ast.get_docstring(ast.parse(source)).partition("\n")
    parts = [
        f"# {title.rstrip('.')}",
        text.strip("\n"),
        f"![figure](../figures/example_{path.stem}.png)",
        fenced(source, "python"),
    ]
    return "\n\n".join(parts) + "\n", {}


def fenced(text: str, language: str) -> str:
    return f"```{language}\n{text.rstrip()}\n```"
