"""Trains a model on the replicas of a strategy, one or several machines.

The chief evaluates and saves an ordinary copy of the model. On several machines
the other workers train beside the chief, and neither read nor write.
"""

import keras
import tensorflow as tf

from embeddings_tf.callbacks import Throughput
from embeddings_tf.compat import skip_symbolic_build
from embeddings_tf.models import lower_rates
from trainers.config.own_code_hashes import own_code_hashes
from trainers.config.run import Run
from trainers.data.data import Data
from trainers.data.data_fingerprint import fingerprint
from trainers.training import strategy as strategies
from trainers.training.loop import loop
from trainers.training.model import build_model
from trainers.training.plain_copy import OnPlainCopy
from trainers.training.plain_copy import all_variables
from trainers.training.plain_copy import assign
from trainers.training.train_model import epochs
from trainers.training.train_model import train_model
from trainers.training.train_model import verbosity
from trainers.workdirs.workdir import as_json
from trainers.workdirs.workdir import recipe_fields


def is_single_device(strategy) -> bool:
    """Whether training needs no replicas."""
    return strategy is tf.distribute.get_strategy()


def train_on_replicas(
    run: Run, data: Data, strategy, copy, batches, first_epoch, callbacks
) -> None:
    """Trains on replicas, on one machine or as the chief.

    Args:
        run: The run.
        data: Its data.
        strategy: Its `tf.distribute.Strategy`.
        copy: The model that the callbacks evaluate and save. Training starts
            with its weights, optimiser state and random state.
        batches: Training batches of all replicas.
        first_epoch: Number of epochs that were trained before.
        callbacks: Keras callbacks.
    """
    model = _model_on_replicas(run, data, strategy, copy)
    batches = strategies.replica_batches(strategy, batches)
    on_copy = OnPlainCopy(
        copy,
        callbacks,
        add_progbar=True,
        verbose=verbosity(),
        epochs=run.training.num_epochs,
        steps=run.training.steps_per_epoch,
    )
    if run.training.strategy == "multi_worker":
        loop(model, batches, callbacks=[on_copy], **epochs(run, first_epoch))
    else:
        skip_symbolic_build(model)
        train_model(run, model, batches, first_epoch, [on_copy], verbose=0)


def train_beside_chief(run: Run, strategy) -> None:
    """Trains on a worker without a workdir, until the chief stops."""
    first_epoch, is_finished = progress_of_chief(strategy, None)
    if is_finished:
        return
    data = Data(run)
    require_data_of_chief(run, data, strategy)
    model = _model_on_replicas(run, data, strategy)
    batches = data.batches(first_epoch * run.training.steps_per_epoch)
    batches = Throughput().measured(batches)
    batches = strategies.replica_batches(strategy, batches)
    loop(model, batches, **epochs(run, first_epoch))


def require_recipe_of_chief(run: Run, strategy) -> None:
    """Raises ValueError on a worker whose recipe is not the chief's."""
    strategies.require_same(
        strategy,
        {"recipe": recipe_fields(run), "code": own_code_hashes(as_json(run))},
        "the recipe of this worker differs from the chief's, or a file of code "
        "that it names; start all workers with the same --config, overrides, "
        "files and version",
    )


def require_data_of_chief(run: Run, data: Data, strategy) -> None:
    """Raises ValueError on a worker whose training data is not the chief's."""
    if run.training.strategy == "multi_worker":
        strategies.require_same(
            strategy,
            {"training data": fingerprint(data)},
            f"{run.data.dataset} has other training examples on this worker "
            "than on the chief; copy the chief's data to every machine",
        )


def progress_of_chief(strategy, state: dict | None) -> tuple[int, bool]:
    """Returns how many epochs are trained, and whether the run has ended.

    Args:
        strategy: The `tf.distribute.Strategy`.
        state: The state in the chief's checkpoint, if there is one. Only the
            chief's is read.
    """
    progress = (
        [state["epoch"], bool(state["finished"])] if state else [0, False]
    )
    epoch, is_finished = strategies.from_chief(strategy, progress)
    return int(epoch), bool(is_finished)


def _model_on_replicas(run: Run, data: Data, strategy, copy=None):
    """Returns the run's model on every replica, with the chief's values."""
    keras.utils.set_random_seed(run.training.seed)
    with strategy.scope():
        model = build_model(run, data.input_spec, data.num_classes)
        values = all_variables(model)
    if copy is not None:
        values = all_variables(copy)
    values = [variable.numpy() for variable in values]
    assign(model, strategies.from_chief(strategy, values))
    return lower_rates(model)
