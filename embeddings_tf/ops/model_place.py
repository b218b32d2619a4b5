"""What keeps a folder from having the versions of a served model."""

import os
import pathlib
import re


def is_pattern(directory: str | os.PathLike) -> bool:
    """Whether TensorFlow cannot load from the path: it reads a pattern."""
    return bool(re.search(r"\[.*\]|\\", os.path.abspath(directory)))


def version_around(directory: pathlib.Path) -> pathlib.Path | None:
    """Returns the model version that a folder is, or is in; versions stay."""
    resolved = directory.resolve()
    for place in (resolved, *resolved.parents):
        if os.path.isfile(place / "saved_model.pb"):
            return place
    return None
