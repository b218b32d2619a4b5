"""Whether the training of a run has ended."""

import pathlib

from trainers.training.training_state import training_state
from trainers.workdirs import layout


def unfinished(workdir: pathlib.Path, num_epochs: int) -> str:
    """Returns "epoch 2 of 6" while a training has not ended, otherwise "".

    Also "" if the newest checkpoint is missing or cannot be read.
    """
    state = training_state(layout.latest(workdir))
    if not state or state.get("finished"):
        return ""
    return f"epoch {state['epoch']} of {num_epochs}"
