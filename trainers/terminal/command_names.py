"""Names of the commands.

`display_name` is for `--help` and messages, `shell_command` is what a user can
type or copy.
"""

import pathlib
import shlex
import shutil
import sys

# Module and description of each command of `embeddings-tf`.
COMMANDS = {
    "train": ("trainers.train", "train a recipe, or a goal on your own data"),
    "evaluate": ("trainers.evaluate", "evaluate a trained workdir"),
    "export": ("trainers.export", "write a SavedModel"),
    "label-version": ("trainers.label_version", "label an exported version"),
    "embed": ("trainers.embed_data", "embed a folder or a data set"),
    "enroll": ("trainers.enroll", "add labelled examples to a gallery"),
    "identify": ("trainers.identify", "who is it, or unknown"),
    "verify": ("trainers.verify", "are two inputs of the same class"),
    "nearest": ("trainers.nearest", "the most similar examples of a gallery"),
    "compare": ("trainers.compare", "compare methods on your own data"),
    "cross-validate": ("trainers.cross_validate", "train fold by fold"),
    "tune": ("tuning.search", "search hyperparameters at random"),
    "winner": ("tuning.winner", "train the winner of a search"),
    "demo": ("trainers.demo", "train, evaluate, export and use the demo"),
}
CONSOLE = "embeddings-tf"
COMMAND_OF = {module: name for name, (module, _) in COMMANDS.items()}
# Modules of other packages that have a script, installed beside ours.
SCRIPTS = {
    "tensorboard.main": "tensorboard",
    "tensorflow.python.tools.saved_model_cli": "saved_model_cli",
}


def shell_command(module: str) -> str:
    """Returns the shell command that starts a module from this folder.

    If this process was started by the console command, it is what the user
    can type in the same way, such as `embeddings-tf evaluate`.
    """
    started = pathlib.Path(sys.argv[0])
    if started.stem == CONSOLE:
        if module in COMMAND_OF:
            return f"{_as_typed(started)} {COMMAND_OF[module]}"
        script = started.with_name(SCRIPTS.get(module, "no script"))
        if script.is_file():
            return _as_typed(script)
    return f"{_as_typed(pathlib.Path(sys.executable))} -m {module}"


def _as_typed(program: pathlib.Path) -> str:
    """The shortest way to type a program in this folder."""
    found = shutil.which(program.name)
    if found and pathlib.Path(found).absolute() == program.absolute():
        return program.name
    if program.is_relative_to(pathlib.Path.cwd()):
        program = program.relative_to(pathlib.Path.cwd())
    return shlex.quote(str(program))


def display_name(module: str) -> str:
    """Returns the name of a command for `--help` and in messages.

    It is `embeddings-tf NAME` if the process was started by this command, and
    otherwise `python -m MODULE`.
    """
    if pathlib.Path(sys.argv[0]).stem == CONSOLE and module in COMMAND_OF:
        return f"{CONSOLE} {COMMAND_OF[module]}"
    return f"python -m {module}"
