"""The base class of the objectives of this library."""

import keras

from embeddings_tf.losses.teachable_rows import count_teachable_rows
from embeddings_tf.ops.batch_needs import PAIRS
from embeddings_tf.ops.batch_needs import BatchNeeds
from embeddings_tf.ops.labelled_batch import labelled_batch
from embeddings_tf.ops.labelled_batch import real_floats


class EmbeddingObjective(keras.layers.Layer):
    """A layer whose first input is class ids, which stay integers.

    Keras casts float inputs of a layer to its dtype, and half precision
    merges neighbouring ids. Here `call` gets labels as integers `(batch,)`,
    checked.

    To be implemented by subclasses: `call(y_true, y_pred) -> (batch,)`,
    `build(y_true_shape, y_pred_shape)`, and `batch_needs` if the objective
    needs other batches than class-balanced ones.

    Raises:
        ValueError: If labels are not class ids, embeddings not real numbers
            `(batch, dim)`, or their lengths differ.
    """

    @property
    def batch_needs(self) -> BatchNeeds:
        """The rows and classes that a batch needs to train this objective."""
        return PAIRS

    def __call__(self, y_true, y_pred, **kwargs):
        labels, embeddings = labelled_batch(y_true, y_pred)
        embeddings = real_floats("Embeddings", embeddings, self.compute_dtype)
        count_teachable_rows(self, labels)
        return super().__call__(labels, embeddings, **kwargs)
