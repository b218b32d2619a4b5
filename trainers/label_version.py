"""Gives a version of an exported model a label for TensorFlow Serving.

`python -m trainers.label_version --directory saved_models/NAME --version 2`
"""

import argparse
import sys

from trainers import command_line
from trainers.terminal import command_names


def parser() -> argparse.ArgumentParser:
    result = command_line.ArgumentParser(
        prog=command_names.display_name("trainers.label_version"),
        description="Write the label of a version to models.config, beside the "
        "folder of the model. Clients can then ask for the label.",
    )
    result.add_argument(
        "--directory", required=True, help="folder of the served model"
    )
    result.add_argument("--version", required=True, type=int)
    result.add_argument(
        "--label", default="stable", help="default: %(default)s"
    )
    return result


def label(directory: str, version: int, name: str) -> None:
    """Labels a version; prints all labels of the model."""
    from trainers.terminal.quiet import import_tensorflow
    from trainers.workdirs.model_folder import require_writable_models_config
    from trainers.workdirs.workdir import folder_argument

    folder = folder_argument("--directory", directory)
    import_tensorflow()
    from embeddings_tf.export.models_config import label_version

    require_writable_models_config(directory)
    labels = label_version(folder, version, name)
    for found in sorted(labels):
        print(f"{found}: version {labels[found]}")


def main(words=None) -> int:
    arguments = parser().parse_args(words)
    return command_line.run(
        label, arguments.directory, arguments.version, arguments.label
    )


if __name__ == "__main__":
    sys.exit(main())
