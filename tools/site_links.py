"""MkDocs hook: turns links that leave `docs/` into plain text.

Pages link to files of the repository. The site does not contain these files,
except for a page per example.
"""

import os
import pathlib
import re

LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)\s]+)\)")


def on_page_markdown(markdown: str, page, config, files) -> str:
    """Changes the links of a page; MkDocs calls it with the page's text."""
    docs = pathlib.Path(config["docs_dir"]).resolve()
    folder = (docs / page.file.src_uri).parent

    def without_outside(link: re.Match) -> str:
        text, target = link.groups()
        if "://" in target or target.startswith("#"):
            return link.group()
        path = (folder / target.partition("#")[0]).resolve()
        if path.parent == docs.parent / "examples":
            page_of_it = docs / "examples" / f"{path.stem}.md"
            return f"[{text}]({os.path.relpath(page_of_it, folder)})"
        return link.group() if path.is_relative_to(docs) else text

    return LINK.sub(without_outside, markdown)
