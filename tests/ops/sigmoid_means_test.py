"""Means of the probability of a match, by loops over samples."""

import numpy as np
import pytest
import tensorflow as tf
from scipy import special

from embeddings_tf.ops import match_probability
from embeddings_tf.ops import sigmoid_means as module

SCALE, OFFSET = 1.3, 0.4
# By whether the mean is of the probability, or of its log.
AVERAGES = {True: module.log_mean_sigmoid, False: module.mean_log_sigmoid}


def samples(num_rows, seed, num_samples=3, dim=2):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(num_samples, num_rows, dim))


def signs(labels, others):
    return np.where(np.equal.outer(labels, others), 1.0, -1.0)


def by_loops(first, second, sign, of_probability):
    """Every pair of rows and every pair of their samples, one by one."""
    found = np.empty(sign.shape)
    for i, j in np.ndindex(sign.shape):
        log_probabilities = [
            special.log_expit(
                sign[i, j] * (OFFSET - SCALE * np.linalg.norm(a[i] - b[j]))
            )
            for a in first
            for b in second
        ]
        found[i, j] = (
            special.logsumexp(log_probabilities)
            - np.log(len(log_probabilities))
            if of_probability
            else np.mean(log_probabilities)
        )
    return found


def gradients(first, second, sign, of_probability, weight):
    first = tf.constant(first)
    scale, offset = (tf.constant(x, tf.float64) for x in (SCALE, OFFSET))
    watched = [first, scale, offset]
    if second is not None:
        second = tf.constant(second)
        watched.append(second)
    with tf.GradientTape() as tape:
        tape.watch(watched)
        average = AVERAGES[of_probability]
        value = average(first, second, scale, offset, sign)
        total = tf.reduce_sum(weight * value)
    return value.numpy(), [g.numpy() for g in tape.gradient(total, watched)]


@pytest.fixture(params=[1, 20, 2**20], ids=lambda size: f"blocks_{size}")
def block_size(request, monkeypatch):
    """Blocks of one pair of samples, of a few, and of all."""
    monkeypatch.setattr(module, "BLOCK_SIZE", request.param)


@pytest.mark.parametrize("of_probability", [True, False])
def test_two_sets(of_probability, block_size):
    first, second = samples(4, 0), samples(3, 1)
    sign = signs([0, 1, 0, 2], [0, 1, 1])
    found, _ = gradients(first, second, sign, of_probability, 1.0)
    expected = by_loops(first, second, sign, of_probability)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("num_samples", [1, 2, 5])
@pytest.mark.parametrize("of_probability", [True, False])
def test_a_set_with_itself_is_two_equal_sets(
    of_probability, num_samples, block_size
):
    z = samples(4, 0, num_samples)
    sign = signs([0, 1, 0, 2], [0, 1, 0, 2])
    # Not symmetric, unlike the sign.
    weight = np.random.default_rng(1).normal(size=sign.shape)
    found, (of_z, *of_weights) = gradients(
        z, None, sign, of_probability, weight
    )
    expected = by_loops(z, z, sign, of_probability)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    _, (of_first, *expected_of_weights, of_second) = gradients(
        z, z, sign, of_probability, weight
    )
    np.testing.assert_allclose(of_z, of_first + of_second, atol=1e-6)
    np.testing.assert_allclose(of_weights, expected_of_weights, rtol=1e-6)


@pytest.mark.parametrize("of_probability", [True, False])
def test_gradients_are_slopes(of_probability):
    first, second = samples(2, 0), samples(3, 1)
    sign = signs([0, 1], [0, 1, 1])
    weight = np.random.default_rng(2).normal(size=sign.shape)
    _, (of_first, *_, of_second) = gradients(
        first, second, sign, of_probability, weight
    )
    step = 1e-6
    for which, found in ((0, of_first), (1, of_second)):
        for index in np.ndindex(found.shape):
            ends = []
            for sign_of_step in (1, -1):
                moved = [first.copy(), second.copy()]
                moved[which][index] += sign_of_step * step
                value = by_loops(*moved, sign, of_probability)
                ends.append(np.sum(weight * value))
            slope = (ends[0] - ends[1]) / (2 * step)
            assert found[index] == pytest.approx(slope, abs=1e-7)


@pytest.mark.parametrize(("n", "m"), [(0, 3), (3, 0), (0, 0)])
def test_no_rows(n, m):
    first, second = samples(n, 0), samples(m, 1)
    sign = np.ones((n, m))
    value, found = gradients(first, second, sign, True, 1.0)
    assert value.shape == (n, m)
    for gradient in found:
        np.testing.assert_array_equal(gradient, 0)
    value, _ = gradients(first, None, np.ones((n, n)), True, 1.0)
    assert value.shape == (n, n)


def test_samples_with_many_dimensions_take_several_blocks(monkeypatch):
    """A block is bounded by the samples that it reads, not only by pairs."""
    sizes = []

    def distances(left, *others):
        sizes.append(left.shape)
        return original(left, *others)

    original = module._distances
    monkeypatch.setattr(module, "_distances", distances)
    monkeypatch.setattr(module, "BLOCK_SIZE", 1000)
    z = samples(10, 0, num_samples=4, dim=30)
    gradients(z, None, np.ones((10, 10)), True, 1.0)
    # 10 rows of 30 coordinates and two more columns: 320 numbers.
    assert {size[0] for size in sizes} == {3, 1}


def test_a_graph_of_an_earlier_call_in_xla():
    first, second = tf.constant(samples(4, 0)), tf.constant(samples(3, 1))
    scale, offset = (tf.constant(x, tf.float64) for x in (SCALE, OFFSET))

    def probability(first, second):
        return match_probability.log_match(first, second, scale, offset)

    expected = probability(first, second)
    compiled = tf.function(probability, jit_compile=True)
    np.testing.assert_allclose(compiled(first, second), expected, rtol=1e-6)
