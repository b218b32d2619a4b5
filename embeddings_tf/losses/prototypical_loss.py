"""The loss of prototypical networks."""

import keras
import numpy as np
import tensorflow as tf

from embeddings_tf import compat
from embeddings_tf.losses.embedding_loss import EmbeddingLoss
from embeddings_tf.ops import distances
from embeddings_tf.ops import gaussian
from embeddings_tf.ops import prototypes
from embeddings_tf.ops.active_share import active_queries
from embeddings_tf.ops.arguments import positive_integer
from embeddings_tf.ops.batch_needs import BatchNeeds
from embeddings_tf.ops.batch_needs import episode_needs
from embeddings_tf.ops.episode import split_episode
from embeddings_tf.ops.global_batch import gather_global_batch
from embeddings_tf.ops.labelled_batch import labelled_batch
from embeddings_tf.ops.numerics import mean_or_zero
from embeddings_tf.ops.tensors import single_precision


def prototypical_loss(y_true, y_pred, num_support: int) -> tf.Tensor:
    """Cross-entropy of classifying queries by the nearest class mean.

    The function behind `PrototypicalLoss`, which documents it.
    `compile` takes the class.

    Args:
        y_true: Class ids `(batch,)` or `(batch, 1)`.
        y_pred: Embeddings `(batch, dim)`.
        num_support: Supports per class, at least 1.

    Returns:
        `(batch,)`, the mean over the queries of the global batch in every
        entry.

    Example:

    >>> z = np.array([[0.0], [0.0], [9.0], [9.0]], "float32")
    >>> embeddings_tf.losses.prototypical_loss([0, 0, 1, 1], z, 1).numpy()
    array([0., 0., 0., 0.], dtype=float32)
    """
    num_support = positive_integer("num_support", num_support)
    gaussian.require_points(y_pred)
    labels, local = labelled_batch(y_true, y_pred)
    local = single_precision(local)
    labels, embeddings = gather_global_batch(labels, local)
    log_prob = _log_prob(labels, embeddings, num_support)
    return tf.fill(tf.shape(local)[:1], mean_or_zero(-log_prob))


def _log_prob(labels, embeddings, num_support) -> tf.Tensor:
    """Log-probability `(queries,)` of the right class of every query."""
    episode = split_episode(labels, num_support)
    is_query = tf.logical_not(episode.is_support)
    if compat.is_traced_for_xla():
        return tf.boolean_mask(_log_prob_in_xla(episode, embeddings), is_query)
    # Rounded to float32, means far from the origin lose digits of distances.
    supports = tf.boolean_mask(embeddings, episode.is_support)
    centres = prototypes.class_means(
        tf.cast(supports, tf.float64),
        tf.boolean_mask(episode.class_ids, episode.is_support),
        episode.num_classes,
    )
    # Memory for queries and classes, not also for dimensions.
    square = distances.squared_l2_between(
        tf.boolean_mask(embeddings, is_query), centres
    )
    log_prob = tf.nn.log_softmax(-square)
    targets = tf.boolean_mask(episode.class_ids, is_query)
    return tf.gather(log_prob, targets, batch_dims=1)


def _log_prob_in_xla(episode, embeddings) -> tf.Tensor:
    """The same `(batch,)` for all rows, with sizes that XLA knows.

    Products of an unknown size take seconds there. There are as many classes as
    rows, most of them empty.
    """
    most = tf.size(episode.class_ids)
    exact = tf.cast(embeddings, tf.float64)
    weight = tf.cast(episode.is_support, tf.float64)
    counts = tf.math.unsorted_segment_sum(weight, episode.class_ids, most)
    supports = tf.where(episode.is_support[:, None], exact, 0)
    totals = tf.math.unsorted_segment_sum(supports, episode.class_ids, most)
    centres = tf.math.divide_no_nan(totals, counts[:, None])
    # Zeros would be far from the other centres.
    middle = distances.middle_row(exact)
    centres = tf.where(counts[:, None] > 0, centres, middle)
    scores = -distances.squared_l2_between(embeddings, centres)
    is_class = tf.range(most) < episode.num_classes
    log_prob = tf.nn.log_softmax(tf.where(is_class, scores, -np.inf))
    return tf.gather(log_prob, episode.class_ids, batch_dims=1)


@keras.saving.register_keras_serializable(package="embeddings_tf")
class PrototypicalLoss(EmbeddingLoss):
    """Prototypical networks: pulls queries towards the mean of their class.

    Use it for few-shot classification with point embeddings, on batches from
    `embeddings_tf.sampling.episodes`. It is the baseline of
    `StochasticPrototypes`, which adds uncertainty. With encoder variances of 0,
    `StochasticPrototypes` equals `PrototypicalLoss` with squared distances
    divided by `2 s^2 (1 + 1 / num_support)`, where `s^2` is its noise variance.

    Formula, with supports `S_y` and queries `Q`:

    ```
    rho_y = mean of z_i over S_y
    p(y | q) = softmax over y of -||z_q - rho_y||^2
    v = -mean over q in Q of ln p(y_q | q)
    ```

    The first `num_support` rows of each label in batch order are supports, and
    the rest are queries. A class without queries still competes. A batch
    without queries (singletons, or too few rows) has loss 0 and zero gradients,
    and so has a batch of one class. Under `tf.distribute` the episode is the
    global batch. Squared distances are clipped at 3e32; their gradients are
    not, and are finite for embeddings up to 1e30.

    Args:
        num_support: Supports per class, at least 1.
        reduction, name, dtype: As in `keras.losses.Loss`. The default is
            float32, because sums over a batch need its precision.

    Call arguments:
        y_true: Class ids `(batch,)` or `(batch, 1)`.
        y_pred: Embeddings `(batch, dim)`.

    Returns:
        `(batch,)` before the reduction, the same value in every entry.

    Raises:
        ValueError: If `num_support` is not a positive integer.

    Reference:
        - [Snell, Swersky & Zemel, 2017](https://arxiv.org/abs/1703.05175),
          Eqs. 1 and 2; the baseline of
          [Scott et al., 2019](https://arxiv.org/abs/1909.11702).

    Example:

    >>> encoder = keras.Sequential([keras.Input((8,)), keras.layers.Dense(2)])
    >>> loss = embeddings_tf.losses.PrototypicalLoss(num_support=5)
    >>> encoder.compile(optimizer="adam", loss=loss)
    """

    def __init__(
        self,
        num_support: int,
        *,
        reduction="sum_over_batch_size",
        name="prototypical_loss",
        dtype="float32",
    ):
        super().__init__(name=name, reduction=reduction, dtype=dtype)
        self.num_support = positive_integer("num_support", num_support)

    @property
    def batch_needs(self) -> BatchNeeds:
        return episode_needs(self.num_support)

    def call(self, y_true, y_pred):
        return prototypical_loss(y_true, y_pred, self.num_support)

    def batch_diagnostics(self, labels, embeddings) -> dict:
        """The share of queries of the batch that are not learned yet.

        Returns:
            `active_queries`: the share of queries whose class has a
            probability below 0.99; 0 without queries.
        """
        labels, embeddings = self._checked(labels, embeddings)
        log_prob = _log_prob(labels, embeddings, self.num_support)
        return {"active_queries": active_queries(log_prob)}

    def get_config(self):
        return {
            **super().get_config(),
            "num_support": self.num_support,
        }
