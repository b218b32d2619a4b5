"""A softmax classifier on angles, with a margin for the true class."""

import keras
import tensorflow as tf

from embeddings_tf.ops.arguments import LARGEST_NUMBER
from embeddings_tf.ops.arguments import number_at_least
from embeddings_tf.ops.arguments import positive_integer
from embeddings_tf.ops.arguments import positive_number
from embeddings_tf.ops.arguments import require_floating
from embeddings_tf.ops.distances import unit_rows
from embeddings_tf.ops.labelled_batch import labelled_batch
from embeddings_tf.ops.tensors import real_floats


@keras.saving.register_keras_serializable(package="embeddings_tf")
class AdditiveMargin(keras.layers.Layer):
    """Softmax classifier on angles with a margin (AM-softmax).

    Use it as the classifier after an encoder whose embeddings are compared
    by their angles, with a softmax cross-entropy on its logits. Without
    `labels` the logits have no margin; use these for prediction.

    Formula, with `e` the embedding of length 1 and `w_c` the weights of class
    `c`, of length 1:

    ```
    logit_c = scale * (e . w_c - margin * [c is the label])
    ```

    An embedding of zeros has the cosine 0 to every class.

    Args:
        num_classes: Number of classes, at least 1.
        scale: Positive factor of all cosines, at most 1e18. The largest
            logit in float16 is 65504.
        margin: Subtracted from the cosine of the true class, 0 to 1e18. The
            authors of the learned distance use 0.35, and 0.4 for retrieval.
        kernel_initializer: As in `keras.layers.Dense`; only directions count,
            of weights of any scale from 1e-18 to 1e18.

    Call arguments:
        inputs: Embeddings `(batch, dim)`; their lengths do not matter.
        labels: None, or class ids `(batch,)` in `[0, num_classes)`; a label
            outside has no margin.

    Output shape: `(batch, num_classes)`, float32 also under mixed precision.

    Raises:
        ValueError: If an argument is not as described.

    Reference:
        - [Wang et al., 2018](https://arxiv.org/abs/1801.05599)

    Example:

    >>> layer = embeddings_tf.layers.AdditiveMargin(3, scale=10.0, margin=0.5)
    >>> embeddings, labels = np.eye(2, dtype="float32"), np.array([2, 0])
    >>> plain, with_margin = layer(embeddings), layer(embeddings, labels)
    >>> np.round(plain - with_margin) + 0.0
    array([[0., 0., 5.],
           [5., 0., 0.]], dtype=float32)
    """

    def __init__(
        self,
        num_classes: int,
        scale: float = 30.0,
        margin: float = 0.35,
        *,
        kernel_initializer="random_normal",
        dtype="float32",
        **kwargs,
    ):
        super().__init__(dtype=dtype, **kwargs)
        require_floating(self.compute_dtype)
        self.num_classes = positive_integer("num_classes", num_classes)
        self.scale = positive_number("scale", scale, LARGEST_NUMBER)
        self.margin = number_at_least("margin", margin, 0, LARGEST_NUMBER)
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.input_spec = keras.layers.InputSpec(ndim=2)

    def build(self, input_shape):
        self.kernel = self.add_weight(
            name="kernel",
            shape=(input_shape[-1], self.num_classes),
            initializer=self.kernel_initializer,
            autocast=False,  # half precision has a smaller range of lengths
        )

    def call(self, inputs, labels=None):
        of_classes = tf.transpose(tf.convert_to_tensor(self.kernel))
        of_classes = tf.cast(unit_rows(of_classes), self.compute_dtype)
        inputs = real_floats("Embeddings", inputs, self.compute_dtype)
        if labels is not None:
            labels, inputs = labelled_batch(labels, inputs)
        cosine = tf.matmul(unit_rows(inputs), of_classes, transpose_b=True)
        if labels is not None:
            is_label = tf.one_hot(labels, self.num_classes, dtype=cosine.dtype)
            cosine -= self.margin * is_label
        return self.scale * cosine

    def compute_output_shape(self, input_shape):
        return (*input_shape[:-1], self.num_classes)

    def get_config(self):
        return {
            **super().get_config(),
            "num_classes": self.num_classes,
            "scale": self.scale,
            "margin": self.margin,
            "kernel_initializer": keras.initializers.serialize(
                self.kernel_initializer
            ),
        }
