"""The state of a run inside a checkpoint, which Keras leaves out."""

import json
import pathlib
import zipfile

MEMBER = "training_state.json"


def training_state(path: pathlib.Path) -> dict:
    """Returns the state in a checkpoint, or {} if it cannot be read."""
    try:
        with zipfile.ZipFile(path) as archive:
            state = json.loads(archive.read(MEMBER))
    except (zipfile.BadZipFile, KeyError, OSError, ValueError):
        return {}
    if not isinstance(state, dict):
        return {}
    epochs = state.get("epoch"), state.get("best_epoch")
    return state if all(isinstance(epoch, int) for epoch in epochs) else {}
