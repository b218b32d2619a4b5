"""Opens and locks the folder of a run."""

import contextlib
import fcntl
import os
import pathlib
from collections.abc import Iterable

from trainers.workdirs.layout import BEST
from trainers.workdirs.layout import CHECKPOINTS
from trainers.workdirs.layout import WRITING
from trainers.workdirs.try_to_write import try_to_write
from trainers.workdirs.workdir import folder_argument
from trainers.workdirs.workdir import require_run
from trainers.workdirs.workdir import require_utf8

# Files that are only written under the lock.
LOCKED_FILES = ("config.json", "results.json", f"{CHECKPOINTS}/{BEST}")


@contextlib.contextmanager
def open_workdir(workdir: str, *, create: bool = True):
    """Opens the run's folder and locks it for this process until the end.

    A folder that was created here is removed if it stays empty, so a refused
    start leaves nothing behind.

    Raises:
        BlockingIOError: If another process has locked it.
        OSError: If it cannot be created or written to.
        ValueError: If its name is empty or not UTF-8, or `create` is False and
            it contains no run.
    """
    path = folder_argument("--workdir", workdir)
    require_utf8("--workdir", path)
    if not create:
        require_run(path)
    made = absent([path / ".lock", path, *path.parents])
    try:
        path.mkdir(parents=True, exist_ok=True)
        # An old `.lock` can be opened in a folder that is not writable now.
        try_to_write(path / "results.json")
        lock = open(path / ".lock", "w")
    except OSError as error:
        remove_empty(made)
        remedy = "choose another with --workdir"
        if not create:
            remedy = "make it writable, or name a writable copy with --workdir"
        raise OSError(
            f"cannot write to the workdir {workdir}: {error.strerror}; {remedy}"
        ) from error
    with lock:
        _lock(lock, workdir, fcntl.LOCK_EX)
        _remove_leftovers(path)
        try:
            yield path
        finally:
            # A folder that was removed must not hide the error of the block.
            with contextlib.suppress(FileNotFoundError):
                if os.listdir(path) == [".lock"]:
                    remove_empty(made)


@contextlib.contextmanager
def read_workdir(workdir: str):
    """Opens the run's folder to read it, also if it cannot be written to.

    Several processes can read it at once, and none can open it to write. A
    folder whose `.lock` cannot be opened is not locked.

    Raises:
        BlockingIOError: If another process has opened it to write.
        ValueError: If its name is empty, or it contains no run.
    """
    path = folder_argument("--workdir", workdir)
    require_run(path)
    with contextlib.ExitStack() as stack:
        try:
            lock = stack.enter_context(open(path / ".lock"))
        except OSError:
            pass
        else:
            _lock(lock, workdir, fcntl.LOCK_SH)
        yield path


def _remove_leftovers(path: pathlib.Path) -> None:
    """Removes what killed processes have left beside complete files.

    A copy of a checkpoint is as large as the checkpoint.
    """
    found = [path / CHECKPOINTS / WRITING]
    for file in map(path.joinpath, LOCKED_FILES):
        # As `embeddings_tf.ops.atomic_file` names them.
        unique = "[0-9a-f]" * 12
        found += file.parent.glob(f".{file.stem}.{unique}{file.suffix}")
    for left in found:
        with contextlib.suppress(OSError):  # they do no harm
            left.unlink()


def _lock(file, workdir: str, kind: int) -> None:
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise BlockingIOError(
            f"another process works in {workdir}; wait for it to end, or "
            "choose another --workdir"
        ) from error


def absent(paths: Iterable[pathlib.Path]) -> list[pathlib.Path]:
    """Returns the paths where nothing is, not even a link without target."""
    return [path for path in paths if not os.path.lexists(path)]


def remove_empty(made: list[pathlib.Path]) -> None:
    """Removes files, and folders that are empty, innermost first."""
    for path in made:
        try:
            path.rmdir() if path.is_dir() else path.unlink(missing_ok=True)
        except OSError:
            return


def is_held(path: pathlib.Path) -> bool:
    """Whether a process has locked the folder with `open_workdir`."""
    try:
        lock = open(path / ".lock")
    except FileNotFoundError:
        return False
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False
