"""Keeps what a command writes out of the folder of the data."""

import os
import pathlib

# Data whose folders are classes.
_KINDS = ("image_folder", "audio_folder")


def require_outside_data(flag: str, folder: str, dataset: str) -> None:
    """Raises ValueError if a place is in the data, which would change it.

    A hidden folder in the data is allowed, because readers ignore it.

    Args:
        flag: Names the folder in the message, such as `--workdir`.
        folder: Folder, or picture, that a command writes.
        dataset: Name of the data.
    """
    kind, _, path = dataset.partition(":")
    data = os.path.expanduser(path)
    if kind not in _KINDS or not os.path.isdir(data):
        return
    # A link in the data may lead out of it, and a link elsewhere into it.
    for written in {os.path.abspath(folder), os.path.realpath(folder)}:
        if _is_visible_in(pathlib.Path(written), data):
            raise ValueError(
                f"{flag} {folder} is in the data {dataset}, and would be read "
                "as a part of it. Choose a place outside"
            )


def _is_visible_in(path: pathlib.Path, data: str) -> bool:
    for place in (path, *path.parents):
        if place.exists() and place.samefile(data):
            parts = path.relative_to(place).parts
            return not any(part.startswith(".") for part in parts)
    return False
