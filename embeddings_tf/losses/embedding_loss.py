"""The base class of the losses of this library."""

import keras
import tensorflow as tf

from embeddings_tf.losses.teachable_rows import count_teachable_rows
from embeddings_tf.ops import gaussian
from embeddings_tf.ops.arguments import require_floating
from embeddings_tf.ops.batch_needs import PAIRS
from embeddings_tf.ops.batch_needs import BatchNeeds
from embeddings_tf.ops.global_batch import balance_replicas
from embeddings_tf.ops.labelled_batch import labelled_batch
from embeddings_tf.ops.sample_weights import weight_per_row

# Reductions for which Keras takes the mean over the rows of a replica.
_MEANS = ("sum_over_batch_size", "mean", "mean_with_sample_weight")


class EmbeddingLoss(keras.losses.Loss):
    """Base class of a loss of your own; class ids stay integers.

    docs/own_loss.md has an example that is complete, with a configuration.
    `keras.losses.Loss` casts labels to the dtype of the loss, and float32
    merges neighbouring class ids from 2^24 on. `EmbeddingLoss` passes checked
    integer labels `(batch,)` to `call`. Sample weights, masks, reduction and
    the scale under `tf.distribute` work as in `keras.losses.Loss`. The reduced
    loss of an empty batch is 0.

    The call adds the metric `teachable_rows` to the model that trains the loss,
    which it finds on the call stack.

    Under a strategy of several replicas, use `fit` and `evaluate`. Keras's
    `train_on_batch` and `test_on_batch` give the whole batch to each replica,
    so the loss would see every row once for each replica.

    Subclasses implement `call(y_true, y_pred)`. A loss that needs other batches
    than class-balanced ones also overrides `batch_needs`, and a loss with
    scalars of a batch `batch_diagnostics`. A loss that compares embeddings by
    their cosine has the attribute `distance = "cosine"`; few-shot
    classification, evaluation and export then use the cosine, too. By default
    they use squared Euclidean distances.

    Raises:
        ValueError: If labels are not class ids, if embeddings are not real
            numbers `(batch, dim)`, if they are Gaussians, or if the lengths
            of labels, embeddings and sample weights differ; if `dtype` is not
            a floating-point type; if a subclass has no `call`.

    Example:

    >>> class Norm(embeddings_tf.losses.EmbeddingLoss):
    ...     def call(self, y_true, y_pred):
    ...         return tf.reduce_sum(y_pred**2, axis=1)
    >>> float(Norm()([0, 0, 1], np.array([[1.0], [2.0], [1.0]])))
    2.0
    """

    def __init__(self, name=None, reduction="sum_over_batch_size", dtype=None):
        super().__init__(name=name, reduction=reduction, dtype=dtype)
        require_floating(self.dtype)

    @property
    def batch_needs(self) -> BatchNeeds:
        """The rows and classes that a batch must have to train this loss."""
        return PAIRS

    def call(self, y_true, y_pred):
        raise ValueError(
            f"{type(self).__name__} has no `call`. Write "
            "`call(self, y_true, y_pred)` in a subclass of EmbeddingLoss; "
            "it returns one value per row."
        )

    def __call__(self, y_true, y_pred, sample_weight=None):
        gaussian.require_points(y_pred)
        labels, embeddings = labelled_batch(y_true, y_pred)
        sample_weight = weight_per_row(sample_weight, embeddings)
        count_teachable_rows(self, labels)
        values = self.call(labels, tf.cast(embeddings, self.dtype))
        if self.reduction in _MEANS:
            values = balance_replicas(values)
        reduction = _Reduction(
            values, name=self.name, reduction=self.reduction, dtype=self.dtype
        )
        # The original tensor, because Keras attaches the mask to it.
        given = y_pred if tf.is_tensor(y_pred) else embeddings
        loss = reduction(given, given, sample_weight)
        if self.reduction in (None, "none"):
            return loss
        # Keras does not reduce values of the static shape (0,).
        return tf.reduce_sum(loss)

    def batch_diagnostics(self, labels, embeddings) -> dict:
        """Scalars of a batch, by name, to see why a training fails.

        `callbacks.EmbeddingDiagnostics` and `callbacks.TrainingDiagnostics`
        log them.

        Args:
            labels: Class ids `(batch,)` or `(batch, 1)`.
            embeddings: `(batch, dim)`.

        Returns:
            Scalars by name: of the losses of this library, the share of
            triplets, pairs or queries that still have a gradient.
        """
        self._checked(labels, embeddings)
        return {}

    def _checked(self, labels, embeddings) -> tuple[tf.Tensor, tf.Tensor]:
        """Returns integer labels, and embeddings in the dtype of the loss."""
        labels, embeddings = labelled_batch(labels, embeddings)
        return labels, tf.cast(embeddings, self.dtype)

    def get_config(self):
        return {**super().get_config(), "dtype": self.dtype}


class _Reduction(keras.losses.Loss):
    """Reduces given values with the mask of `y_pred`."""

    def __init__(self, values, **kwargs):
        super().__init__(**kwargs)
        self.values = values

    def call(self, y_true, y_pred):
        return self.values
