"""The model of a recipe, compiled."""

import keras

from embeddings_tf import losses
from embeddings_tf import models
from embeddings_tf import objectives
from trainers.config import build


def build_model(config) -> keras.Model:
    """An encoder with an objective, with a loss, or with a decoder.

    The sections `objective`, `loss` and `autoencoder` of the recipe say
    which; all of them give embeddings when called.
    """
    encoder = build(models, config.encoder)
    optimizer = build(keras.optimizers, config.optimizer)
    if "objective" in config:
        objective = build(objectives, config.objective)
        model = models.EmbeddingModel(encoder, objective)
        model.compile(optimizer=optimizer)
    elif "autoencoder" in config:
        decoder = build(models, config.decoder)
        model = build(
            models, config.autoencoder, encoder=encoder, decoder=decoder
        )
        model.compile(optimizer=optimizer)
    else:
        model = encoder
        model.compile(optimizer=optimizer, loss=build(losses, config.loss))
    return model
