"""Checks of the folder of a served model and of its `models.config`."""

import os
import pathlib
import re

from trainers.workdirs.try_to_write import require_can_write
from trainers.workdirs.workdir import require_utf8
from trainers.workdirs.writable_folder import writable_folder


def writable_model_folder(flag: str, directory: str) -> pathlib.Path:
    """Returns the folder of a flag, which a SavedModel can be written to.

    Raises:
        ValueError: If it is a file or in a version, or TensorFlow cannot load
            from it.
        OSError: If nothing can be written to it.
    """
    folder = writable_folder(flag, directory)
    require_utf8(flag, folder)
    if re.search(r"\[.*\]|\\", os.path.abspath(folder)):
        raise ValueError(
            f"{flag} {directory}: TensorFlow reads [ ] and \\ in the path of a "
            "model as a pattern, and could not load the model; name a folder "
            "without them"
        )
    _require_outside_versions(flag, folder)
    return folder


def require_writable_models_config(directory: str) -> None:
    """Checks that the `models.config` beside a model can be written.

    Raises:
        OSError: If the file cannot be written.
    """
    from embeddings_tf.export.models_config import FILE

    models = pathlib.Path(directory).resolve().parent
    if models.is_dir():  # otherwise, it is made
        require_can_write(
            f"--directory {directory}: {models / FILE}",
            models / FILE,
            f"make {models} writable, or name a folder in another",
        )


def _require_outside_versions(flag: str, folder: pathlib.Path) -> None:
    """Raises ValueError if a folder is in a version, which stays as it is."""
    resolved = folder.resolve()
    for place in (resolved, *resolved.parents):
        if os.path.isfile(place / "saved_model.pb"):
            model = place.parent
            if not folder.is_absolute():
                model = os.path.relpath(model)
            raise ValueError(
                f"{flag} {folder} is {'' if place == resolved else 'in '}a "
                f"version of a model already; name its folder, {model}"
            )
