"""Replicas share the pairs of the global batch, and find the same gradient.

The expected values come from one replica. Other tests compare that replica with
loops.
"""

import functools

import numpy as np
import pytest
import tensorflow as tf

from embeddings_tf import losses
from embeddings_tf.ops import sum_over_pairs as module
from embeddings_tf.ops.sum_over_pairs import sum_over_pairs
from embeddings_tf.testing import two_replicas

LOSSES = {
    "triplet": losses.triplet_loss,
    "triplet, active": functools.partial(
        losses.triplet_loss, distance="cosine", average_over="active"
    ),
    "lifted structure": losses.lifted_structure_loss,
    "lifted structure, authors": functools.partial(
        losses.lifted_structure_loss, form="authors"
    ),
    "contrastive": losses.contrastive_loss,
    "binomial deviance": losses.binomial_deviance_loss,
    "histogram": losses.histogram_loss,
}
NUM_ROWS = 12
# Rows of the first replica; the second replica has the remaining rows.
SPLITS = (6, 1, 11)
# Numbers of all rows, and of rows of the first replica.
FEW_ROWS = ((1, 1), (2, 1), (3, 1))


def batch(num_rows=NUM_ROWS):
    rng = np.random.default_rng(0)
    labels = np.arange(num_rows, dtype="int32") % 4
    z = rng.normal(size=(num_rows, 5)).astype("float32")
    return labels, z, rng.uniform(0.5, 2, num_rows).astype("float32")


def weighted(loss, labels, z, weights):
    """Values, and the gradient of their weighted sum."""
    with tf.GradientTape() as tape:
        tape.watch(z)
        values = loss(labels, z)
        total = tf.reduce_sum(weights * values)
    return values, tape.gradient(total, z)


def on_replicas(function, split, *arrays):
    """Calls a function with the rows of each replica; joins the results."""
    strategy = two_replicas()
    ends = {0: slice(0, split), 1: slice(split, None)}

    def of_replica(array):
        return strategy.experimental_distribute_values_from_function(
            lambda context: tf.constant(
                array[ends[context.replica_id_in_sync_group]]
            )
        )

    found = strategy.run(function, args=tuple(map(of_replica, arrays)))
    found = map(strategy.experimental_local_results, found)
    return tuple(np.concatenate(results) for results in found)


@pytest.mark.slow
@pytest.mark.parametrize(
    "block_size",
    [2 * NUM_ROWS, pytest.param(2**20, marks=pytest.mark.slow)],
)
@pytest.mark.parametrize("name", LOSSES)
def test_losses(monkeypatch, name, block_size):
    """With rows weighted differently, as by a sample weight.

    One graph serves all batches. In batches of 1 to 3 rows, which cannot teach,
    all rows have different classes; with one row, a replica has none.
    """
    monkeypatch.setattr(module, "BLOCK_SIZE", block_size)
    step = functools.partial(weighted, LOSSES[name])
    graph = tf.function(step, reduce_retracing=True, autograph=False)
    for num_rows, split in [*((NUM_ROWS, n) for n in SPLITS), *FEW_ROWS]:
        labels, z, weights = batch(num_rows)
        expected, expected_gradient = step(labels, tf.constant(z), weights)
        values, gradient = on_replicas(graph, split, labels, z, weights)
        where = f"{split} of {num_rows} rows on the first replica"
        assert np.isfinite(expected).all(), where
        np.testing.assert_allclose(values, expected, 1e-5, err_msg=where)
        np.testing.assert_allclose(
            gradient, expected_gradient, 1e-4, 1e-6, err_msg=where
        )


@pytest.mark.parametrize("is_symmetric", [False, True])
def test_each_replica_computes_its_block_of_rows(is_symmetric):
    """Half of the rows, beside all columns."""
    seen = []

    def terms(d, rows, columns):
        seen.append((rows.numpy().tolist(), tuple(d.shape)))
        return tf.reduce_sum(d * d)[None], 2 * d

    _, z, _ = batch()

    def step(z):
        (gathered,) = module.gather_global_batch(z)
        return (
            sum_over_pairs(gathered, "l2", terms, is_symmetric=is_symmetric),
        )

    (sums,) = on_replicas(step, 2, z)
    assert sorted(seen) == [
        ([0, 1, 2, 3, 4, 5], (6, 12)),
        ([6, 7, 8, 9, 10, 11], (6, 12)),
    ]
    square = np.sum((z[:, None] - z) ** 2, dtype=np.float64)
    np.testing.assert_allclose(sums, [square, square], rtol=1e-5)


@pytest.mark.slow
def test_second_derivatives():
    """The gradient of a norm of the gradient, as in a gradient penalty."""
    labels, z, _ = batch()

    def penalty(labels, z):
        with tf.GradientTape() as outer:
            outer.watch(z)
            with tf.GradientTape() as inner:
                inner.watch(z)
                value = tf.reduce_sum(losses.contrastive_loss(labels, z) ** 2)
            gradient = inner.gradient(value, z)
            total = tf.reduce_sum(gradient**2)
        return (outer.gradient(total, z),)

    (expected,) = penalty(labels, tf.constant(z))
    (found,) = on_replicas(tf.function(penalty, autograph=False), 6, labels, z)
    np.testing.assert_allclose(found, expected, 1e-3, 1e-6)
