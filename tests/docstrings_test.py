"""The sections of docstrings, which the documentation site reads."""

import ast
import pathlib
import re

ROOT = pathlib.Path(__file__).parent.parent
PACKAGES = "embeddings_tf", "trainers", "tuning", "tools"
SECTION = re.compile(r"\s+(Args|Returns|Yields|Raises|Reference|Example):$")
DOCUMENTED = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module


def nested_sections(source):
    """Headings of sections that stand inside another section."""
    return [
        line
        for node in ast.walk(ast.parse(source))
        if isinstance(node, DOCUMENTED)
        for line in (ast.get_docstring(node) or "").split("\n")
        if SECTION.match(line)
    ]


def test_no_section_is_inside_another():
    found = {
        str(path.relative_to(ROOT)): nested
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        if (nested := nested_sections(path.read_text()))
    }
    assert not found


def test_a_nested_section_is_found():
    source = '"""Does.\n\nReturns:\n    One.\n\n{}Raises:\n"""'
    assert nested_sections(source.format("    ")) == ["    Raises:"]
    assert nested_sections(source.format("")) == []
