"""The checkpoint of a run's best epoch, checked before it is used."""

import pathlib
import zipfile

from trainers.training.require_damaged import UNREADABLE
from trainers.training.require_damaged import require_damaged
from trainers.training.training_state import training_state
from trainers.workdirs import layout
from trainers.workdirs.workdir import require_single_run


def best_file(workdir: pathlib.Path) -> pathlib.Path:
    """Returns the checkpoint of the best epoch of a run.

    Raises:
        OSError: If the machine prevents reading, for example by permissions.
        ValueError: If there is no checkpoint yet, or the file is missing,
            damaged, or of another epoch.
    """
    path = layout.best(workdir)
    if not path.is_file():
        if not layout.latest(workdir).exists():
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
    # During training, a better epoch reaches the latest checkpoint first.
    best = (latest if latest.get("finished") else state).get("best_epoch")
    if state and state["epoch"] != best:
        raise unusable(
            workdir,
            f"contains epoch {state['epoch']}, but the best epoch is {best}",
        )
    return path


def unusable(workdir: pathlib.Path, reason: str) -> ValueError:
    """Returns the error for the best checkpoint, which says how to go on."""
    latest = _latest(workdir)
    cure = "train again in another --workdir"
    for name in (layout.LATEST, layout.PREVIOUS):
        epoch = training_state(layout.checkpoints(workdir) / name).get("epoch")
        if epoch is not None and epoch == latest.get("best_epoch"):
            cure = (
                f"copy {name}, which contains the best epoch, to {layout.BEST}"
            )
            break
    else:
        if latest and not latest.get("finished"):
            cure = f"train on until an epoch is better, or {cure}"
    return ValueError(f"{layout.best(workdir)} {reason}; {cure}")


def _latest(workdir: pathlib.Path) -> dict:
    return training_state(layout.latest(workdir))
