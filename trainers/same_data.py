"""Keeps a run on the training data with which it started."""

import pathlib

from trainers.fingerprint import fingerprint

FIELD = "data_fingerprint"


class OtherDataError(ValueError):
    """The training data has changed since the run started."""


def require_same_data(workdir: pathlib.Path, data, state: dict) -> None:
    """Checks the training data of a run that continues.

    The state of a new run, or of an older one without a fingerprint, gets the
    fingerprint of today's data.

    Args:
        workdir: Folder of the run.
        data: Its `trainers.data.Data`.
        state: The state in its checkpoints.

    Raises:
        OtherDataError: If the data has another fingerprint than the state.
    """
    found = fingerprint(data)
    expected = state.setdefault(FIELD, found)
    if found != expected:
        raise OtherDataError(
            f"{data.run.data.dataset} has other training examples than when "
            f"the run in {workdir} started (fingerprint {found}, not "
            f"{expected}); put the data back, or train in another --workdir"
        )
