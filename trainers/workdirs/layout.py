"""Where checkpoints and folds are in a workdir."""

import pathlib

CHECKPOINTS = "checkpoints"
# In the workdir of a cross-validation: the fingerprint of its data.
FOLDS = "folds.json"
# Files of this folder: the newest epoch, the epoch before it, the best epoch.
LATEST, PREVIOUS, BEST = "latest.keras", "previous.keras", "best.keras"
# A checkpoint that could not be read, and one that is being written.
DAMAGED, WRITING = "damaged.keras", ".writing.keras"


def checkpoints(workdir: pathlib.Path) -> pathlib.Path:
    """Returns the folder of the checkpoints of a run."""
    return workdir / CHECKPOINTS


def latest(workdir: pathlib.Path) -> pathlib.Path:
    """Returns the checkpoint of the newest epoch of a run."""
    return checkpoints(workdir) / LATEST


def best(workdir: pathlib.Path) -> pathlib.Path:
    """Returns the checkpoint of the best epoch of a run."""
    return checkpoints(workdir) / BEST


def fold(workdir: pathlib.Path, number: int) -> pathlib.Path:
    """Returns the workdir of a fold of a cross-validation."""
    return workdir / f"fold_{number}"
