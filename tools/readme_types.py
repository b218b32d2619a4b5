"""Checks the types of the Python snippets in README.md.

    python -m tools.readme_types

Mypy reads the snippets as one module that uses `embeddings_tf`. A snippet with
a wrong argument fails.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).parents[1]


def snippets(page: pathlib.Path) -> str:
    """Returns the Python code of a page, with the page's line numbers."""
    lines, is_code = [], False
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.startswith("```"):
            is_code = bool(re.fullmatch("```python", line))
            line = ""
        lines.append(line if is_code else "")
    return "\n".join(lines) + "\n"


def main(page: pathlib.Path = ROOT / "README.md") -> int:
    with tempfile.TemporaryDirectory() as folder:
        module = pathlib.Path(folder) / f"{page.stem}.py"
        module.write_text(snippets(page), encoding="utf-8")
        return subprocess.run(
            [sys.executable, "-m", "mypy", "--check-untyped-defs", module],
            cwd=ROOT,
        ).returncode


if __name__ == "__main__":
    sys.exit(main())
