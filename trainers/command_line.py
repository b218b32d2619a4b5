"""Common parts of the commands: overrides, and one-line errors."""

import argparse
import contextlib
import io
import os
import re
import select
import sys
import warnings
from typing import NoReturn

from trainers.terminal import command_names
from trainers.terminal.machine_fault import NO_ROOM
from trainers.terminal.machine_fault import machine_fault

INPUTS_HELP = (
    "files; or one folder, with a subfolder per class or without; or one data "
    "set such as image_folder:PATH; default: the run's own data"
)


# Flags whose value is a folder or a file.
PATHS = (
    "config",
    "directory",
    "gallery",
    "projector",
    "search",
    "space",
    "workdir",
)
# In the messages of images that cannot be used; `datasets` needs TensorFlow.
BAD_IMAGE = (
    "is not a complete JPEG or PNG image",
    "has 16 bits, of which the upper 8 are kept",
    "more than TensorFlow decodes",
)
# How a shell reports a process that was ended by a closed pipe.
CLOSED_PIPE = 141


class ArgumentParser(argparse.ArgumentParser):
    """A parser whose errors are one line, without the list of all flags."""

    def parse_known_args(self, args=None, namespace=None):
        found, unknown = super().parse_known_args(args, namespace)
        for name in PATHS:  # a shell leaves ~ in --workdir=~/run
            if isinstance(value := getattr(found, name, None), str):
                setattr(found, name, os.path.expanduser(value))
        return found, unknown

    def exit(self, status=0, message=None) -> NoReturn:
        with quiet_pipe():  # the text of --help
            pass
        super().exit(status, message)

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"error: {message} (--help lists all arguments)\n")


@contextlib.contextmanager
def quiet_pipe():
    """Ends the process quietly once nobody reads its output, as in `| head`."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        if not _has_no_reader(sys.stdout):
            raise  # another pipe is broken
        # Python flushes once more at its end.
        closed = os.open(os.devnull, os.O_WRONLY)
        os.dup2(closed, sys.stdout.fileno())
        os.close(closed)
        raise SystemExit(CLOSED_PIPE) from None


def _has_no_reader(stream) -> bool:
    """Whether the stream is a pipe that nobody reads."""
    try:
        poll = select.poll()
        poll.register(stream.fileno(), select.POLLOUT)
    except OSError:  # not a file
        return False
    closed = select.POLLERR | select.POLLHUP
    return any(found & closed for _, found in poll.poll(0))


def add_recipe(
    parser: argparse.ArgumentParser, with_folds="", required=True
) -> None:
    """Adds the flag `--config RECIPE`."""
    parser.add_argument(
        "--config",
        required=required,
        metavar="RECIPE",
        help=f"name of a recipe{with_folds}, path of a Python file with "
        "get_config(), or config.json of a workdir; with --help, lists every "
        "field",
    )


def add_goal(parser: argparse.ArgumentParser) -> None:
    """Adds `DATA`, `--goal` and `--split`, for data of the user's own."""
    parser.add_argument(
        "data",
        nargs="?",
        metavar="DATA",
        help="image_folder:PATH, audio_folder:PATH, csv:FILE, "
        "arrays:FILE.npz, FILE.py:FUNCTION, or the name of a data set",
    )
    parser.add_argument(
        "--goal",
        help="few_shot, retrieve, verify or disentangle: chooses method, "
        "batches and evaluation",
    )
    parser.add_argument(
        "--split",
        choices=("classes", "examples"),
        help="without splits of its own, data is divided by classes (default: "
        "validation and test have new classes) or by examples (closed sets, "
        "few classes)",
    )


def add_inputs(
    parser: argparse.ArgumentParser,
    help=INPUTS_HELP,
    default_split="all, or the evaluated split of the run's own data",
) -> None:
    """Adds the inputs of a command, and their split."""
    parser.add_argument("inputs", nargs="*", metavar="INPUT", help=help)
    parser.add_argument(
        "--split",
        default="",
        help=f"split of the data; default: {default_split}",
    )


