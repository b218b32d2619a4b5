"""The console command `embeddings-tf`: the commands of this package by name."""

import importlib
import sys

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
    "demo": ("trainers.demo", "train, evaluate, export and use the demo"),
}


def main(words=None) -> int:
    """Runs the command that the first word names."""
    words = sys.argv[1:] if words is None else list(words)
    if not words or words[0] in ("-h", "--help"):
        print(usage())
        return 0 if words else 2
    name, *words = words
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
