"""The checkpoint of a run's best epoch, checked before it is used."""

import pathlib
import zipfile

from trainers.training.require_damaged import UNREADABLE
from trainers.training.require_damaged import require_damaged
from trainers.training.training_state import training_state
from trainers.workdirs.workdir import require_single_run


def best_file(workdir: pathlib.Path) -> pathlib.Path:
    """Returns the checkpoint of the best epoch of a run.

    Raises:
        OSError: If the machine prevents reading, for example by permissions.
        ValueError: If there is no checkpoint yet, or the file is missing,
            damaged, or of another epoch.
    """
    path = workdir / "checkpoints" / "best.keras"
    if not path.is_file():
        if not path.with_name("latest.keras").exists():
            require_single_run(workdir)
            raise ValueError(
                f"{workdir} has no checkpoint yet; finish an epoch of "
                "training first"
            )
        raise unusable(workdir, "is missing")
    try:
        with zipfile.ZipFile(path) as archive:
            damaged = archive.testzip()
    except UNREADABLE as error:
        require_damaged(error, path)
        damaged = str(error) or type(error).__name__
    if damaged:
        raise unusable(workdir, f"is damaged ({damaged})")
    state, latest = training_state(path), _latest(workdir)
    # During training, a better epoch reaches latest.keras first.
    best = (latest if latest.get("finished") else state).get("best_epoch")
    if state and state["epoch"] != best:
        raise unusable(
            workdir,
            f"contains epoch {state['epoch']}, but the best epoch is {best}",
        )
    return path


def unusable(workdir: pathlib.Path, reason: str) -> ValueError:
    """Returns the error for `best.keras`, which says how to go on."""
    folder = workdir / "checkpoints"
    latest = _latest(workdir)
    cure = "train again in another --workdir"
    for name in ("latest.keras", "previous.keras"):
        epoch = training_state(folder / name).get("epoch")
        if epoch is not None and epoch == latest.get("best_epoch"):
            cure = f"copy {name}, which contains the best epoch, to best.keras"
            break
    else:
        if latest and not latest.get("finished"):
            cure = f"train on until an epoch is better, or {cure}"
    return ValueError(f"{folder / 'best.keras'} {reason}; {cure}")


def _latest(workdir: pathlib.Path) -> dict:
    return training_state(workdir / "checkpoints" / "latest.keras")
