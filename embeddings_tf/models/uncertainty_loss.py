"""The loss that trains an uncertainty head."""

import dataclasses

import tensorflow as tf

from embeddings_tf.models.method import Method
from embeddings_tf.ops.batch_needs import PAIRS
from embeddings_tf.ops.episode import split_halves
from embeddings_tf.ops.global_batch import gather_global_batch
from embeddings_tf.ops.labelled_batch import labelled_batch
from embeddings_tf.ops.numerics import mean_or_zero
from embeddings_tf.ops.sample_weights import weight_per_row

# A row needs another row of its class, and so does another class.
NEEDS = dataclasses.replace(PAIRS, rows_of_other=2)


def uncertainty_loss(
    head,
    method: Method,
    y_true,
    embeddings,
    uncertainty,
    sample_weight=None,
) -> tf.Tensor:
    """Squared error of predicted losses, the same for every row.

    Rows whose class has a single row in the batch have no loss to predict and
    are left out. Under `tf.distribute` the batch is the global batch.

    Args:
        head: The `UncertaintyHead`; it draws the samples of methods that
            sample.
        method: The method of the model.
        y_true: Class ids `(batch,)`.
        embeddings: `(batch, width)`, without gradient.
        uncertainty: Losses predicted by the head, `(batch,)`.
        sample_weight: Weights of the errors, as in Keras; None: all 1.

    Returns:
        `(batch,)`, the mean over all rows with a loss in every entry; 0 if no
        row has a loss.
    """
    labels, local = labelled_batch(y_true, embeddings)
    weights = tf.ones_like(uncertainty)
    sample_weight = weight_per_row(sample_weight, local)
    if sample_weight is not None:
        given = tf.reshape(tf.cast(sample_weight, weights.dtype), [-1])
        weights *= given
    gathered = gather_global_batch(labels, local, uncertainty, weights)
    is_used = NEEDS.teachable_rows(gathered[0])
    labels, embeddings, predicted, weights = (
        tf.boolean_mask(x, is_used) for x in gathered
    )
    seeds = head.next_seed(), head.next_seed()
    errors = tf.cond(
        tf.size(labels) > 0,
        lambda: (
            weights
            * tf.square(
                predicted
                - query_losses(
                    method, labels, embeddings, head.num_samples, seeds
                )
            )
        ),
        lambda: tf.zeros_like(predicted),
    )
    return tf.fill(tf.shape(local)[:1], mean_or_zero(errors))


def query_losses(
    method: Method, labels, embeddings, num_samples: int, seeds
) -> tf.Tensor:
    """Losses `(batch,)` of all rows as queries, `-ln p` of the right class.

    The first half of each class represents it for the second half, and the
    second for the first.

    Args:
        method: Represents classes and gives probabilities.
        labels: Integers `(batch,)`, each at least twice.
        embeddings: `(batch, width)`.
        num_samples: Samples of each query, for methods that sample.
        seeds: Two seeds `(2,)` of these samples.
    """
    halves = split_halves(labels)
    losses = tf.zeros(tf.shape(labels))
    first = halves.is_support
    sides = first, tf.logical_not(first)
    for is_support, seed in zip(sides, seeds, strict=True):
        represented = method.represent(
            tf.boolean_mask(embeddings, is_support),
            tf.boolean_mask(halves.class_ids, is_support),
            halves.num_classes,
        )
        rows = tf.where(tf.logical_not(is_support))
        log_prob = method.log_prob(
            tf.gather(embeddings, rows[:, 0]),
            represented,
            num_samples,
            seed,
        )
        right = tf.gather(halves.class_ids, rows[:, 0])
        found = -tf.gather(log_prob, right, batch_dims=1)
        losses = tf.tensor_scatter_nd_update(
            losses, rows, tf.cast(found, losses.dtype)
        )
    return tf.stop_gradient(losses)
