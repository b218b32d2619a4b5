"""Writes why a trial failed, and its row in TensorBoard."""

import pathlib
import re

from trainers.training.watch import row_name
from trainers.workdirs.results import update_results

# How to go on with a search whose file is damaged.
CURE = "put it back as it was, or start the search anew in another --workdir"


def objective_value(training: dict, name: str) -> float:
    """Returns a logged number in the epoch of a run's best checkpoint."""
    return training["history"][training["best_epoch"] - 1][name]


def record_failure(folder: pathlib.Path, error: Exception) -> None:
    """Writes the reason for a failure to the `results.json` of a trial."""
    message = " ".join(str(error).split()) or type(error).__name__
    diverged = isinstance(error, ArithmeticError) or re.search(
        r"\b(nan|not finite)\b", message, re.IGNORECASE
    )
    update_results(
        folder,
        failure={
            "status": "diverged" if diverged else "failed",
            "error": type(error).__name__,
            "message": message,
        },
    )


def write_hparams(folder: pathlib.Path, trial) -> None:
    """Writes the row of a trial for TensorBoard's tab HParams."""
    import tensorflow as tf
    from tensorboard.plugins.hparams import api

    with tf.summary.create_file_writer(str(folder)).as_default():
        api.hparams(trial.hyperparameters.values, trial_id=row_name(folder))


def write_objective(folder: pathlib.Path, name: str, value: float) -> None:
    """Writes the objective value of a trial to its row in TensorBoard."""
    import tensorflow as tf

    with tf.summary.create_file_writer(str(folder)).as_default():
        tf.summary.scalar(name, value, step=1)
