"""Shared by the command lines: overrides, and one line for an error."""

import argparse
import os
import pathlib
import re
import shlex
import shutil
import sys


def parse(parser: argparse.ArgumentParser, words=None):
    """Parses known flags and the `--config.field=value` overrides.

    With a recipe, `--help` lists the fields of the recipe instead.

    Returns the namespace, with `overrides` a list of `field=value`.
    """
    prefix = "--config."
    words = sys.argv[1:] if words is None else words
    if not {"-h", "--help"}.isdisjoint(words):
        _list_fields(parser, words)
    # argparse would take an override with a space in it for a value.
    arguments, unknown = parser.parse_known_args(
        [word for word in words if not word.startswith(prefix)]
    )
    if unknown:
        parser.error(
            f"unknown argument {unknown[0]!r}; a field of the recipe is set "
            "with --config.field=value"
        )
    arguments.overrides = [
        word.removeprefix(prefix) for word in words if word.startswith(prefix)
    ]
    return arguments


def _list_fields(parser: argparse.ArgumentParser, words) -> None:
    """Prints the fields of the recipe among the words and exits, if any."""
    from trainers.config import read_run
    from trainers.run_help import help_of_run

    of_recipe = argparse.ArgumentParser(add_help=False)
    of_recipe.add_argument("--config")
    fields = [word for word in words if word.startswith("--config.")]
    others = [word for word in words if word not in fields]
    recipe = of_recipe.parse_known_args(others)[0].config
    if recipe is None:
        return
    try:
        run = read_run(recipe, [f.removeprefix("--config.") for f in fields])
    except ValueError as error:
        parser.error(" ".join(str(error).split()))
    print(help_of_run(recipe, run))
    parser.exit()


def run(function, *arguments) -> int:
    """Calls a command; bad input ends in one line, not in a traceback.

    With `EMBEDDINGS_TF_TRACEBACK=1` in the environment the traceback is
    shown as well.
    """
    try:
        function(*arguments)
    except KeyboardInterrupt:
        print("stopped; start the same command again to go on")
        return 130
    except Exception as error:
        message = _one_line(error)
        if message is None or os.environ.get("EMBEDDINGS_TF_TRACEBACK"):
            raise
        print(f"error: {message}", file=sys.stderr)
        return 1
    return 0


def _one_line(error: Exception) -> str | None:
    """The message of bad input or a failing machine; None for a bug."""
    text = str(error)
    if type(error).__module__.startswith("tensorflow"):
        # A pipeline wraps what Python raised in it, with its traceback.
        raised = re.search(r"^\s*(?:ValueError|OSError): (.+)", text, re.M)
        text = raised.group(1) if raised else text.partition("\n")[0]
    elif not isinstance(error, ValueError | OSError | ArithmeticError):
        return None
    elif text.startswith("in user code:"):  # so a graph quotes what it traced
        text = re.split(r"^ *\w*Error: ", text, flags=re.M)[-1]
    return " ".join(text.split())


def module_command(module: str) -> str:
    """How to start a module with this interpreter, from this folder."""
    python = pathlib.Path(sys.executable)
    found = shutil.which("python")
    if found and pathlib.Path(found).absolute() == python.absolute():
        return f"python -m {module}"
    if python.is_relative_to(pathlib.Path.cwd()):
        python = python.relative_to(pathlib.Path.cwd())
    return f"{shlex.quote(str(python))} -m {module}"
