"""One training run: a config in, a trained workdir out."""

import pathlib
import statistics
import sys

import keras
import tensorflow as tf

from embeddings_tf import datasets
from embeddings_tf import sampling
from trainers import checkpoint
from trainers import workdir as workdirs
from trainers.config import build
from trainers.config import evaluation_module
from trainers.data import load
from trainers.data import preprocessing
from trainers.folds import class_ids
from trainers.initial_weights import copy_initial_weights
from trainers.input_wait import InputWait
from trainers.model import build_model
from trainers.model import dtype_policy
from trainers.plateau import ReduceOnPlateau


def training_data(config, first_step: int) -> tf.data.Dataset:
    """The endless batches of the run from `first_step` on."""
    x, labels = load(config, config.split)
    if config.batches.name != "factor_batches":
        labels = class_ids(labels)
    if "images" in config:
        x = x.with_size(config.images.size, config.seed)
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


def fit(config, recipe: str, workdir: pathlib.Path) -> dict:
    """Trains a recipe in its workdir, or goes on where it was killed.

    Returns the results, as written to `results.json`.
    """
    for field in ("steps_per_epoch", "num_epochs", "patience"):
        if config[field] < 1:
            raise ValueError(
                f"config.{field} must be at least 1; received {config[field]}"
            )
    checkpoints = workdir / "checkpoints"
    checkpoints.mkdir(exist_ok=True)
    if config.deterministic:
        tf.config.experimental.enable_op_determinism()
    keras.utils.set_random_seed(config.seed)

    with dtype_policy(config.precision):
        restored = checkpoint.restore(checkpoints)
    model, state = restored or (build_model(config), None)
    if restored is None and config.initial_weights:
        copy_initial_weights(model, config.initial_weights)
    first_epoch = state["epoch"] if state else 0
    saver = checkpoint.Checkpoint(
        checkpoints,
        config.monitor,
        config.patience,
        config.num_epochs,
        state,
    )
    if state and state["finished"]:
        print(f"{workdir} is trained already ({state['finished']}).")
    else:
        held_out = evaluation_module(config).validation(config, model)
        known = ["loss", *(f"val_{name}" for name in held_out.metrics)]
        if config.monitor not in known:
            raise ValueError(
                f"config.monitor={config.monitor!r} is not in the logs; they "
                f"have {', '.join(known)}"
            )
        plateau = []
        if "plateau" in config:
            plateau = [
                ReduceOnPlateau(config.monitor, saver.state, **config.plateau)
            ]
        if state:
            print(f"Going on after epoch {first_epoch}.")
        input_wait = InputWait()
        data = training_data(config, first_epoch * config.steps_per_epoch)
        model.fit(
            input_wait.measured(data),
            epochs=config.num_epochs,
            initial_epoch=first_epoch,
            steps_per_epoch=config.steps_per_epoch,
            shuffle=False,  # the sampler has shuffled
            verbose=1 if sys.stdout.isatty() else 2,
            callbacks=[
                held_out,
                *plateau,
                input_wait,
                keras.callbacks.TensorBoard(
                    workdir / "tensorboard", write_graph=False
                ),
                saver,
            ],
        )
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
            **workdirs.provenance(),
        },
    )
