"""The histogram loss."""

import keras
import tensorflow as tf

from embeddings_tf.losses.embedding_loss import EmbeddingLoss
from embeddings_tf.ops import distances
from embeddings_tf.ops import pairs
from embeddings_tf.ops.arguments import positive_integer
from embeddings_tf.ops.differentiable_once import differentiable_once
from embeddings_tf.ops.global_batch import own_rows
from embeddings_tf.ops.global_batch import sum_over_replicas


def histogram_loss(y_true, y_pred, num_nodes: int = 201) -> tf.Tensor:
    """Probability that a negative pair is as similar as a positive one.

    The function behind `HistogramLoss`, which documents it.
    `compile` takes the class.

    Args:
        y_true: Class ids `(batch,)` or `(batch, 1)`.
        y_pred: Embeddings `(batch, dim)`.
        num_nodes: Nodes of the histograms, at least 2.

    Returns:
        `(batch,)`, the value of the global batch in every entry.

    Example:

    >>> z = np.array([[1, 0], [3, 0], [0, 1], [0, 2]], "float32")
    >>> embeddings_tf.losses.histogram_loss([0, 0, 1, 1], z).numpy()
    array([0., 0., 0., 0.], dtype=float32)
    >>> embeddings_tf.losses.histogram_loss([0, 1, 0, 1], z).numpy()
    array([1., 1., 1., 1.], dtype=float32)
    """
    num_nodes = _checked(num_nodes)

    def value(labels, embeddings):
        unit, own = distances.unit_rows(embeddings), own_rows(tf.size(labels))
        rows = None if own is None else tf.range(*own)
        here = unit if own is None else tf.gather(unit, rows)
        similarity = distances.cosines_of_units(here, unit)
        masks = pairs.positive_and_negative(labels, rows)
        over_replicas = tf.identity if own is None else sum_over_replicas
        return _overlap(similarity, *masks, num_nodes, over_replicas)

    return pairs.set_wise(value, y_true, y_pred)


def _overlap(
    similarity, positive, negative, num_nodes, over_replicas=tf.identity
):
    """Overlap of the histograms of all replicas' pairs.

    The gradient comes from the pairs of this replica.
    """
    num_cells = num_nodes - 1
    dtype = similarity.dtype

    @tf.custom_gradient
    def overlap(similarity):
        # The cell of a pair and its position in the cell, between one node and
        # the next; 1 is the end of the last cell.
        place = (similarity + 1) * (num_cells / 2)
        cell = tf.clip_by_value(
            tf.cast(tf.floor(place), tf.int32), 0, num_cells - 1
        )
        share = place - tf.cast(cell, dtype)
        # Cells of positive pairs, cells of negative pairs, one for others.
        cell = tf.where(negative, cell + num_cells, cell)
        cell = tf.where(positive | negative, cell, 2 * num_cells)

        def sums(weights):
            total = tf.raw_ops.DenseBincount(
                input=tf.reshape(cell, [-1]),
                size=2 * num_cells + 1,
                weights=weights,
                binary_output=False,
            )
            total = over_replicas(tf.reshape(total[:-1], [2, num_cells]))
            return tf.cast(total, dtype)

        # Pairs are counted in integers, exactly for any number.
        num_pairs = sums(tf.zeros([0], tf.int32))
        # float32 loses the last of many shares.
        to_next = sums(tf.cast(tf.reshape(share, [-1]), tf.float64))
        histograms = tf.pad(num_pairs - to_next, [[0, 0], [0, 1]])
        histograms += tf.pad(to_next, [[0, 0], [1, 0]])
        per_pair = tf.math.reciprocal_no_nan(
            tf.reduce_sum(num_pairs, axis=1, keepdims=True)
        )
        of_positives, of_negatives = tf.unstack(histograms * per_pair)
        at_most = tf.cumsum(of_positives)

        def gradient(upstream):
            # Within a cell, the value is linear in each of its pairs.
            slopes = tf.stack([-of_negatives[:-1], of_positives[1:]])
            slopes = tf.stop_gradient(slopes * per_pair * (num_cells / 2))
            upstream = over_replicas(upstream)
            slopes *= differentiable_once(
                upstream, similarity, "histogram_loss"
            )
            slopes = tf.pad(tf.reshape(slopes, [-1]), [[0, 1]])
            return tf.gather(slopes, cell)

        return tf.reduce_sum(at_most * of_negatives), gradient

    return overlap(similarity)


