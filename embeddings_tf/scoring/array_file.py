"""Files of named arrays and settings, which NumPy alone can read."""

import io
import json
import pathlib
from collections.abc import Mapping

import numpy as np

from embeddings_tf.ops.read_npz import read_npz
from embeddings_tf.ops.require_no_pipe import require_no_pipe
from embeddings_tf.ops.write_atomically import write_atomically

SETTINGS = "settings"


def write(path: pathlib.Path, arrays: Mapping, settings: Mapping) -> None:
    """Writes an `.npz` file atomically: a reader sees all of it or none.

    Args:
        path: The file; an existing file is replaced.
        arrays: Arrays of numbers or strings by name.
        settings: Values for JSON, stored as an array of one string.
    """
    text = json.dumps(settings, allow_nan=False)
    content = io.BytesIO()
    np.savez(content, **{**arrays, SETTINGS: np.array(text)})
    write_atomically(path, content.getvalue())


def read(path: pathlib.Path, kind: str, needed) -> tuple[dict, dict]:
    """Returns arrays and settings of a file that `write` wrote.

    Nothing in the file is executed or unpickled.

    Args:
        path: The file.
        kind: What the file should be, for error messages.
        needed: Names of the arrays and settings that it must contain.

    Raises:
        ValueError: If the file is damaged or of another kind.
        OSError: If it cannot be read, or is a pipe or a device.
    """
    wrong = f"{path} is not {kind}: {{}}. Make it again."
    require_no_pipe(path)
    try:
        with open(path, "rb") as opened:
            arrays = read_npz(opened)
        settings = json.loads(str(arrays.pop(SETTINGS)))
    except KeyError as error:
        raise ValueError(wrong.format(f"it lacks {error}")) from error
    except ValueError as error:
        reason = f"it is damaged or foreign ({error})"
        raise ValueError(wrong.format(reason)) from error
    if not isinstance(settings, dict) or settings.get("kind") != kind:
        raise ValueError(wrong.format("it has other contents"))
    require_names(path, kind, {**arrays, **settings}, needed)
    return arrays, settings


def require_names(path: pathlib.Path, kind: str, found, needed) -> None:
    """Raises ValueError if a file of a kind lacks arrays or settings."""
    missing = [name for name in needed if name not in found]
    if missing:
        raise ValueError(
            f"{path} is not {kind}: it lacks {', '.join(missing)}. Make it "
            "again."
        )
