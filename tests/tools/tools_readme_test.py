"""tools/README.md: a row for every command, with the page that it writes."""

import pathlib
import re

ROOT = pathlib.Path(__file__).parents[2]
TOOLS = ROOT / "tools"
PAGE = re.compile(r"^PAGE = ROOT((?: / \"[^\"]+\")+)$", re.MULTILINE)


def rows():
    """The cells below "reads" and "writes", by command."""
    text = (TOOLS / "README.md").read_text()
    found = re.findall(r"(?m)^\| `(\w+)` \| (.*) \| (.*) \|$", text)
    assert len(found) == len({name for name, *_ in found})
    return {name: (reads, writes) for name, reads, writes in found}


def commands():
    """The text of every module that can be started, by name."""
    texts = {file.stem: file.read_text() for file in TOOLS.glob("*.py")}
    return {
        name: text
        for name, text in texts.items()
        if 'if __name__ == "__main__"' in text
    }


def test_every_command_has_a_row():
    assert len(commands()) > 30
    assert sorted(rows()) == sorted(commands())


def test_a_row_names_the_page_that_the_command_writes():
    table, named = rows(), 0
    for name, text in commands().items():
        if found := PAGE.search(text):
            page = "/".join(re.findall(r'"([^"]+)"', found[1]))
            assert f"[{page}](../{page})" in table[name][1], name
            named += 1
    assert named > 20


def test_links_lead_to_files():
    text = (TOOLS / "README.md").read_text()
    for target in set(re.findall(r"\]\((.*?)\)", text)):
        assert (TOOLS / target).is_file(), target
