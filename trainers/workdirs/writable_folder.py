"""The folder of a flag, in which a command writes at its end."""

import pathlib

from trainers.workdirs.try_to_write import require_can_write
from trainers.workdirs.workdir import folder_argument


def writable_folder(flag: str, value: str) -> pathlib.Path:
    """Returns the folder of a flag; it need not exist.

    Raises:
        ValueError: As `folder_argument`, or if it is a file or below one.
        OSError: If nothing can be written to it, or it cannot be made.
    """
    folder = folder_argument(flag, value)
    existing = next(p for p in (folder, *folder.parents) if p.exists())
    if not existing.is_dir():
        raise ValueError(f"{flag} {value}: {existing} is a file; name a folder")
    require_can_write(
        f"{flag} {value}", existing / "folder", "name another folder"
    )
    return folder
