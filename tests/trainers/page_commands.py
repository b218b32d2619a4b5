"""Code and commands of a page of the documentation, to be run as printed."""

import pathlib
import re
import shlex

from trainers import console

DOCS = pathlib.Path(__file__).parents[2] / "docs"
SHORT = ["--config.num_epochs=2", "--config.steps_per_epoch=25"]
# A deterministic process would stay deterministic for later tests.
MORE = ["--config.deterministic=False"]


def blocks(page: str, language: str, section: str = "") -> list[str]:
    """Returns the code blocks of a page, or of a section of it, in order.

    Args:
        page: Name of the file.
        language: What follows the opening of a block.
        section: A heading of the second level; empty: the whole page.
    """
    text = (DOCS / page).read_text(encoding="utf-8")
    if section:
        _, found, text = text.partition(f"## {section}\n")
        assert found, section
        text = text.partition("\n## ")[0]
    return re.findall(rf"```{language}\n(.*?)```", text, flags=re.DOTALL)


def run_python(page: str, number: int) -> dict:
    """Runs a Python block of a page; returns its variables."""
    namespace = {}
    code = compile(blocks(page, "python")[number], str(DOCS / page), "exec")
    exec(code, namespace)  # noqa: S102
    return namespace


def run_commands(lines: list[str]) -> None:
    """Runs commands of `embeddings-tf` in this process; trainings are short."""
    for line in lines:
        name, command, *words = shlex.split(line)
        assert name == "embeddings-tf"
        is_training = command in ("train", "compare")
        words = [command, *words, *(SHORT + MORE) * is_training]
        assert console.main(words) == 0, line
