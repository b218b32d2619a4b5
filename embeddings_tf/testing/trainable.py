"""What the checks of losses and of objectives have in common."""

import dataclasses
import functools
from collections.abc import Callable
from collections.abc import Mapping

import keras
import numpy as np
import tensorflow as tf

from embeddings_tf.testing.entry import Configurable
from embeddings_tf.testing.entry import empty
from embeddings_tf.testing.made_up_batches import NUM_FEATURES
from embeddings_tf.testing.made_up_batches import points
from embeddings_tf.testing.made_up_batches import scaled
from embeddings_tf.testing.made_up_batches import separable


@dataclasses.dataclass(frozen=True, eq=False)
class Trainable(Configurable):
    """What losses and objectives have in common.

    Args:
        batch: Function that returns labels `(rows,)` and embeddings `(rows,
            width)`.
        head: Function that returns the last layer of an encoder.
        documented: From degenerate batches (the properties that
            `_check_degenerate` checks) to the documented value: a number, or
            a function of the entry that gives one. None: any finite value.
        quiet: Function from embeddings to embeddings on which a loss that
            samples does not depend on its samples.
        narrow: Function from embeddings to embeddings without variance.
        scale: Function from embeddings and a factor to scaled embeddings.
        set_wise: Whether all examples have the same value.
        half_precision_atol: How far from its value in float32 the loss may be
            if the layers before the embedding have half precision.
    """

    batch: Callable = points
    head: Callable = functools.partial(keras.layers.Dense, 2, dtype="float32")
    documented: Mapping[str, float | Callable] | None = empty()
    quiet: Callable = np.asarray
    narrow: Callable = np.asarray
    scale: Callable = scaled
    set_wise: bool = True
    # bfloat16 rounds activations to 1 part in 256.
    half_precision_atol: float = 0.02

    def __post_init__(self):
        super().__post_init__()
        unknown = set(self.documented or ()) - set(self.properties())
        if unknown:
            raise ValueError(f"{unknown} are no properties.")

    def new(self):
        """A new object, which gives one value per example."""
        return self.make()

    def model(self, optimizer="sgd", hidden=()) -> keras.Model:
        """A compiled model that trains with a new object."""
        raise NotImplementedError

    def encoder(self, *hidden):
        return keras.Sequential(
            [keras.Input((NUM_FEATURES,)), *hidden, self.head()]
        )

    def evaluate(self, labels, z, loss=None):
        """Values, and the gradients of their mean in z and the weights."""
        loss = self.new() if loss is None else loss
        z = tf.convert_to_tensor(z)
        with tf.GradientTape() as tape:
            tape.watch(z)
            values = loss(labels, z)
            mean = tf.reduce_mean(values)
        weights = getattr(loss, "trainable_variables", [])
        gradients = tape.gradient(
            mean,
            [z, *weights],
            unconnected_gradients=tf.UnconnectedGradients.ZERO,
        )
        return values, gradients

    def values(self, labels, z, loss=None) -> np.ndarray:
        return self.evaluate(labels, z, loss)[0].numpy()

    def train(self, model, num_steps, deviation=0.1, run_eagerly=True):
        """Losses of some steps on the same batch, separable by default.

        Eagerly, as tracing takes far longer than the steps do, but where
        compiling may matter (`mixed_precision`, `replicas_fit`).
        """
        model.run_eagerly = run_eagerly
        labels = self.batch()[0]
        x = separable(labels, deviation)
        return [
            float(model.train_on_batch(x, labels)) for _ in range(num_steps)
        ]
