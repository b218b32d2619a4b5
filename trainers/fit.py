"""One training run: a config in, a trained workdir out."""

import pathlib
import sys

import keras
import numpy as np
import tensorflow as tf

from embeddings_tf import callbacks
from embeddings_tf import datasets
from embeddings_tf import losses
from embeddings_tf import metrics
from embeddings_tf import models
from embeddings_tf import objectives
from embeddings_tf import sampling
from trainers import checkpoint
from trainers import workdir as workdirs
from trainers.config import build
from trainers.data import load
from trainers.few_shot import episode_log_prob


def preprocessing(config):
    """The recipe's preprocessing as a function `(x, seed) -> x`."""
    section = config.preprocess

    def preprocess(x, seed):
        return build(datasets, section, images=x, seed=seed)

    return preprocess


def build_model(config) -> keras.Model:
    """The compiled model of a recipe: an objective, or a loss."""
    encoder = build(models, config.encoder)
    optimizer = build(keras.optimizers, config.optimizer)
    if "objective" in config:
        model = models.EmbeddingModel(
            encoder, build(objectives, config.objective)
        )
        model.compile(optimizer=optimizer)
    else:
        model = encoder
        model.compile(optimizer=optimizer, loss=build(losses, config.loss))
    return model


def validation(config, model) -> callbacks.EmbeddingEvaluation:
    """Few-shot accuracy on the validation part, preprocessed as training.

    One fixed draw of the preprocessing and of the episodes, so that epochs
    are compared on the same task.
    """
    x, labels = load(config, config.validation.split)
    preprocess = preprocessing(config)
    x = tf.concat(
        [
            preprocess(x[first : first + 1000], tf.constant([-1, first]))
            for first in range(0, len(x), 1000)
        ],
        axis=0,
    ).numpy()
    episodes = dict(config.validation)
    del episodes["split"]
    log_prob = episode_log_prob(model, episodes.pop("num_samples"))
    # Checks the numbers against the labels now, not after an epoch.
    metrics.few_shot_episodes(np.zeros((len(labels), 1)), labels, **episodes)

    def few_shot_accuracy(embeddings, labels):
        return metrics.few_shot_accuracy(
            embeddings,
            labels,
            log_prob=log_prob,
            seed=config.seed,
            **episodes,
        )

    return callbacks.EmbeddingEvaluation(
        x, labels, {"few_shot_accuracy": few_shot_accuracy}, batch_size=1000
    )


def training_data(config, first_step: int) -> tf.data.Dataset:
    """The endless batches of the run from `first_step` on."""
    x, labels = load(config, config.split)
    indices = build(
        sampling,
        config.batches,
        labels=labels,
        seed=config.seed,
        start=first_step,
    )
    return datasets.batches(
        x,
        labels,
        indices,
        preprocess=preprocessing(config),
        seed=config.seed,
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

    restored = checkpoint.restore(checkpoints)
    model, state = restored or (build_model(config), None)
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
        held_out = validation(config, model)
        known = ["loss", *(f"val_{name}" for name in held_out.metrics)]
        if config.monitor not in known:
            raise ValueError(
                f"config.monitor={config.monitor!r} is not in the logs; they "
                f"have {', '.join(known)}"
            )
        if state:
            print(f"Going on after epoch {first_epoch}.")
        model.fit(
            training_data(config, first_epoch * config.steps_per_epoch),
            epochs=config.num_epochs,
            initial_epoch=first_epoch,
            steps_per_epoch=config.steps_per_epoch,
            shuffle=False,  # the sampler has shuffled
            verbose=1 if sys.stdout.isatty() else 2,
            callbacks=[
                held_out,
                keras.callbacks.TensorBoard(
                    workdir / "tensorboard", write_graph=False
                ),
                saver,
            ],
        )
    state = saver.state
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
            "history": state["history"],
            **workdirs.provenance(),
        },
    )
