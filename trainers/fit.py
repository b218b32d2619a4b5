"""One training run: a config in, a trained workdir out."""

import pathlib
import statistics
import sys

import keras
import tensorflow as tf

from embeddings_tf import datasets
from embeddings_tf import sampling
from embeddings_tf.compat import skip_symbolic_build
from embeddings_tf.losses.teachable_rows import LogTeachableRows
from trainers import checkpoint
from trainers import strategy as strategies
from trainers import workdir as workdirs
from trainers.config import build
from trainers.config import evaluation_module
from trainers.data import load_for_training
from trainers.data import preprocessing
from trainers.folds import class_ids
from trainers.initial_weights import copy_initial_weights
from trainers.input_wait import InputWait
from trainers.loop import loop
from trainers.model import build_model
from trainers.model import dtype_policy
from trainers.monitor import require_logged
from trainers.plain_copy import OnPlainCopy
from trainers.plain_copy import all_variables
from trainers.plain_copy import assign
from trainers.plateau import ReduceOnPlateau
from trainers.provenance import provenance
from trainers.required_fields import require_fields


def training_data(config, first_step: int) -> tf.data.Dataset:
    """The endless batches of the run from `first_step` on."""
    x, labels = load_for_training(config)
    if config.batches.name != "factor_batches":
        labels = class_ids(labels)
    if config.images.size:
        crop = config.images.get("crop", True)
        x = x.with_size(config.images.size, config.seed, crop=crop)
    if "utterances" in config:
        x = x.with_num_frames(config.utterances.num_frames, config.seed)
    indices = build(
        sampling, config.batches, labels, seed=config.seed, start=first_step
    )
    preprocess = preprocessing(config)
    return datasets.batches(
        x,
        labels,
        indices,
        preprocess=preprocess,
        seed=None if preprocess is None else config.seed,
        start=first_step,
    )


def fit(config, recipe, workdir: pathlib.Path | None) -> dict:
    """Trains a recipe in its workdir, or goes on where it was killed.

    A fresh workdir is claimed once all that can be checked has been.

    On several workers `workdir` is the chief's; the others give None, and
    neither read nor write.

    Returns the results, as written to `results.json`; of the others, none.
    """
    require_fields(config)
    strategy = strategies.create(config.strategy)
    if config.deterministic:
        tf.config.experimental.enable_op_determinism()
    if config.strategy == "multi_worker":
        with strategies.clear_message_of_lost_worker():
            return _fit(config, recipe, workdir, strategy)
    return _fit(config, recipe, workdir, strategy)


def _fit(config, recipe, workdir, strategy) -> dict:
    strategies.require_same(strategy, workdirs.recipe_fields(config))
    keras.utils.set_random_seed(config.seed)
    plain = state = None
    if workdir is not None:
        is_claimed = workdirs.require_free(workdir, recipe, config)
        checkpoints = workdir / "checkpoints"
        with dtype_policy(config.precision):
            restored = checkpoint.restore(checkpoints)
        plain, state = restored or (build_model(config), None)
        if restored is None and config.initial_weights:
            copy_initial_weights(plain, config.initial_weights)
        saver = checkpoint.Checkpoint(
            checkpoints,
            config.monitor,
            config.patience,
            config.num_epochs,
            state,
        )
    first_epoch, finished = (
        int(number)
        for number in strategies.from_chief(
            strategy,
            [state["epoch"], bool(state["finished"])] if state else [0, False],
        )
    )
    model = plain
    if not _is_ordinary(strategy):
        model = _on_replicas(config, strategy, plain)
    if not finished:
        if state:
            print(f"Going on after epoch {first_epoch}.")
        data = training_data(config, first_epoch * config.steps_per_epoch)
        _require_shape(plain or model, data)
        input_wait = InputWait()
        callbacks = []
        if workdir is not None:
            held_out = _held_out(config, plain)
            if not is_claimed:
                evaluation_module(config).check(config)
                _check_step(plain, data, held_out)
                workdirs.claim(workdir, recipe, config)
            checkpoints.mkdir(exist_ok=True)
            callbacks = [
                held_out,
                *_plateau(config, saver.state),
                input_wait,
                keras.callbacks.TensorBoard(
                    workdir / "tensorboard", write_graph=False
                ),
                saver,
            ]
        data = input_wait.measured(data)
        _train(config, model, plain, strategy, data, first_epoch, callbacks)
    elif workdir is not None:
        print(f"{workdir} is trained already ({state['finished']}).")
    if workdir is None:
        return {}
    state = saver.state
    waits = state.get("input_wait")
    return workdirs.update_results(
        workdir,
        recipe=recipe,
        seed=config.seed,
        training={
            "monitor": config.monitor,
            "best_value": state["best_value"],
            "best_epoch": state["best_epoch"],
            "epochs": state["epoch"],
            "steps": state["epoch"] * config.steps_per_epoch,
            "stopped": state["finished"],
            "seconds": round(state["seconds"], 1),
            **({"input_wait": statistics.fmean(waits)} if waits else {}),
            "history": state["history"],
            "strategy": config.strategy,
            "replicas": strategy.num_replicas_in_sync,
            **provenance(),
        },
    )


