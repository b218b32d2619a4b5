"""Trains a typed run in a workdir."""

import dataclasses
import pathlib
import statistics
import warnings

import keras
import tensorflow as tf

from embeddings_tf import datasets
from embeddings_tf.callbacks import Throughput
from trainers.config.own_code import import_own_code
from trainers.config.own_code import require_loadable
from trainers.config.run import Run
from trainers.config.run_checks import check_run
from trainers.config.run_config import config_of
from trainers.data import classes
from trainers.data.backbone_features import require_same_backbone
from trainers.data.backbone_features import write_backbone
from trainers.data.classes_of_folds import require_classes_of_fold
from trainers.data.data import Data
from trainers.data.same_data import FINGERPRINTS
from trainers.data.same_data import record_fingerprints
from trainers.data.same_data import require_recorded_data
from trainers.evaluators import evaluator
from trainers.training import checkpoint
from trainers.training import replicas
from trainers.training import strategy as strategies
from trainers.training.initial_weights import copy_initial_weights
from trainers.training.model import build_model
from trainers.training.model import dtype_policy
from trainers.training.monitor import require_logged
from trainers.training.plateau import ReduceOnPlateau
from trainers.training.steps_per_execution import steps_per_execution
from trainers.training.train_model import train_model
from trainers.training.watch import held_out_callbacks
from trainers.training.watch import watch
from trainers.workdirs import layout
from trainers.workdirs import workdir as workdirs
from trainers.workdirs.initial_weights_path import initial_weights_path
from trainers.workdirs.provenance import provenance
from trainers.workdirs.results import drop_results
from trainers.workdirs.results import read_results
from trainers.workdirs.results import update_results


def fit(
    run: Run,
    recipe: str,
    workdir: pathlib.Path | None,
    *,
    hparams: bool = True,
) -> dict:
    """Trains a run in its workdir, or continues a killed run.

    Claims a fresh workdir after all checks.

    On several workers only the chief has a `workdir`. Other workers pass None,
    and neither read nor write. With `hparams`, TensorBoard's tab HParams has a
    row for the run.

    Returns the results, as written to `results.json`; {} without a workdir.
    """
    check_run(run)
    strategy = strategies.create(run.training.strategy)
    if run.training.deterministic:
        tf.config.experimental.enable_op_determinism()
    if run.training.strategy == "multi_worker":
        with strategies.clear_message_of_lost_worker():
            return _fit(run, recipe, workdir, strategy, hparams)
    return _fit(run, recipe, workdir, strategy, hparams)


def _fit(run: Run, recipe, workdir, strategy, hparams) -> dict:
    replicas.require_recipe_of_chief(run, strategy)
    # Also of resumed runs, and of a random network that computes features.
    keras.utils.set_random_seed(run.training.seed)
    if workdir is None:
        replicas.train_beside_chief(run, strategy)
        return {}
    is_claimed, model, state = _resume(run, workdir)
    first_epoch, is_finished = replicas.progress_of_chief(strategy, state)
    if is_finished:
        return _results_of_finished_run(
            run, recipe, workdir, strategy, model, state
        )
    if state is not None:
        print(f"Resuming after epoch {first_epoch}.")
    data = Data(run)
    replicas.require_data_of_chief(run, data, strategy)
    recorded = classes.classes_of(run, data)
    classes.print_classes(run, recorded)
    _require_unchanged_data(run, workdir, data, recorded, state)
    if state is None:
        classes.warn_of_unknown(recorded)
        classes.warn_of_initial_weights(run, recorded)
    require_classes_of_fold(run, data)
    batches = data.batches(first_epoch * run.training.steps_per_epoch)
    if model is None:
        model = _new_model(run, data)
    validation = _validation(run, data, model)
    if not is_claimed:  # a search has checked the runs of its trials
        _check(run, data, model, batches, validation)
    saver = _saver(run, workdir, state)
    drop_results(workdir, keep_training=state is not None)
    if state is None:
        _begin(run, recipe, workdir, data, recorded, saver)
    sample = next(iter(data.batches(0)))
    throughput = Throughput()
    logs = workdir / "tensorboard"
    callbacks = [
        validation,
        throughput,
        *watch(run, recipe, logs, sample, validation, saver.state, hparams),
        # Lowers the rate of the next epoch, so TensorBoard comes before it.
        *_plateau(run, saver.state),
        saver,
    ]
    batches = throughput.measured(batches)
    if replicas.is_single_device(strategy):
        _set_steps_per_execution(run, model, sample, saver.state)
        train_model(run, model, batches, first_epoch, callbacks)
    else:
        replicas.train_on_replicas(
            run, data, strategy, model, batches, first_epoch, callbacks
        )
    return _write_results(run, recipe, workdir, strategy, saver.state)


