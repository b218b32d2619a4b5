"""The lifted structured similarity loss."""

import keras
import tensorflow as tf

from embeddings_tf.losses.embedding_loss import EmbeddingLoss
from embeddings_tf.ops import distances
from embeddings_tf.ops import pairs
from embeddings_tf.ops.arguments import LARGEST_NUMBER
from embeddings_tf.ops.arguments import number_at_least
from embeddings_tf.ops.arguments import one_of
from embeddings_tf.ops.positives import Positives
from embeddings_tf.ops.sum_over_pairs import sum_over_pairs

FORMS = ("published", "authors")
DISTANCES = {"published": "l2", "authors": "squared_l2"}


def lifted_structure_loss(
    y_true, y_pred, margin: float = 1.0, *, form: str = "published"
) -> tf.Tensor:
    """Hinge of each positive pair against all negatives of its two rows.

    The function behind `LiftedStructureLoss`, which documents it.
    `compile` takes the class.

    Args:
        y_true: Class ids `(batch,)` or `(batch, 1)`.
        y_pred: Embeddings `(batch, dim)`.
        margin: As in `LiftedStructureLoss`.
        form: "published" or "authors".

    Returns:
        `(batch,)`, the value of the global batch in every entry.

    Example:

    >>> z = np.array([[0.0], [2.0], [2.0]], "float32")
    >>> value = embeddings_tf.losses.lifted_structure_loss([0, 0, 1], z)
    >>> np.round(value, 4)
    array([4.8888, 4.8888, 4.8888], dtype=float32)
    """
    margin, _ = _checked(margin, form)

    def value(labels, embeddings):
        positives = Positives(labels)
        count, num_negatives = pairs.num_pairs(labels, embeddings.dtype)
        share = tf.math.reciprocal_no_nan(count * tf.sign(num_negatives))
        share /= 4 if form == "authors" else 2

        def negatives_of_row(d, rows):
            return _negatives_of_row(d, positives, rows)

        def terms(d, rows, _, negatives):
            hinge, share_of_row = _hinges(d, positives, rows, negatives, margin)
            # Derivatives in the hinges, then in the negatives of this row.
            if form == "authors":
                costs = share * hinge
                slope = share * tf.cast(hinge > 0, d.dtype)
            else:
                costs = share * tf.square(hinge)
                slope = 2 * share * hinge
            nearest, log_total = tf.split(tf.gather(negatives, rows), 2, 1)
            weight = -2 * tf.reduce_sum(slope * share_of_row, 1, keepdims=True)
            of_negatives = tf.exp(nearest - d) * weight * tf.exp(-log_total)
            of_negatives = tf.where(
                positives.same_class(rows), tf.zeros([], d.dtype), of_negatives
            )
            slope = positives.add(of_negatives, rows, slope)
            return tf.reduce_sum(costs)[None], slope

        return sum_over_pairs(
            embeddings,
            DISTANCES[form],
            terms,
            of_row=negatives_of_row,
        )[0]

    return pairs.set_wise(value, y_true, y_pred)


def _negatives_of_row(d, positives, rows):
    """Sums `exp(-d)` over the negatives of each row, in logarithms.

    Returns:
        `(rows, 2)`: the smallest distance, and the logarithm of the sum of
        `exp(smallest - d)`. Without negatives, both have no meaning.
    """
    of_negatives = tf.where(positives.same_class(rows), d.dtype.max, d)
    nearest = tf.reduce_min(of_negatives, axis=1)
    terms = tf.exp(nearest[:, None] - of_negatives)
    log_total = tf.math.log(tf.reduce_sum(terms, axis=1))
    return tf.stack([nearest, log_total], axis=1)


def _hinges(d, positives, rows, negatives, margin):
    """Hinges of positive pairs, and the share of the first row's negatives.

    Returns:
        Two tensors `(rows, n)`, with hinges of 0 where a positive is missing.
    """
    values = margin - negatives[:, 0] + negatives[:, 1]
    row = tf.gather(values, rows)[:, None]
    column = positives.of_columns(values, rows)
    # The pairs that contain i or j, then the pair itself.
    both = tf.maximum(row, column)
    both += tf.math.softplus(-tf.abs(row - column))
    hinge = tf.nn.relu(both + positives.take(d, rows))
    hinge = tf.where(positives.exists(rows), hinge, tf.zeros([], d.dtype))
    return hinge, tf.sigmoid(row - column)