def _checked(num_nodes):
    if positive_integer("num_nodes", num_nodes) < 2:
        raise ValueError(
            "`num_nodes` must be an integer of at least 2, for the "
            f"similarities -1 and 1; received {num_nodes!r}."
        )
    return int(num_nodes)


@keras.saving.register_keras_serializable(package="embeddings_tf")
class HistogramLoss(EmbeddingLoss):
    """Separates the histograms of positive and negative similarities.

    Use it when you do not want to tune a margin. It compares two
    distributions, so it needs batches with many pairs
    (`sampling.class_balanced_batches`). The loss L2-normalises embeddings, so
    compare them by their cosine.

    Formula, with `h+` and `h-` the histograms, each with sum 1, of the cosines
    of all positive pairs (same class) and negative pairs (different classes):

    ```
    t_r = -1 + 2 r / (num_nodes - 1)
    v = sum over r of h-_r * (sum over q <= r of h+_q)
    ```

    The weight of a pair is divided linearly between its two nearest nodes, so
    the gradient is exact and a cosine of 1 counts. `v` estimates the
    probability that a random negative pair is at least as similar as a random
    positive pair. 0 is perfect. `v` does not depend on the lengths of
    embeddings.

    A batch without positive pairs, or without negative pairs, has the value 0
    and zero gradients. If all points coincide, the value is 1. A row of zeros
    (no entry beyond 1e-30) has cosine 0 with every row.

    Args:
        num_nodes: Nodes `t_r` of the histograms, at least 2; 201 nodes have a
            step of 0.01.
        reduction, name, dtype: As in `keras.losses.Loss`. The default is
            float32, because sums over a batch need its precision.

    Call arguments:
        y_true: Class ids `(batch,)` or `(batch, 1)`.
        y_pred: Embeddings `(batch, dim)`.

    Returns:
        `(batch,)` before the reduction, with the same value in every entry.
        Under `tf.distribute` it is the value of the global batch.

    Raises:
        ValueError: If `num_nodes` is not an integer of at least 2.

    Reference:
        - [Ustinova & Lempitsky, 2016](https://arxiv.org/abs/1611.00822).

    Example:

    >>> encoder = keras.Sequential([keras.Input((8,)), keras.layers.Dense(2)])
    >>> loss = embeddings_tf.losses.HistogramLoss()
    >>> encoder.compile(optimizer="adam", loss=loss)
    """

    # How embeddings are compared after training, see `EmbeddingLoss`.
    distance = "cosine"

    def __init__(
        self,
        num_nodes: int = 201,
        *,
        reduction="sum_over_batch_size",
        name="histogram_loss",
        dtype="float32",
    ):
        super().__init__(name=name, reduction=reduction, dtype=dtype)
        self.num_nodes = _checked(num_nodes)

    def call(self, y_true, y_pred):
        return histogram_loss(y_true, y_pred, self.num_nodes)

    def batch_diagnostics(self, labels, embeddings) -> dict:
        """Returns the share of pairs whose similarity has a gradient."""
        labels, embeddings = self._checked(labels, embeddings)
        similarity = distances.cosine_similarity_within(embeddings)
        positive, negative = pairs.positive_and_negative(labels)
        with tf.GradientTape() as tape:
            tape.watch(similarity)
            value = _overlap(similarity, positive, negative, self.num_nodes)
        active = tf.cast(tape.gradient(value, similarity) != 0, tf.float64)
        return {"active_pairs": pairs.mean_over(positive | negative, active)}

    def get_config(self):
        return {
            **super().get_config(),
            "num_nodes": self.num_nodes,
        }
