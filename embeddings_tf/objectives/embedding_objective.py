"""The base class of the objectives of this library."""

import keras
import tensorflow as tf

from embeddings_tf.losses.teachable_rows import count_teachable_rows
from embeddings_tf.ops.arguments import require_floating
from embeddings_tf.ops.batch_needs import PAIRS
from embeddings_tf.ops.batch_needs import BatchNeeds
from embeddings_tf.ops.labelled_batch import labelled_batch
from embeddings_tf.ops.tensors import real_floats


class EmbeddingObjective(keras.layers.Layer):
    """Base class of an objective of your own; class ids stay integers.

    An objective is a loss that owns weights. docs/own_objective.md has an
    example, and lists the methods that an objective may have.

    Keras casts float inputs of a layer to its dtype, and half precision
    merges neighbouring class ids. `EmbeddingObjective` passes checked integer
    labels `(batch,)` to `call`. Embeddings and weights are float32, also if
    `dtype` is half precision: it rounds small variances to 0, and sums over a
    batch overflow. With `dtype="float64"` they are float64.

    Subclasses implement `call(y_true, y_pred) -> (batch,)` and
    `build(y_true_shape, y_pred_shape)`. With several replicas, `call` receives
    the rows of one replica. An objective that compares rows calls
    `losses.set_wise`, which gathers the rows of all replicas. An objective that
    needs other batches than class-balanced ones also overrides `batch_needs`.

    Raises:
        ValueError: If labels are not class ids, embeddings not real numbers
            `(batch, dim)`, or their lengths differ; if `dtype` is not a
            floating-point type; if a subclass has no `call`.

    Example:

    >>> class Spread(embeddings_tf.objectives.EmbeddingObjective):
    ...     def build(self, y_true_shape, y_pred_shape):
    ...         self.scale = self.add_weight(name="scale", initializer="ones")
    ...
    ...     def call(self, y_true, y_pred):
    ...         return self.scale * tf.reduce_sum(y_pred**2, axis=1)
    >>> Spread()([0, 0, 1], np.array([[1.0], [2.0], [1.0]])).numpy()
    array([1., 4., 1.], dtype=float32)
    """

    # Whether the loss has a KL term that pulls variances towards 1.
    has_divergence = False

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        require_floating(self.dtype_policy.compute_dtype)

    @property
    def compute_dtype(self) -> str:
        """The dtype of the computation: "float64" or "float32"."""
        return _at_least_single(super().compute_dtype)

    @property
    def variable_dtype(self) -> str:
        """The dtype of the weights: "float64" or "float32"."""
        return _at_least_single(super().variable_dtype)

    @property
    def batch_needs(self) -> BatchNeeds:
        """The rows and classes that a batch needs to train this objective."""
        return PAIRS

    @property
    def layers_of_own_rows(self) -> list[keras.layers.Layer]:
        """Layers that `call` applies to the rows of one replica.

        Their noise, such as dropout, then differs between replicas. The noise
        of other layers is of the gathered batch and equal on all replicas.
        """
        return []

    def call(self, y_true, y_pred):
        raise ValueError(
            f"{type(self).__name__} has no `call`. Write "
            "`call(self, y_true, y_pred)` in a subclass of EmbeddingObjective; "
            "it returns one value per row."
        )

    def __call__(self, y_true, y_pred, **kwargs):
        labels, embeddings = labelled_batch(y_true, y_pred)
        embeddings = real_floats("Embeddings", embeddings, self.compute_dtype)
        count_teachable_rows(self, labels)
        if getattr(self, "is_gaussian", False):
            # Without the mark, for which `set_wise` refuses Gaussians.
            embeddings = tf.identity(embeddings)
        return super().__call__(labels, embeddings, **kwargs)

    def _next_seed(self) -> tf.Tensor:
        """A new seed, int32 `(2,)`, of an objective with a `seed_generator`."""
        return tf.cast(self.seed_generator.next(), tf.int32)


def _at_least_single(dtype: str) -> str:
    return "float64" if dtype == "float64" else "float32"
