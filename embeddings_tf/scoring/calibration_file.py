"""Writes and reads the file of a fitted calibration."""

import json
from collections.abc import Mapping
from typing import Any

from embeddings_tf.ops import arguments
from embeddings_tf.ops.require_no_pipe import require_no_pipe
from embeddings_tf.ops.write_atomically import write_atomically


def write(path, values: Mapping) -> None:
    """Writes a JSON file: a reader sees all of it or none."""
    path = arguments.path("path", path)
    text = json.dumps(values, indent=2, allow_nan=False)
    write_atomically(path, text + "\n")


def read(path) -> Any:
    """Returns the content of a JSON file.

    Raises:
        ValueError: If the file is damaged.
        OSError: If it cannot be read, or is a pipe or a device.
    """
    path = arguments.path("path", path)
    require_no_pipe(path)
    try:
        return json.loads(path.read_bytes())
    except ValueError as error:
        raise ValueError(
            f"{path} must be a file written by `save`; received damaged "
            f"content ({error}). Write the file again."
        ) from error