def _is_ordinary(strategy) -> bool:
    """Whether there is no strategy, as that of a single device."""
    return strategy is tf.distribute.get_strategy()


def _on_replicas(config, strategy, plain) -> keras.Model:
    """The recipe's model on every replica, with the chief's values."""
    keras.utils.set_random_seed(config.seed)
    with strategy.scope():
        model = build_model(config)
        values = all_variables(model)
    if plain is not None:
        values = all_variables(plain)
    values = [variable.numpy() for variable in values]
    assign(model, strategies.from_chief(strategy, values))
    return model


def check_recipe(config) -> tuple:
    """Raises what is wrong with a training and its evaluation, before either.

    Returns:
        The model, and the callback that measures its held-out data.

    Raises:
        ValueError: If a field does not fit the data or another field.
        OSError: If the data or the initial weights are not there.
    """
    require_fields(config)
    model = build_model(config)
    if config.initial_weights:
        copy_initial_weights(model, config.initial_weights)
    held_out = _held_out(config, model)
    _plateau(config, {})
    evaluation_module(config).check(config)
    data = training_data(config, 0)
    _require_shape(model, data)
    _check_step(model, data, held_out)
    return model, held_out


def _held_out(config, model) -> keras.callbacks.Callback:
    """What measures held-out data after each epoch, `monitor` among it."""
    held_out = evaluation_module(config).validation(config, model)
    require_logged("config.monitor", config.monitor, model, held_out)
    return held_out


def _plateau(config, state) -> list[keras.callbacks.Callback]:
    """What lowers the rate by `monitor`."""
    if "plateau" not in config:
        return []
    return [ReduceOnPlateau(config.monitor, state, **config.plateau)]


def _check_step(model, data, held_out) -> None:
    """Raises what is wrong with a step on the batches; nothing is trained."""
    x = held_out.x
    one = x[0][None] if isinstance(x, datasets.Utterances) else x[:1]
    model(one, training=False)

    def loss(x, y):
        return model.compute_loss(x, y, model(x, training=True))

    # Traced only: neither weights nor random states change.
    tf.function(loss, autograph=False).get_concrete_function(*data.element_spec)


def _require_shape(model, data) -> None:
    """Raises unless the encoder takes images of the shape that there are."""
    found = tuple(data.element_spec[0].shape)[1:]
    expected = getattr(model, "encoder", model).input_shape[1:]
    if len(expected) == len(found) == 3 and found != expected:
        height, width, channels = expected
        resize = ""
        if height == width and channels == found[2]:
            resize = (
                ", or, for images that are read when needed, "
                f"--config.images.size={height}"
            )
        raise ValueError(
            f"the images have shape {found}, the encoder takes {expected}; set "
            f"--config.encoder.image_shape='{found}'{resize}"
        )


def _train(config, model, plain, strategy, data, first_epoch, callbacks):
    """Calls `fit`, or the loop that stands in for it on several workers."""
    batches = strategies.replica_batches(strategy, data)
    verbose = 1 if sys.stdout.isatty() else 2
    epochs = {
        "epochs": config.num_epochs,
        "initial_epoch": first_epoch,
        "steps_per_epoch": config.steps_per_epoch,
    }
    if not _is_ordinary(strategy) and callbacks:
        on_copy = OnPlainCopy(
            plain,
            callbacks,
            add_progbar=True,
            verbose=verbose,
            epochs=config.num_epochs,
            steps=config.steps_per_epoch,
        )
        callbacks, verbose = [on_copy], 0
    if config.strategy == "multi_worker":
        loop(model, batches, callbacks=callbacks, **epochs)
        return
    if not _is_ordinary(strategy):
        skip_symbolic_build(model)
    model.fit(
        batches,
        shuffle=False,  # the sampler has shuffled
        verbose=verbose,
        callbacks=[LogTeachableRows(), *callbacks],
        **epochs,
    )
