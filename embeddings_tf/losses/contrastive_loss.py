"""The contrastive loss."""

import keras
import tensorflow as tf

from embeddings_tf.losses.embedding_loss import EmbeddingLoss
from embeddings_tf.ops import distances
from embeddings_tf.ops import pairs
from embeddings_tf.ops.arguments import LARGEST_NUMBER
from embeddings_tf.ops.arguments import number_at_least
from embeddings_tf.ops.arguments import one_of
from embeddings_tf.ops.sum_over_pairs import sum_over_pairs

AVERAGE_OVER = ("all", "each_kind")


def contrastive_loss(
    y_true, y_pred, margin: float = 1.0, *, average_over: str = "all"
) -> tf.Tensor:
    """Squared distance of positive pairs, squared hinge of negative pairs.

    The function behind `ContrastiveLoss`, which documents it.
    `compile` takes the class.

    Args:
        y_true: Class ids `(batch,)` or `(batch, 1)`.
        y_pred: Embeddings `(batch, dim)`.
        margin: As in `ContrastiveLoss`.
        average_over: "all" or "each_kind".

    Returns:
        `(batch,)`, the value of the global batch in every entry.

    Example:

    >>> z = np.array([[0.0], [2.0], [1.0]], "float32")
    >>> embeddings_tf.losses.contrastive_loss([0, 0, 1], z, margin=3.0).numpy()
    array([2., 2., 2.], dtype=float32)
    """
    margin, _ = _checked(margin, average_over)

    def value(labels, embeddings):
        counts = pairs.num_pairs(labels, embeddings.dtype)
        if average_over == "all":
            counts = 2 * [tf.add_n(counts)]
        # Divided before summing; otherwise the sum may exceed float32.
        positive_weight, negative_weight = (
            tf.math.reciprocal_no_nan(count) / 2 for count in counts
        )

        def terms(square, rows, columns):
            same = pairs.same_class(labels, rows, columns)
            root = tf.sqrt(square)
            missing = tf.nn.relu(margin - root)
            costs = tf.where(
                same,
                positive_weight * square,
                negative_weight * tf.square(missing),
            )
            slope = tf.math.divide_no_nan(-negative_weight * missing, root)
            slope = tf.where(same, positive_weight, slope)
            return tf.reduce_sum(costs)[None], slope

        return sum_over_pairs(
            embeddings, "squared_l2", terms, is_symmetric=True
        )[0]

    return pairs.set_wise(value, y_true, y_pred)


def _checked(margin, average_over):
    return (
        number_at_least("margin", margin, 0, LARGEST_NUMBER),
        one_of("average_over", average_over, AVERAGE_OVER),
    )


@keras.saving.register_keras_serializable(package="embeddings_tf")
class ContrastiveLoss(EmbeddingLoss):
    """Pulls positive pairs together and pushes negative pairs a margin apart.

    Use it when absolute distances matter, for instance for a fixed radius
    around a query. It pulls positives to distance 0 and ignores negatives
    farther apart than the margin. All pairs of the batch count. Batches
    contain several instances of several classes
    (`sampling.class_balanced_batches`).

    Formula, with `d` the L2 distance. Positive pairs have the same class,
    negative pairs different classes:

    ```
    positive pair:  d^2 / 2
    negative pair:  max(0, margin - d)^2 / 2
    v = mean over all pairs                                       ("all")
    v = mean over positive pairs + mean over negative pairs (each_kind)
    ```

    The paper sums over pairs; the mean does not grow with the batch. With many
    classes most pairs are negative; "each_kind" gives positives and negatives
    equal weight.

    Embeddings are not normalised. A mean over no pairs is 0: a batch of one
    class has the value of its positive pairs, a batch of singletons the value
    of its negative pairs. Two points that coincide, or are closer than 1e-7 of
    their norms, have zero gradients, also in a negative pair, which costs
    `margin^2 / 2`. Squared distances are clipped at 1e38; their gradients are
    not, and are finite for embeddings up to 1e30.

    Args:
        margin: Distance beyond which negatives are ignored, 0 to 1e18.
        average_over: "all" or "each_kind".
        reduction, name, dtype: As in `keras.losses.Loss`. The default is
            float32, because sums over a batch need its precision.

    Call arguments:
        y_true: Class ids `(batch,)` or `(batch, 1)`.
        y_pred: Embeddings `(batch, dim)`.

    Returns:
        `(batch,)` before the reduction, with the same value in every entry.
        Under `tf.distribute` it is the value of the global batch.

    Raises:
        ValueError: If `margin` is not a number in its range, or `average_over`
            is not one of its choices.

    Reference:
        - [Hadsell, Chopra & LeCun, 2006](https://doi.org/10.1109/CVPR.2006.100).

    Example:

    >>> encoder = keras.Sequential([keras.Input((8,)), keras.layers.Dense(2)])
    >>> loss = embeddings_tf.losses.ContrastiveLoss(margin=2.0)
    >>> encoder.compile(optimizer="adam", loss=loss)
    """

    def __init__(
        self,
        margin: float = 1.0,
        *,
        average_over: str = "all",
        reduction="sum_over_batch_size",
        name="contrastive_loss",
        dtype="float32",
    ):
        super().__init__(name=name, reduction=reduction, dtype=dtype)
        self.margin, self.average_over = _checked(margin, average_over)

    def call(self, y_true, y_pred):
        return contrastive_loss(
            y_true, y_pred, self.margin, average_over=self.average_over
        )

    def batch_diagnostics(self, labels, embeddings) -> dict:
        """Returns the share of negative pairs within the margin."""
        labels, embeddings = self._checked(labels, embeddings)
        square = distances.squared_l2_within(embeddings)
        _, negative = pairs.positive_and_negative(labels)
        is_active = distances.square_root(square) < self.margin
        active = tf.cast(is_active, tf.float32)
        return {"active_negatives": pairs.mean_over(negative, active)}

    def get_config(self):
        return {
            **super().get_config(),
            "margin": self.margin,
            "average_over": self.average_over,
        }
