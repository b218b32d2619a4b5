"""The state of a run inside a checkpoint, which Keras leaves out."""

import json
import pathlib
import zipfile

from trainers.training.require_damaged import UNREADABLE

MEMBER = "training_state.json"


def training_state(path: pathlib.Path) -> dict:
    """Returns the state in a checkpoint, or {} if it cannot be read."""
    try:
        with zipfile.ZipFile(path) as archive:
            state = json.loads(archive.read(MEMBER))
    except UNREADABLE:
        return {}
    if not isinstance(state, dict):
        return {}
    epochs = state.get("epoch"), state.get("best_epoch")
    return state if all(isinstance(epoch, int) for epoch in epochs) else {}
