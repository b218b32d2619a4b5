"""The binomial deviance of the similarities of pairs."""

import math

import keras
import tensorflow as tf

from embeddings_tf.losses.embedding_loss import EmbeddingLoss
from embeddings_tf.ops import distances
from embeddings_tf.ops import pairs
from embeddings_tf.ops.active_share import active_pairs
from embeddings_tf.ops.arguments import LARGEST_NUMBER
from embeddings_tf.ops.arguments import number_at_least
from embeddings_tf.ops.arguments import one_of
from embeddings_tf.ops.sum_over_pairs import sum_over_pairs

FORMS = ("published", "authors")
# The authors' code adds this inside the logarithm of negative pairs.
AUTHORS_OFFSET = 1e-5


def binomial_deviance_loss(
    y_true,
    y_pred,
    scale: float = 2.0,
    threshold: float = 0.5,
    negative_cost: float = 10.0,
    *,
    form: str = "published",
) -> tf.Tensor:
    """Logistic loss that separates positive and negative pairs by cosine.

    The function behind `BinomialDevianceLoss`, which documents it.
    `compile` takes the class.

    Args:
        y_true: Class ids `(batch,)` or `(batch, 1)`.
        y_pred: Embeddings `(batch, dim)`.
        scale, threshold, negative_cost, form: As in `BinomialDevianceLoss`.

    Returns:
        `(batch,)`, the value of the global batch in every entry.

    Example:

    >>> z = np.array([[1, 0], [3, 0], [0, 1], [0, 2]], "float32")
    >>> value = embeddings_tf.losses.binomial_deviance_loss([0, 0, 1, 1], z)
    >>> np.round(value, 4)
    array([0.3133, 0.3133, 0.3133, 0.3133], dtype=float32)
    """
    scale, threshold, negative_cost, _ = _checked(
        scale, threshold, negative_cost, form
    )

    offset = math.log1p(AUTHORS_OFFSET) if form == "authors" else 0.0

    def value(labels, embeddings):
        positive_weight, negative_weight = map(
            tf.math.reciprocal_no_nan,
            pairs.num_pairs(labels, embeddings.dtype),
        )

        def terms(d, rows, columns):
            same = pairs.same_class(labels, rows, columns)
            itself = rows[:, None] == columns
            weight = tf.where(same, positive_weight, negative_weight)
            weight = tf.where(itself, tf.zeros_like(d), weight)
            # The cosine is 1 - d.
            excess = scale * (1 - threshold - d)
            logit = tf.where(same, -excess, negative_cost * excess - offset)
            # Softplus and its derivative from one exponential; with XLA, two
            # exponentials take almost twice the time.
            small = tf.exp(-tf.abs(logit))
            cost = tf.nn.relu(logit) + tf.math.log1p(small)
            cost = tf.where(same, cost, cost + offset)
            slope = tf.where(logit < 0, small, tf.ones_like(small))
            slope *= scale / (1 + small)
            slope = tf.where(same, slope, -negative_cost * slope)
            return tf.reduce_sum(weight * cost)[None], weight * slope

        return sum_over_pairs(embeddings, "cosine", terms, is_symmetric=True)[0]

    return pairs.set_wise(value, y_true, y_pred)


def _checked(scale, threshold, negative_cost, form):
    return (
        number_at_least("scale", scale, 0, LARGEST_NUMBER),
        number_at_least("threshold", threshold, -1, 1),
        number_at_least("negative_cost", negative_cost, 0, LARGEST_NUMBER),
        one_of("form", form, FORMS),
    )


@keras.saving.register_keras_serializable(package="embeddings_tf")
class BinomialDevianceLoss(EmbeddingLoss):
    """Binomial deviance: logistic regression of "same class" on the cosine.

    Use it to accept or reject pairs by one threshold on the cosine. All pairs
    of the batch count. Batches contain several instances of several classes
    (`sampling.class_balanced_batches`). The loss L2-normalises embeddings, so
    compare them by their cosine.

    Formula, with `s` the cosine of a pair:

    ```
    v = mean over positive pairs of ln(1 + exp(-scale * (s - threshold)))
      + mean over negative pairs of
            ln(1 + exp(scale * negative_cost * (s - threshold)))
    ```

    Positive pairs have the same class, negative pairs different classes. In
    the "authors" form, from the code of the F-statistic paper, the second 1
    is 1 + 1e-5.

    A mean over no pairs is 0: a batch of one class has the value of its
    positive pairs, a batch of singletons the value of its negative pairs. If
    all points coincide, all cosines are 1. A row of zeros (no entry beyond
    1e-30) has cosine 0 with every row.

    Args:
        scale: Steepness, the papers' alpha; 0 to 1e18.
        threshold: The cosine that separates the pairs, the papers' beta; -1 to
            1.
        negative_cost: Factor of steepness for negative pairs, the papers' C;
            0 to 1e18. 10 for person re-identification, 25 for birds.
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
        ValueError: If a number is not in its range, or `form` is not one of
            its choices.

    Reference:
        - [Yi, Lei & Li, 2014](https://arxiv.org/abs/1407.4979).
        - [Ustinova & Lempitsky, 2016](https://arxiv.org/abs/1611.00822), the
          defaults.

    Example:

    >>> encoder = keras.Sequential([keras.Input((8,)), keras.layers.Dense(2)])
    >>> loss = embeddings_tf.losses.BinomialDevianceLoss(negative_cost=25)
    >>> encoder.compile(optimizer="adam", loss=loss)
    """

    # How embeddings are compared after training, see `EmbeddingLoss`.
    distance = "cosine"

    def __init__(
        self,
        scale: float = 2.0,
        threshold: float = 0.5,
        negative_cost: float = 10.0,
        *,
        form: str = "published",
        reduction="sum_over_batch_size",
        name="binomial_deviance_loss",
        dtype="float32",
    ):
        super().__init__(name=name, reduction=reduction, dtype=dtype)
        self.scale, self.threshold, self.negative_cost, self.form = _checked(
            scale, threshold, negative_cost, form
        )

    def call(self, y_true, y_pred):
        return binomial_deviance_loss(
            y_true,
            y_pred,
            self.scale,
            self.threshold,
            self.negative_cost,
            form=self.form,
        )

    def batch_diagnostics(self, labels, embeddings) -> dict:
        """Returns the share of pairs with a derivative that is not small.

        Returns:
            `active_pairs`: the share of pairs whose cost has at least a
            hundredth of its largest derivative in the cosine.
        """
        labels, embeddings = self._checked(labels, embeddings)
        similarity = distances.cosine_similarity_within(embeddings)
        positive, _ = pairs.positive_and_negative(labels)
        excess = self.scale * (similarity - self.threshold)
        logits = tf.where(positive, excess, self.negative_cost * excess)
        return {"active_pairs": active_pairs(labels, logits)}

    def get_config(self):
        return {
            **super().get_config(),
            "scale": self.scale,
            "threshold": self.threshold,
            "negative_cost": self.negative_cost,
            "form": self.form,
        }
