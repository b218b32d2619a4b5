"""Tries to write beside a file, before the work whose result it will have."""

import os
import pathlib
import uuid


def try_to_write(path: pathlib.Path) -> None:
    """Makes and removes an empty hidden file in the folder of a file.

    Args:
        path: A file that a command will write at its end, or one in a folder.

    Raises:
        OSError: If nothing can be written there.
    """
    # As `embeddings_tf.ops.atomic_file` names it, so that it is as long.
    target = pathlib.Path(os.path.realpath(path))
    unique = uuid.uuid4().hex[:12]
    temporary = target.with_name(f".{target.stem}.{unique}{path.suffix}")
    temporary.touch(exist_ok=False)
    temporary.unlink(missing_ok=True)  # `open_workdir` removes leftovers


def require_can_write(what: str, path: pathlib.Path, remedy: str) -> None:
    """Raises OSError, with the reason and the remedy, as `try_to_write`.

    Args:
        what: The flag and its value, such as `--output answers.csv`.
        path: As in `try_to_write`.
        remedy: What to do.
    """
    try:
        try_to_write(path)
    except OSError as error:
        raise OSError(
            f"{what} cannot be written ({error.strerror}); {remedy}"
        ) from error
