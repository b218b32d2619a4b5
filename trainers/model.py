"""The model of a recipe, compiled."""

import contextlib

import keras
import numpy as np

from embeddings_tf import layers
from embeddings_tf import losses
from embeddings_tf import models
from embeddings_tf import objectives
from embeddings_tf import optimizers
from embeddings_tf.losses.teachable_rows import watch_teachable_rows
from embeddings_tf.models.gaussian_output import require_match
from trainers.config import build
from trainers.data import load
from trainers.folds import class_ids

# Sections of an objective, and where the layers they name are found.
OBJECTIVE_PARTS = {"distance": layers, "projection": models}


@contextlib.contextmanager
def dtype_policy(name: str):
    """Layers made in the block have this policy, as do models loaded in it."""
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy(name)
    try:
        yield
    finally:
        keras.config.set_dtype_policy(before)


def build_model(config) -> keras.Model:
    """An encoder with an objective, with a loss, or with a decoder.

    The sections `objective`, `loss` and `autoencoder` of the recipe say
    which; all of them give embeddings when called. Their layers have the
    dtype policy `precision` of the recipe, the heads are float32.
    """
    with dtype_policy(config.precision):
        return _build_model(config)


def _build_model(config) -> keras.Model:
    piece_size = config.piece_size or None
    encoder = build(models, config.encoder)
    optimizer = build_optimizer(config.optimizer)
    if "objective" in config:
        model = models.EmbeddingModel(
            encoder, _objective(config), piece_size=piece_size
        )
        model.compile(optimizer=optimizer)
    elif "autoencoder" in config:
        decoder = build(models, config.decoder)
        model = build(
            models, config.autoencoder, encoder=encoder, decoder=decoder
        )
        model.compile(optimizer=optimizer)
    elif piece_size:
        model = models.EmbeddingModel(
            encoder, build(losses, config.loss), piece_size=piece_size
        )
        model.compile(optimizer=optimizer)
    else:
        model = models.prepare_for_replicas(encoder)
        loss = build(losses, config.loss)
        require_match(models.has_gaussian_output(model), loss)
        model.compile(optimizer=optimizer, loss=loss)
        watch_teachable_rows(model, loss)
    return model


def build_optimizer(section) -> keras.optimizers.Optimizer:
    """The optimiser of a recipe's section, by name ours or one of Keras.

    Its learning rate is a number, or a section that names a schedule.
    """
    section = dict(section)
    rate = section["learning_rate"]
    if hasattr(rate, "keys"):
        schedules = keras.optimizers.schedules
        section["learning_rate"] = build(_ours_or(schedules, rate), rate)
    return build(_ours_or(keras.optimizers, section), section)


def _ours_or(module, section):
    return optimizers if hasattr(optimizers, section["name"]) else module


def _objective(config) -> keras.layers.Layer:
    """The objective; an auxiliary classifier is one of the training classes."""
    section = dict(config.objective)
    arguments = {
        field: build(module, section.pop(field))
        for field, module in OBJECTIVE_PARTS.items()
        if field in section
    }
    if section.get("auxiliary"):
        _, labels = load(config, config.split)
        arguments["num_classes"] = len(np.unique(class_ids(labels)))
    return build(objectives, section, **arguments)
