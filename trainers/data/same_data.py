"""Keeps a run on the data with which it started."""

import pathlib

import numpy as np

from embeddings_tf.datasets.own_data import is_own_data
from trainers.data.data import Data
from trainers.data.data_fingerprint import fingerprint
from trainers.workdirs.other_data_error import OtherDataError

TRAINING_FINGERPRINT = "data_fingerprint"
VALIDATION_FINGERPRINT = "validation_fingerprint"
# Fingerprints of a run, and the names of their examples in messages.
FINGERPRINTS = {
    TRAINING_FINGERPRINT: "training",
    VALIDATION_FINGERPRINT: "validation",
}


def require_unseen_test(
    workdir: pathlib.Path, data: Data, recorded: dict
) -> None:
    """Checks that the training data of a closed set has not changed.

    If the classes of the test were trained, an example that has moved from
    training to test makes results too good. Names do not tell: rows may have
    been sorted, files renumbered. Number, labels and 32 examples are compared,
    so a few that have moved may not be found.

    Args:
        workdir: Folder of the run.
        data: Its data.
        recorded: The state in its checkpoint, or its results: both have the
            fingerprint of the training.

    Raises:
        OtherDataError: If the training data has another fingerprint.
    """
    expected = recorded.get(TRAINING_FINGERPRINT)
    fields = data.run
    if expected is None or not is_own_data(fields.data.dataset):
        return
    trained = data.names_of_classes(fields.data.split)
    is_closed = any(
        np.isin(data.names_of_classes(split), trained).any()
        for split in fields.evaluation.splits
    )
    if is_closed and fingerprint(data) != expected:
        raise OtherDataError(
            f"{fields.data.dataset} has other training examples than the run "
            f"in {workdir} (also if some were only added), and the test has "
            "the same classes, so examples of the training could be in the "
            "test; put the data back, or train in another --workdir"
        )


def record_fingerprints(data: Data, state: dict) -> None:
    """Adds the fingerprints of the data to the state of a run that starts.

    Args:
        data: The data of the run.
        state: The state that is saved in its checkpoints.
    """
    for name, (split, lists) in _fingerprinted(data).items():
        state[name] = fingerprint(data, split, lists=lists)


def require_recorded_data(
    workdir: pathlib.Path, data: Data, state: dict
) -> None:
    """Checks the training and validation data of a run that continues.

    The validation data chooses the best epoch, so a change of it would compare
    epochs by different tasks.

    Args:
        workdir: Folder of the run.
        data: Its data.
        state: The state in its checkpoints.

    Raises:
        OtherDataError: If the data has another fingerprint than the state.
    """
    for name, (split, lists) in _fingerprinted(data).items():
        found = fingerprint(data, split, lists=lists)
        if found != state[name]:
            raise OtherDataError(
                f"{data.run.data.dataset} has other {FINGERPRINTS[name]} "
                f"examples than when the run in {workdir} started "
                f"(fingerprint {found}, not {state[name]}); put the data back, "
                "or train in another --workdir"
            )


def _fingerprinted(data: Data) -> dict[str, tuple]:
    """Returns the split and its lists of trials for each fingerprint."""
    fields, validation = data.run, data.run.evaluation.validation
    lists = []
    if getattr(validation, "trials", ""):
        lists = [(validation.split, validation.trials, validation.num_trials)]
    return {
        TRAINING_FINGERPRINT: (fields.data.split, []),
        VALIDATION_FINGERPRINT: (validation.split, lists),
    }
