"""Writes files at once, and reads and writes JSON files."""

import json
import pathlib


def write_atomically(path: pathlib.Path, data: bytes | str) -> None:
    """Writes a file so that a reader sees the complete old or new file."""
    # Imported here because it imports TensorFlow.
    from embeddings_tf.ops import write_atomically as file

    file.write_atomically(path, data)


def write_json(path: pathlib.Path, value) -> None:
    """Writes `value` as indented JSON, atomically; NaN is an error."""
    text = json.dumps(value, indent=2, allow_nan=False)
    write_atomically(path, text + "\n")


class DamagedError(ValueError):
    """A file of a run has other contents than the run wrote."""


def read_json(path: pathlib.Path, cure: str) -> dict:
    """Returns the object in a JSON file.

    Raises:
        DamagedError: If the file has other contents; names the cure.
    """
    try:
        found = json.loads(path.read_bytes())
    except ValueError as error:
        raise DamagedError(f"{path} is damaged ({error}); {cure}") from error
    if not isinstance(found, dict):
        raise DamagedError(
            f"{path} is damaged (it contains a {type(found).__name__} instead "
            f"of an object); {cure}"
        )
    return found
