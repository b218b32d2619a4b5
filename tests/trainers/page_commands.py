"""Code and commands of a page of the documentation, to be run as printed."""

import importlib
import pathlib
import re
import shlex
import subprocess
import sys

from trainers import console

ROOT = pathlib.Path(__file__).parents[2]
DOCS = ROOT / "docs"
# A prime number of steps: nothing is measured to choose steps of one call.
SHORT = ["--config.num_epochs=2", "--config.steps_per_epoch=11"]
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
    return run_code(blocks(page, "python")[number], page)


def run_code(code: str, page: str) -> dict:
    """Runs Python code of a page; returns its variables."""
    namespace = {}
    exec(compile(code, str(DOCS / page), "exec"), namespace)  # noqa: S102
    return namespace


def run_commands(lines: list[str]) -> None:
    """Runs commands of `embeddings-tf` in this process; trainings are short."""
    for line in lines:
        name, command, *words = shlex.split(line)
        assert name == "embeddings-tf"
        is_training = command in ("train", "compare")
        words = [command, *words, *(SHORT + MORE) * is_training]
        assert console.main(words) == 0, line


def run_shell(block: str) -> None:
    """Runs commands of `embeddings-tf` and `python`; trainings are short.

    Modules run in this process, scripts of the checkout in one of their own.
    """
    for line in block.replace("\\\n", " ").splitlines():
        program, first, *words = shlex.split(line)
        if program == "embeddings-tf":
            run_commands([line])
            continue
        assert program == "python", line
        if first != "-m":
            script = [sys.executable, str(ROOT / first), *words]
            subprocess.run(script, check=True)
            continue
        module, *words = words
        if module == "trainers.train":
            words += SHORT + MORE
        assert importlib.import_module(module).main(words) in (None, 0), line


def run_page(page: str) -> list[dict]:
    """Runs every block of a page in order; returns variables of the Python."""
    text = (DOCS / page).read_text(encoding="utf-8")
    found = []
    for language, code in re.findall(
        r"```(sh|python)\n(.*?)```", text, flags=re.DOTALL
    ):
        if language == "sh":
            run_shell(code)
        else:
            found.append(run_code(code, page))
    return found
