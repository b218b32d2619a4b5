"""Writes a config as a Python file that a user can edit."""

import pprint
from collections.abc import Mapping


def recipe_text(about: str, config: Mapping) -> str:
    """Returns the source of a recipe, with `about` as its docstring."""
    source = pprint.pformat(config, width=72, sort_dicts=False)
    lines = [
        f'"""{_in_docstring(about)}',
        '"""',
        "",
        "import ml_collections",
        "",
        "",
        "def get_config():",
        "    return ml_collections.ConfigDict(",
        *("        " + line for line in source.splitlines()),
        "    )",
        "",
    ]
    return "\n".join(lines)


def _in_docstring(text: str) -> str:
    """Returns the source of a text between triple quotes.

    Paths may contain backslashes, quotes and bytes that are not UTF-8. Other
    text stays as it is.
    """
    text = text.replace("\\", "\\\\").replace('"""', r"\"\"\"")
    # Python reads a carriage return in a file as the end of a line.
    text = text.replace("\r", r"\r").replace("\0", r"\0")
    return text.encode("utf-8", "backslashreplace").decode()
