"""Embeds raw inputs, and checks whether they are typical."""

import dataclasses
import math
from collections.abc import Mapping

import numpy as np
import tensorflow as tf

from embeddings_tf.export import checks
from embeddings_tf.export.embedder import BLOCK
from embeddings_tf.export.embedder import Embedder
from embeddings_tf.export.signatures import Endpoint
from embeddings_tf.layers.pixel_range import exported_checks
from embeddings_tf.scoring.input_numbers import evenly_spaced
from embeddings_tf.scoring.typicality import Typicality


class TypicalEmbedder(Embedder):
    """An embedder whose last output is whether inputs are typical, `(n,)`.

    Args:
        embedder: The embedder; its traced functions are shared.
        typicality: The check.
        variables: From `stored`.
    """

    def __init__(
        self, embedder: Embedder, typicality: Typicality, variables: Mapping
    ):
        self.__dict__.update(vars(embedder))
        self._typicality = {**typicality.to_dict(), **variables}

    def checked(self, inputs, name: str) -> tuple[tf.Tensor, ...]:
        return (*super().checked(inputs, name), self._typical_in_blocks(inputs))

    def unchecked(self, inputs) -> tuple[tf.Tensor, ...]:
        return (*super().unchecked(inputs), self.typical(inputs))

    def typical(self, inputs) -> tf.Tensor:
        """As `Typicality.predict`, in operations that converters know."""
        x = inputs[0]
        if self.preprocessing is not None:
            # The embedding of the same inputs has checked their range.
            with exported_checks("accept"):
                x = self.preprocessing(*inputs)
        found = self._typicality
        length = math.prod(found["input_shape"])
        numbers = tf.cast(tf.reshape(x, (-1, length)), tf.float32)
        places = evenly_spaced(length)
        if len(places) < length:
            numbers = tf.gather(numbers, places, axis=1)
        mean, scale, components = (
            tf.convert_to_tensor(found[name])
            for name in ("mean", "scale", "components")
        )
        z = (numbers - mean) / scale
        parts = tf.matmul(z, components, transpose_b=True)
        errors = tf.reduce_mean((z - tf.matmul(parts, components)) ** 2, 1)
        # False for an error that is not finite, of huge inputs.
        return errors <= -found["threshold"]

    def _typical_in_blocks(self, inputs) -> tf.Tensor:
        (found,) = checks.in_blocks(
            lambda *rows: {"typical": self.typical(rows)},
            inputs,
            self.numbers_per_row(inputs),
            {"typical": tf.TensorSpec((None,), tf.bool)},
            BLOCK,
        ).values()
        return found


def stored(typicality: Typicality) -> dict[str, tf.Variable]:
    """The arrays of a check as variables, stored once for all signatures."""
    return {
        name: tf.Variable(value, trainable=False)
        for name, value in typicality.to_dict().items()
        if isinstance(value, np.ndarray)
    }


def only_typical(endpoint: Endpoint, embedder: TypicalEmbedder) -> Endpoint:
    """A signature with an output `accepted`, for typical inputs only."""

    def function(*inputs):
        answer, typical = endpoint.function(*inputs), embedder.typical(inputs)
        accepted = tf.logical_and(answer["accepted"], typical)
        return {**answer, "accepted": accepted, "typical": typical}

    return dataclasses.replace(endpoint, function=function)


def about(typicality: Typicality | None) -> dict | None:
    """Facts about a check for clients, for JSON."""
    if typicality is None:
        return None
    return {"refused": typicality.refused, **(typicality.report_ or {})}
