"""The console command `embeddings-tf`: the commands of this package by name."""

import importlib
import sys

from trainers import command_line
from trainers.terminal.command_names import COMMAND_OF
from trainers.terminal.command_names import COMMANDS


def main(words=None) -> int:
    """Runs the command that the first word names."""
    words = sys.argv[1:] if words is None else list(words)
    if not words or words[0] in ("-h", "--help"):
        with command_line.quiet_pipe():
            print(usage())
        return 0 if words else 2
    name, *words = words
    # The names after `python -m` are accepted, too, such as cross_validate.
    by_module = {
        module.rpartition(".")[2]: n for module, n in COMMAND_OF.items()
    }
    name = by_module.get(name, name)
    if name not in COMMANDS:
        print(
            f"embeddings-tf: unknown command {name!r}; expected one of "
            f"{', '.join(COMMANDS)}",
            file=sys.stderr,
        )
        return 2
    return importlib.import_module(COMMANDS[name][0]).main(words)


def usage() -> str:
    width = max(map(len, COMMANDS))
    return "\n".join(
        [
            "usage: embeddings-tf COMMAND ...",
            "",
            *(
                f"  {name:<{width}}  {about}"
                for name, (_, about) in COMMANDS.items()
            ),
            "",
            "`embeddings-tf COMMAND --help` explains a command; `python -m "
            "MODULE` runs the same.",
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