def add_gallery(parser: argparse.ArgumentParser, made_by: str) -> None:
    """Adds `--gallery`, a file that exists, and the run of its model."""
    parser.add_argument(
        "--gallery",
        required=True,
        metavar="FILE.npz",
        help=f"file that {made_by} wrote",
    )
    parser.add_argument(
        "--workdir", help="folder of the run; default: as in the gallery"
    )


def add_answers(parser: argparse.ArgumentParser, picture: str = "") -> None:
    """Adds `--output`, and `--figure` with what the picture shows."""
    parser.add_argument(
        "--output", metavar="FILE", help="also write FILE.json or FILE.csv"
    )
    if picture:
        parser.add_argument("--figure", metavar="FILE.png", help=picture)


def parse(parser: argparse.ArgumentParser, words=None):
    """Parses known flags and the `--config.field=value` overrides.

    With a recipe, `--help` lists the fields of the recipe instead.

    Returns the namespace, with a list `overrides` of `field=value`.
    """
    prefix = "--config."
    words = sys.argv[1:] if words is None else words
    if not {"-h", "--help"}.isdisjoint(words):
        _list_fields(parser, words)
    for word in words:
        if word.startswith(prefix) and "=" not in word:
            parser.error(f"{word} needs a value after `=`: {word}=VALUE")
    # argparse would treat an override that contains a space as a value.
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
    """If the arguments contain a recipe, prints its fields and exits."""
    from trainers.config.load import read_run
    from trainers.config.run_help import help_of_run

    of_recipe = ArgumentParser(add_help=False)
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
    with quiet_pipe():
        print(help_of_run(recipe, run))
    parser.exit()


def run(function, *arguments, **options) -> int:
    """Calls a command; bad input gives a one-line error, not a traceback.

    With `EMBEDDINGS_TF_TRACEBACK=1` in the environment, the traceback is also
    printed.
    """
    # Names of files need not be UTF-8.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        with _plain_warnings(), quiet_pipe():
            function(*arguments, **options)
    except KeyboardInterrupt:
        print(
            "stopped; trainings, comparisons and searches continue if you "
            "start the same command again"
        )
        return 130
    except Exception as error:
        message = _one_line(error)
        if message is None or os.environ.get("EMBEDDINGS_TF_TRACEBACK"):
            raise
        print(f"error: {message}{_remedy(message, error)}", file=sys.stderr)
        return 1
    return 0


@contextlib.contextmanager
def _plain_warnings():
    """Prints each warning of this library once, as `warning: ...`.

    Python adds the line of code, and repeats a warning for another line.
    """
    printed = set()

    def one_line(message, category, filename, lineno, line=None) -> str:
        text = " ".join(str(message).split())
        if category is not UserWarning:
            return f"{filename}:{lineno}: {category.__name__}: {text}\n"
        if text in printed:
            return ""
        printed.add(text)
        return f"warning: {text}\n"

    before, warnings.formatwarning = warnings.formatwarning, one_line
    try:
        yield
    finally:
        warnings.formatwarning = before


def _remedy(message: str | None, error: Exception) -> str:
    """Returns what to do about a full disk, or about bad images."""
    if message is None:
        return ""
    if machine_fault(error) in NO_ROOM:
        if "make room" in message.lower():
            return ""
        return "; make room and start the same command again"
    if not any(text in message for text in BAD_IMAGE):
        return ""
    command = command_names.display_name("trainers.train")
    return f" {command} DATA --check names all bad files of a folder or table."


def _one_line(error: Exception) -> str | None:
    """Returns the message for bad input or machine failures; None for a bug."""
    text = str(error)
    if type(error).__module__.startswith("tensorflow"):
        # A pipeline wraps errors of Python code, with their traceback.
        raised = re.search(r"^\s*(?:ValueError|OSError): (.+)", text, re.M)
        text = raised.group(1) if raised else text.partition("\n")[0]
        text = re.sub(r"\{\{function_node .*?\}\}|\[Op:\w+\]", "", text)
    elif type(error) is ImportError and "pip install" in text:
        pass  # a package that only some data needs
    elif not isinstance(error, ValueError | OSError | ArithmeticError):
        return None
    elif text.startswith("in user code:"):  # a graph quotes the traced code
        text = re.split(r"^ *\w*Error: ", text, flags=re.M)[-1]
    return " ".join(text.split())
