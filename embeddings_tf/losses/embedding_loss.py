"""What the losses of this library have in common."""

import keras
import tensorflow as tf

from embeddings_tf.losses.teachable_rows import count_teachable_rows
from embeddings_tf.ops import gaussian
from embeddings_tf.ops.batch_needs import PAIRS
from embeddings_tf.ops.batch_needs import BatchNeeds
from embeddings_tf.ops.labelled_batch import labelled_batch


class EmbeddingLoss(keras.losses.Loss):
    """A Keras loss on points whose labels are class ids and stay integers.

    `keras.losses.Loss` casts labels to the dtype of the loss, and float32
    merges neighbours from 2^24 on. Here `call` gets them as integers
    `(batch,)`, checked. Everything else is as in `keras.losses.Loss`: sample
    weights, masks, reduction, and the scale under `tf.distribute`.

    To be implemented by subclasses: `call(y_true, y_pred)`, and `batch_needs`
    if the loss needs other batches than class-balanced ones. A loss that
    compares embeddings by their cosine has an attribute `distance = "cosine"`:
    few-shot classification, evaluation and export then do so, too. Without it
    they compare squared Euclidean distances.

    Raises:
        ValueError: If labels are not class ids, embeddings not real numbers
            `(batch, dim)` or Gaussians, or the lengths differ.
    """

    @property
    def batch_needs(self) -> BatchNeeds:
        """What a batch needs so that this loss can learn from it."""
        return PAIRS

    def __call__(self, y_true, y_pred, sample_weight=None):
        gaussian.require_points(y_pred)
        labels, embeddings = labelled_batch(y_true, y_pred)
        count_teachable_rows(self, labels)
        values = self.call(labels, tf.cast(embeddings, self.dtype))
        reduction = _Reduction(
            values, name=self.name, reduction=self.reduction, dtype=self.dtype
        )
        # The tensor as it came: Keras attaches the mask to it.
        given = y_pred if tf.is_tensor(y_pred) else embeddings
        return reduction(given, given, sample_weight)

    def get_config(self):
        return {**super().get_config(), "dtype": self.dtype}


class _Reduction(keras.losses.Loss):
    """Reduces given values; the mask is that of `y_pred`."""

    def __init__(self, values, **kwargs):
        super().__init__(**kwargs)
        self.values = values

    def call(self, y_true, y_pred):
        return self.values
