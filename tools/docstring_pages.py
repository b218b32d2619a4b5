"""Griffe extension for the reference pages of the site.

Examples of docstrings become code. A function whose file has its name is on
the page of its package: Griffe alone finds only the file under this name.
"""

import re
import textwrap
from collections.abc import Iterator

import griffe

DOCTEST = re.compile(r"(?m)^( *)>>> .*(?:\n(?! *$).+)*")
HEADING = re.compile(
    r"(?m)^(Example|Formula|Reference|References|Returns|Output shape):\n"
    r"((?: *\n|    .*(?:\n|\Z))*)"
)


class DocstringPages(griffe.Extension):
    """Turns doctests into code blocks and our own headings into bold text."""

    def on_package(self, *, pkg: griffe.Module, **_) -> None:
        for item in objects_below(pkg):
            if item.docstring is not None:
                item.docstring.value = as_markdown(item.docstring.value)
        # Last: files that are hidden by their function are not found below.
        for package in [pkg, *pkg.modules.values()]:
            for name in package.exports or ():
                show_instead_of_its_file(package, str(name))


def objects_below(parent: griffe.Object) -> Iterator[griffe.Object]:
    for member in parent.members.values():
        if not member.is_alias:
            yield member
            yield from objects_below(member)


def show_instead_of_its_file(package: griffe.Module, name: str) -> None:
    """Makes `name` of a package the object of this name in the file `name`."""
    file = package.members.get(name)
    if file is not None and file.is_module and name in file.members:
        package.members[name] = griffe.Alias(
            name, file.members[name], parent=package
        )


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
