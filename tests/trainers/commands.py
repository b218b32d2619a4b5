"""Commands called in this process, on the tiny recipe."""

import pathlib

from trainers import demo
from tuning import search

ROOT = pathlib.Path(__file__).parents[2]
TINY = "tests/trainers/tiny.py"
SPACE = "tests/tuning/tiny_space.py"
# A deterministic process would stay deterministic for later tests.
QUICK = ("--config.deterministic=False", "--config.num_epochs=2")


def call(module, *words) -> int:
    """Returns the exit code of a command."""
    return module.main([*map(str, words)])


def refused(capsys, module, *words) -> str:
    """Returns the error of a command, which must be one line on stderr."""
    capsys.readouterr()
    assert call(module, *words) == 1
    err = capsys.readouterr().err
    assert err.startswith("error: ") and err.count("\n") == 1, err
    return err


def tiny(module, workdir, *words) -> list:
    """Returns the arguments of a command that starts the tiny recipe."""
    start = ["--config", TINY, "--workdir", workdir, *QUICK]
    if module is demo:
        start = ["--workdir", workdir, *QUICK]
    if module is search:
        start += ["--space", SPACE, "--trials", 1]
    return [*start, *words]
