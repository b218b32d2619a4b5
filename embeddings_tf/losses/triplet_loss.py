"""The triplet loss, over all, hard or semi-hard triplets of a batch."""

import keras
import tensorflow as tf

from embeddings_tf.losses.embedding_loss import EmbeddingLoss
from embeddings_tf.ops import distances
from embeddings_tf.ops import pairs
from embeddings_tf.ops.all_triplets import mean_over_triplets
from embeddings_tf.ops.arguments import LARGEST_NUMBER
from embeddings_tf.ops.arguments import number_at_least
from embeddings_tf.ops.arguments import one_of
from embeddings_tf.ops.mined_triplets import MINERS
from embeddings_tf.ops.mined_triplets import mined_triplets
from embeddings_tf.ops.tensors import single_precision

MINING = ("all", *MINERS)
AVERAGE_OVER = ("all", "active")


def triplet_loss(
    y_true,
    y_pred,
    margin: float = 0.1,
    mining: str = "all",
    distance: str = "squared_l2",
    *,
    average_over: str = "all",
) -> tf.Tensor:
    """Triplet loss: mean hinge of positive minus negative distances.

    The function behind `TripletLoss`, which documents it.
    `compile` takes the class.

    Args:
        y_true: Class ids `(batch,)` or `(batch, 1)`.
        y_pred: Embeddings `(batch, dim)`.
        margin: As in `TripletLoss`.
        mining: "all", "hard" or "semi_hard".
        distance: "squared_l2", "l2" or "cosine".
        average_over: "all" or "active" triplets.

    Returns:
        `(batch,)`, the value of the global batch in every entry.

    Example:

    >>> z = np.array([[0.0], [1.0], [1.0], [3.0]], "float32")
    >>> embeddings_tf.losses.triplet_loss([0, 0, 1, 1], z, 0.5).numpy()
    array([1.3125, 1.3125, 1.3125, 1.3125], dtype=float32)
    """
    margin, *_ = _checked(margin, mining, distance, average_over)

    def value(labels, embeddings):
        arguments = (labels, embeddings, margin, distance)
        if mining == "all":
            mean, active = mean_over_triplets(*arguments)
            if average_over == "active":
                # Without active triplets the mean is 0, or NaN.
                mean /= tf.where(active > 0, active, 1)
            return mean
        hinge, is_triplet = mined_triplets(*arguments, mining)
        if average_over == "active":
            is_triplet &= hinge > 0
        return pairs.mean_over(is_triplet, hinge)

    return pairs.set_wise(value, y_true, y_pred)


def _checked(margin, mining, distance, average_over):
    return (
        number_at_least("margin", margin, 0, LARGEST_NUMBER),
        one_of("mining", mining, MINING),
        one_of("distance", distance, tuple(distances.WITHIN)),
        one_of("average_over", average_over, AVERAGE_OVER),
    )


@keras.saving.register_keras_serializable(package="embeddings_tf")
class TripletLoss(EmbeddingLoss):
    """Triplet loss: makes positives closer to an anchor than negatives.

    Use it to rank by distance. Batches contain several instances of several
    classes (`sampling.class_balanced_batches`). "all" triplets need little more
    time than all pairs, because triplets are not listed, and are computed in
    blocks of rows; memory of mined triplets, and of all with XLA, grows with
    the square of the batch.

    Formula, over anchors `a`, positives `p` (other rows of the same class) and
    negatives `n` (rows of other classes):

    ```
    v = mean over (a, p, n) of max(0, d(a, p) + margin - d(a, n))
    ```

    `mining` chooses the triplets. "all": every triplet, as in the F-statistic
    paper. "hard": for each anchor, its farthest positive and its nearest
    negative. "semi_hard": for each anchor and positive, the nearest negative
    that is farther than the positive, or else the farthest negative.

    `average_over` chooses the divisor of the sum of hinges: the number of "all"
    mined triplets, or of "active" triplets, which have a hinge above 0. Late in
    training few triplets are active; "active" then keeps the gradient large.

    Embeddings are not normalised. The value of a batch without triplets (one
    class, or no two rows of one class), or without active triplets, is 0, with
    zero gradients. If all points coincide, the value is `margin`. Points closer
    than 1e-7 of their norms count as coinciding and have zero gradients.
    Squared distances are clipped at 1e38; their gradients are
    not, and are finite for embeddings up to 1e30.

    Args:
        margin: By how much a negative must be farther than a positive, 0 to
            1e18, in units of `distance`.
        mining: "all", "hard" or "semi_hard".
        distance: "squared_l2" (as in the authors' code), "l2" (as in the text
            of the paper) or "cosine" (1 minus the cosine).
        average_over: "all" or "active".
        reduction, name, dtype: As in `keras.losses.Loss`. The default is
            float32, because sums over a batch need its precision.

    Call arguments:
        y_true: Class ids `(batch,)` or `(batch, 1)`.
        y_pred: Embeddings `(batch, dim)`.

    Returns:
        `(batch,)` before the reduction, with the same value in every entry.
        Under `tf.distribute` it is the value of the global batch.

    Raises:
        ValueError: If `margin` is not a number in its range, or another
            argument is not one of its choices.

    Reference:
        - [Schroff, Kalenichenko & Philbin, 2015](https://arxiv.org/abs/1503.03832),
          the loss and semi-hard negatives.
        - [Hermans, Beyer & Leibe, 2017](https://arxiv.org/abs/1703.07737),
          all and hard triplets of a batch.
        - [Ridgeway & Mozer, 2018](https://arxiv.org/abs/1802.05312), the
          defaults.

    Example:

    >>> encoder = keras.Sequential([keras.Input((8,)), keras.layers.Dense(2)])
    >>> loss = embeddings_tf.losses.TripletLoss(margin=0.2, mining="semi_hard")
    >>> encoder.compile(optimizer="adam", loss=loss)
    """

    def __init__(
        self,
        margin: float = 0.1,
        mining: str = "all",
        distance: str = "squared_l2",
        *,
        average_over: str = "all",
        reduction="sum_over_batch_size",
        name="triplet_loss",
        dtype="float32",
    ):
        super().__init__(name=name, reduction=reduction, dtype=dtype)
        self.margin, self.mining, self.distance, self.average_over = _checked(
            margin, mining, distance, average_over
        )

    def call(self, y_true, y_pred):
        return triplet_loss(
            y_true,
            y_pred,
            self.margin,
            self.mining,
            self.distance,
            average_over=self.average_over,
        )

    def batch_diagnostics(self, labels, embeddings) -> dict:
        """Returns the share of mined triplets with a hinge above 0."""
        labels, embeddings = self._checked(labels, embeddings)
        embeddings = single_precision(embeddings)
        arguments = (labels, embeddings, self.margin, self.distance)
        if self.mining == "all":
            _, active = mean_over_triplets(*arguments)
        else:
            hinge, is_triplet = mined_triplets(*arguments, self.mining)
            is_active = tf.cast(hinge > 0, tf.float64)
            active = pairs.mean_over(is_triplet, is_active)
        return {"active_triplets": active}

    def get_config(self):
        return {
            **super().get_config(),
            "margin": self.margin,
            "mining": self.mining,
            "distance": self.distance,
            "average_over": self.average_over,
        }
