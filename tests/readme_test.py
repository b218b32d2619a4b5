"""What the README shows runs as it stands."""

import pathlib
import re

ROOT = pathlib.Path(__file__).parents[1]
LINK = re.compile(r'\[[^\]"]+\]\(([^)#]+)\)')


def python_blocks(path):
    return re.findall(r"```python\n(.*?)```", path.read_text(), re.S)


def test_readme_snippets_run_in_order(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = python_blocks(ROOT / "README.md")
    assert len(blocks) == 2
    namespace = {}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), namespace)  # noqa: S102
    probabilities = namespace["probabilities"]
    assert probabilities.shape == (100, 20)
    assert (tmp_path / "saved_models" / "mine" / "1").is_dir()


def test_links_of_the_documents_exist():
    for document in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")):
        for link in LINK.findall(document.read_text()):
            if "://" not in link:
                assert (document.parent / link).exists(), (document, link)
