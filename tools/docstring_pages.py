"""Griffe extension that shows examples of docstrings as code on the site."""

import re
import textwrap

import griffe

DOCTEST = re.compile(r"(?m)^( *)>>> .*(?:\n(?! *$).+)*")
HEADING = re.compile(
    r"(?m)^(Example|Formula|Reference|References|Output shape):\n"
    r"((?: *\n|    .*(?:\n|\Z))*)"
)


class DocstringPages(griffe.Extension):
    """Turns doctests into code blocks and our own headings into bold text."""

    def on_object(self, *, obj: griffe.Object, **_) -> None:
        if obj.docstring is not None:
            obj.docstring.value = as_markdown(obj.docstring.value)


def as_markdown(text: str) -> str:
    """Returns a docstring with fenced examples and bold headings.

    Example:

    >>> as_markdown("Example:" + chr(10) * 2 + ">>> 1 + 1").splitlines()
    ['**Example**', '', '', '', '```pycon', '>>> 1 + 1', '```']
    """
    text = text.replace(
        "\nCall arguments:\n", "\nKeyword Args: Call arguments\n"
    )

    def bold(found: re.Match) -> str:
        name, body = found.groups()
        return f"**{name}**\n\n{textwrap.dedent(body).strip(chr(10))}\n\n"

    text = HEADING.sub(bold, text)

    def fenced(found: re.Match) -> str:
        indent = found.group(1)
        return f"{indent}```pycon\n{found.group()}\n{indent}```"

    return DOCTEST.sub(fenced, text)