def _resume(run: Run, workdir: pathlib.Path) -> tuple:
    """Returns what the workdir contains of this run.

    Returns:
        Whether the run has claimed the workdir, and the model and the state in
        its newest checkpoint, which are None before the first epoch has ended.

    Raises:
        ValueError: If the workdir or its checkpoint is of another run.
    """
    workdirs.require_single_run(workdir)
    is_claimed = workdirs.contains_run(workdir, run)
    checkpoints = layout.checkpoints(workdir)
    import_own_code(config_of(run))
    with dtype_policy(run.training.precision):
        restored = checkpoint.restore(checkpoints)
    if restored and not is_claimed:
        raise ValueError(
            f"{checkpoints} has a checkpoint, but {workdir} has no "
            "config.json that says of which run. Put it back, or choose "
            "another --workdir."
        )
    return is_claimed, *(restored or (None, None))


def _begin(run: Run, recipe, workdir, data: Data, recorded, saver) -> None:
    """Records a run without a checkpoint and its data, and claims the workdir.

    A search has already claimed the workdirs of its trials.
    """
    record_fingerprints(data, saver.state)
    classes.write_classes(workdir, recorded)
    write_backbone(workdir, run.data)
    workdirs.claim(workdir, recipe, run)
    saver.directory.mkdir(exist_ok=True)


def _saver(run: Run, workdir, state) -> checkpoint.Checkpoint:
    """Returns the callback that saves the run and stops it early."""
    training = run.training
    return checkpoint.Checkpoint(
        layout.checkpoints(workdir),
        training.monitor,
        training.patience,
        training.num_epochs,
        state,
    )


def _results_of_finished_run(
    run: Run, recipe, workdir, strategy, model, state
) -> dict:
    """Returns the results; writes them if the run was killed before it did.

    Such a run may lack the last pictures and the projector, too.
    """
    print(f"{workdir} is trained already ({state['finished']}).")
    results = read_results(workdir)
    if "training" in results:
        return results  # with the commit and machine of the training
    results = _write_results(run, recipe, workdir, strategy, state)
    try:
        _show_held_out(run, workdir, model, state)
    except Exception as error:  # the training is complete without them
        warnings.warn(
            "the last pictures of held-out inputs for TensorBoard are not "
            f"drawn: {error}",
            stacklevel=2,
        )
    return results


def _show_held_out(run: Run, workdir, model, state) -> None:
    """Writes what TensorBoard shows of held-out inputs after the last epoch."""
    data = Data(run)
    recorded = classes.classes_of(run, data)
    _require_unchanged_data(run, workdir, data, recorded, state)
    validation = _validation(run, data, model)
    shown = held_out_callbacks(validation, workdir / "tensorboard")
    if not shown:
        return
    validation.set_model(model)
    validation.embeddings = validation.embed()
    for callback in shown:
        callback.set_model(model)
        callback.on_epoch_end(state["epoch"] - 1)
        callback.on_train_end()


def _require_unchanged_data(run, workdir, data, recorded, state) -> None:
    """Checks that the data is what the workdir has recorded, if anything."""
    classes.require_same_classes(workdir, recorded)
    require_same_backbone(workdir, run.data)
    if state:
        require_recorded_data(workdir, data, state)