def _checked(margin, form):
    return (
        number_at_least("margin", margin, 0, LARGEST_NUMBER),
        one_of("form", form, FORMS),
    )


@keras.saving.register_keras_serializable(package="embeddings_tf")
class LiftedStructureLoss(EmbeddingLoss):
    """Compares each positive pair with all negatives of both its rows.

    Use it as a triplet loss that uses all negatives at once. Negatives close
    to a row of the positive pair have the largest weight. Batches contain
    several instances of several classes (`sampling.class_balanced_batches`).

    Formula, for each of the `P` positive pairs `(i, j)` (two rows of one class,
    each pair once) and the rows `k`, `l` of other classes:

    ```
    J_ij = ln(sum over k of exp(margin - d(i, k))
              + sum over l of exp(margin - d(j, l))) + d(i, j)
    published:  v = 1 / (2 P) * sum over pairs of max(0, J_ij)^2,  d = L2
    authors:    v = 1 / (4 P) * sum over pairs of max(0, J_ij),  d = squared L2
    ```

    "authors" is the code of the F-statistic paper. It differs from the
    original in the squares and the factor.

    Embeddings are not normalised. The value of a batch without positive pairs
    or without negative pairs is 0, with zero gradients. If all `n` points of a
    batch coincide, with `m` in each class, `J = margin + ln(2 (n - m))`. Points
    closer than 1e-7 of their norms count as coinciding and have zero gradients.
    Squared distances are clipped at 1e38; their gradients are
    not, and are finite for embeddings up to 1e30.

    Args:
        margin: Added to the negated distances of negatives, 0 to 1e18.
        form: "published" or "authors".
        reduction, name, dtype: As in `keras.losses.Loss`. The default is
            float32, because sums over a batch need its precision.

    Call arguments:
        y_true: Class ids `(batch,)` or `(batch, 1)`.
        y_pred: Embeddings `(batch, dim)`.

    Returns:
        `(batch,)` before the reduction, with the same value in every entry.
        Under `tf.distribute` it is the value of the global batch.

    Raises:
        ValueError: If `margin` is not a number in its range, or `form` is not
            one of its choices.

    Reference:
        - [Song, Xiang, Jegelka & Savarese, 2016](https://arxiv.org/abs/1511.06452).

    Example:

    >>> encoder = keras.Sequential([keras.Input((8,)), keras.layers.Dense(2)])
    >>> loss = embeddings_tf.losses.LiftedStructureLoss(margin=0.5)
    >>> encoder.compile(optimizer="adam", loss=loss)
    """

    def __init__(
        self,
        margin: float = 1.0,
        *,
        form: str = "published",
        reduction="sum_over_batch_size",
        name="lifted_structure_loss",
        dtype="float32",
    ):
        super().__init__(name=name, reduction=reduction, dtype=dtype)
        self.margin, self.form = _checked(margin, form)

    def call(self, y_true, y_pred):
        return lifted_structure_loss(
            y_true, y_pred, self.margin, form=self.form
        )

    def batch_diagnostics(self, labels, embeddings) -> dict:
        """Returns the share of positive pairs with a hinge above 0."""
        labels, embeddings = self._checked(labels, embeddings)
        positives = Positives(labels)
        d = distances.WITHIN[DISTANCES[self.form]](embeddings)
        rows = tf.range(tf.size(labels))
        negatives = _negatives_of_row(d, positives, rows)
        hinge, _ = _hinges(d, positives, rows, negatives, self.margin)
        active = tf.cast(hinge > 0, tf.float64)
        exists = positives.exists(rows)
        return {"active_positives": pairs.mean_over(exists, active)}

    def get_config(self):
        return {
            **super().get_config(),
            "margin": self.margin,
            "form": self.form,
        }
