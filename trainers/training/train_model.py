"""Trains a model with `model.fit`."""

import sys

import keras

from embeddings_tf.losses.teachable_rows import LogTeachableRows
from embeddings_tf.models import lower_rates
from trainers.config.run import Run


def train_model(
    run: Run,
    model: keras.Model,
    batches,
    first_epoch: int,
    callbacks: list,
    verbose: int | None = None,
) -> None:
    """Trains a model for the epochs of a run that are left.

    Args:
        run: The run.
        model: Its compiled model.
        batches: Training batches.
        first_epoch: Number of epochs that were trained before.
        callbacks: Keras callbacks.
        verbose: As in `fit`; by default a progress bar in a terminal, otherwise
            a line per epoch.
    """
    lower_rates(model)
    model.fit(
        batches,
        shuffle=False,  # the sampler already shuffles
        verbose=verbosity() if verbose is None else verbose,
        callbacks=[LogTeachableRows(), *callbacks],
        **epochs(run, first_epoch),
    )


def epochs(run: Run, first_epoch: int) -> dict[str, int]:
    """Returns the arguments of `fit` for the epochs that are left."""
    return {
        "epochs": run.training.num_epochs,
        "initial_epoch": first_epoch,
        "steps_per_epoch": run.training.steps_per_epoch,
    }


def verbosity() -> int:
    """Returns 1, a progress bar, in a terminal, otherwise 2, lines."""
    return 1 if sys.stdout.isatty() else 2