def _set_steps_per_execution(run: Run, model, sample, state: dict) -> None:
    """Sets the number that is in the checkpoint, or measures it.

    It is kept, because a measured time varies.
    """
    if state.get("steps_per_execution") is None:
        state["steps_per_execution"] = steps_per_execution(
            model, sample, run.training.steps_per_epoch
        )
    model.steps_per_execution = state["steps_per_execution"]


def _write_results(run, recipe, workdir, strategy, state) -> dict:
    """Writes the training and its data to `results.json`."""
    waits = state["input_wait"]
    return update_results(
        workdir,
        recipe=recipe,
        seed=run.training.seed,
        training={
            "monitor": run.training.monitor,
            "best_value": state["best_value"],
            "best_epoch": state["best_epoch"],
            "epochs": state["epoch"],
            "steps": state["epoch"] * run.training.steps_per_epoch,
            "stopped": state["finished"],
            "seconds": round(state["seconds"], 1),
            **({"input_wait": statistics.fmean(waits)} if waits else {}),
            "history": state["history"],
            "strategy": run.training.strategy,
            "replicas": strategy.num_replicas_in_sync,
            **provenance(),
        },
        config=workdirs.as_json(run),
        **{name: state[name] for name in FINGERPRINTS},
    )


def _new_model(run: Run, data: Data) -> keras.Model:
    """Returns a model that fits the data, with initial weights if any.

    Random weights depend on the seed alone. Reading data may draw numbers too:
    before it is prepared, or to make a network that computes features.
    """
    inputs, num_classes = data.input_spec, data.num_classes  # reads the data
    keras.utils.set_random_seed(run.training.seed)
    model = build_model(run, inputs, num_classes)
    if run.training.initial_weights:
        copy_initial_weights(
            model,
            initial_weights_path(run),
            freeze_encoder=run.training.freeze_encoder,
        )
    if not model.optimizer.built:
        # Some optimizers start from the weights. Made in the first step, the
        # variables would have it traced twice.
        model.optimizer.build(model.trainable_variables)
    require_loadable(model, config_of(run))
    return model


def check_recipe(run: Run) -> tuple:
    """Checks a training and its evaluation before they start.

    Returns:
        The model, and the callback that evaluates its held-out data.

    Raises:
        ValueError: If a field does not fit the data or another field.
        OSError: If the data or the initial weights are missing.
    """
    check_run(run)
    strategies.require_known(run.training.strategy)
    data = Data(run)
    require_classes_of_fold(run, data)
    model = _new_model(run, data)
    validation = _validation(run, data, model)
    _check(run, data, model, data.batches(0), validation)
    return model, validation


def _check(run: Run, data: Data, model, batches, validation) -> None:
    """Raises errors of the training and its evaluation; does not train."""
    evaluator(run).check(run, data)
    _check_step(model, batches, validation)


def _validation(run: Run, data: Data, model) -> keras.callbacks.Callback:
    """Returns the callback that evaluates held-out data, logs `monitor`."""
    try:
        validation = evaluator(run).validation(run, data, model)
    except ValueError as error:
        if "config." in str(error):
            raise
        raise ValueError(
            f"config.validation does not fit the data: {error}"
        ) from error
    require_logged("config.monitor", run.training.monitor, model, validation)
    return validation


def _plateau(run: Run, state) -> list[keras.callbacks.Callback]:
    """Returns the callback that lowers the learning rate, if any."""
    plateau = run.training.plateau
    if plateau.factor == 1:
        return []
    monitor = run.training.monitor
    return [ReduceOnPlateau(monitor, state, **dataclasses.asdict(plateau))]


def _check_step(model, batches, validation) -> None:
    """Raises errors of a training step on the batches; does not train."""
    x = validation.x
    one = x[0][None] if isinstance(x, datasets.Utterances) else x[:1]
    model(one, training=False)

    def loss(x, y):
        return model.compute_loss(x, y, model(x, training=True))

    # Only traced: weights and random states do not change.
    tf.function(loss, autograph=False).get_concrete_function(
        *batches.element_spec
    )
