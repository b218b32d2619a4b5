"""The mean hinge of all triplets of a batch, without listing them."""

import tensorflow as tf

from embeddings_tf.ops.pairs import positive_and_negative
from embeddings_tf.ops.positives import Positives
from embeddings_tf.ops.sum_over_pairs import sum_over_pairs

# With more positives per row, sorting is faster than comparing all triplets.
FEW = 24
# XLA sorts the bounds of rows with at most this many positives only in part.
FEW_OF_XLA = 32


def mean_over_triplets(
    labels: tf.Tensor,
    embeddings: tf.Tensor,
    margin: float,
    distance: str,
) -> tuple[tf.Tensor, tf.Tensor]:
    """Mean over all triplets of `max(0, d(a, p) + margin - d(a, n))`.

    A triplet is active if its negative is closer than its positive plus the
    margin. Each distance enters the sum of hinges as often as it has active
    triplets, with a plus for positives and a minus for negatives.

    Args:
        labels: Integers `(batch,)`.
        embeddings: `(batch, dim)`, float32 or float64.
        margin, distance: As in `TripletLoss`.

    Returns:
        Two scalars: the mean hinge, and the share of active triplets, without
        gradient. Both are 0 without triplets.
    """
    dtype = embeddings.dtype
    if embeddings.shape[0] == 0:  # XLA cannot add up no columns
        return tf.reduce_sum(embeddings), tf.zeros([], dtype)
    positives = Positives(labels)
    num_negatives = tf.size(labels) - 1 - positives.count
    triplets = tf.tensordot(
        tf.cast(positives.count, dtype), tf.cast(num_negatives, dtype), 1
    )
    # Divided first; otherwise the sum exceeds float32 at distances of 1e36.
    share = tf.math.reciprocal_no_nan(triplets)

    def signed_counts(d, rows):
        if not positives.is_listed:
            return _by_sorting_in_xla(d, positives, rows, margin)
        num_rows = embeddings.shape[0]
        if num_rows is not None and num_rows <= FEW + 1:
            return _by_comparing(d, positives, rows, margin)
        return tf.cond(
            positives.most <= FEW,
            lambda: _by_comparing(d, positives, rows, margin),
            lambda: _by_sorting(d, positives, rows, margin, positives.most),
        )

    def terms(d, rows, _):
        counts = signed_counts(d, rows)
        slope = share * counts
        active = share * tf.reduce_sum(tf.nn.relu(counts))
        # The counts of a row add up to 0. Large distances would only cancel.
        from_hardest = d - _hardest_positive(d, positives, rows)
        value = tf.reduce_sum(slope * from_hardest) + active * margin
        return tf.stack([value, active]), slope

    value, active = tf.unstack(
        sum_over_pairs(
            embeddings,
            distance,
            terms,
            num_sums=2,
            copies=tf.maximum(1, tf.minimum(positives.most, FEW) // 4),
            most_copies=FEW // 4,
        )
    )
    return value, tf.stop_gradient(active)


def _hardest_positive(d, positives, rows):
    """Largest distance to a positive `(rows, 1)`, 0 if there is none."""
    of_positives = positives.take(d, rows)
    of_positives = tf.where(positives.exists(rows), of_positives, 0)
    return tf.nn.relu(tf.reduce_max(of_positives, axis=1, keepdims=True))


def _by_comparing(d, positives, rows, margin):
    """Numbers of active triplets `(rows, batch)`, negative for negatives.

    Compares each negative with each positive of some rows.
    """
    bounds = positives.take(d, rows) + margin
    bounds = tf.where(positives.exists(rows), bounds, d.dtype.min)
    of_negatives = tf.where(positives.same_class(rows), d.dtype.max, d)
    is_active = tf.cast(of_negatives[:, None] < bounds[:, :, None], d.dtype)
    counts = -tf.reduce_sum(is_active, axis=1)
    return positives.add(counts, rows, tf.reduce_sum(is_active, axis=2))


def _by_sorting_in_xla(d, positives, rows, margin):
    """The same as `_by_sorting`, with sizes that XLA knows.

    XLA searches and counts in memory for rows, columns and bounds, so rows with
    many bounds are merged with their columns instead.
    """
    num_rows = d.shape[1]
    if num_rows is not None and num_rows <= FEW_OF_XLA:
        return _by_sorting(d, positives, rows, margin, num_rows)
    few = tf.minimum(FEW_OF_XLA, tf.shape(d)[1])
    return tf.cond(
        positives.most <= few,
        lambda: _by_sorting(d, positives, rows, margin, few),
        lambda: _by_merging(d, positives, rows, margin),
    )


def _by_merging(d, positives, rows, margin):
    """The same as `_by_sorting`, by one sort of bounds and distances.

    The number of active triplets of a negative is the number of bounds after
    it, and of a positive the number of negatives before its bound.
    """
    positive, negative = positive_and_negative(positives.labels, rows)
    batch = tf.shape(d)[1]
    # A bound comes before an equal distance, which is not active.
    order = tf.argsort(tf.concat([d + margin, d], axis=1), stable=True)
    place = tf.argsort(order)
    none = tf.zeros_like(positive)

    def up_to(counted):
        """Number of counted entries up to each entry, in the order above."""
        counted = tf.cast(tf.concat(counted, axis=1), tf.int32)
        counted = tf.gather(counted, order, batch_dims=1)
        return tf.gather(tf.cumsum(counted, axis=1), place, batch_dims=1)

    bounds_before = up_to([positive, none])[:, batch:]
    negatives_before = up_to([none, negative])[:, :batch]
    of_negatives = bounds_before - tf.gather(positives.count, rows)[:, None]
    return _joined(positive, negatives_before, negative, of_negatives, d.dtype)


def _by_sorting(d, positives, rows, margin, num_bounds):
    """The same as `_by_comparing`, for up to `num_bounds` positives.

    Sorts the positives of each row, and searches the negatives in them.
    """
    positive, negative = positive_and_negative(positives.labels, rows)
    bounds = d + margin
    ascending = tf.where(positive, -bounds, d.dtype.min)
    ascending = -tf.math.top_k(ascending, num_bounds).values
    # Number of bounds below a negative; rank of a positive's bound plus one.
    outside = tf.searchsorted(
        ascending, tf.where(positive, bounds, d), side="right"
    )
    of_negatives = outside - tf.gather(positives.count, rows)[:, None]
    # Counts the negatives below each bound.
    inside = tf.raw_ops.DenseBincount(
        input=tf.where(negative, outside, num_bounds),
        size=num_bounds + 1,
        weights=tf.zeros([0], tf.int32),
        binary_output=False,
    )
    inside = tf.cumsum(inside, axis=1)
    place = tf.where(positive, outside - 1, num_bounds)
    # A flat gather is twice as fast.
    place += (num_bounds + 1) * tf.range(tf.size(rows))[:, None]
    of_positives = tf.gather(tf.reshape(inside, [-1]), place)
    return _joined(positive, of_positives, negative, of_negatives, d.dtype)


def _joined(positive, of_positives, negative, of_negatives, dtype):
    """Numbers where a pair is positive or negative, 0 on the diagonal."""
    counts = tf.where(negative, of_negatives, 0)
    return tf.cast(tf.where(positive, of_positives, counts), dtype)
