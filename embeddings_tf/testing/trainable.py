"""The common base of the checks of losses and objectives."""

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
    """Common base of the entries of losses and objectives.

    Args:
        batch: Function that returns labels `(rows,)` and embeddings `(rows,
            width)`.
        head: Function that returns the last layer of an encoder.
        documented: Names of degenerate batches (the properties that
            `_check_degenerate` checks) with the documented value: a number, or
            a function of the entry that returns a number. None: any finite
            value.
        quiet: Function that changes embeddings such that a loss that draws
            samples no longer depends on the samples.
        narrow: Function that removes the variance of embeddings.
        scale: Function that scales embeddings by a factor.
        set_wise: Whether all examples of a batch have the same value.
        half_precision_atol: Tolerated difference from the float32 value if
            the layers before the embedding compute in half precision.
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
            raise ValueError(f"{unknown} are not properties.")

    def new(self):
        """Returns a new object, which returns one value per example."""
        return self.make()

    def model(self, optimizer="sgd", hidden=()) -> keras.Model:
        """Returns a compiled model that trains with a new object."""
        raise NotImplementedError

    def encoder(self, *hidden):
        return keras.Sequential(
            [keras.Input((NUM_FEATURES,)), *hidden, self.head()]
        )

    def evaluate(self, labels, z, loss=None):
        """Returns values, and gradients of their mean in z and the weights."""
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
        loss = self.new() if loss is None else loss
        return loss(labels, tf.convert_to_tensor(z)).numpy()

    def train(self, model, num_steps, deviation=0.1, run_eagerly=True):
        """Returns the losses of some steps on one batch, separable by default.

        Runs eagerly by default, because tracing takes longer than the steps.
        Checks in which compiling may matter trace (`mixed_precision`,
        `replicas_fit`).
        """
        model.run_eagerly = run_eagerly
        labels = self.batch()[0]
        x = separable(labels, deviation)
        return [
            float(model.train_on_batch(x, labels)) for _ in range(num_steps)
        ]
