"""Log-odds of pairs, by loops over samples in float64."""

import numpy as np
import pytest
import tensorflow as tf
from scipy import special

from embeddings_tf.ops import match_probability
from tests import peak_memory

SCALE, OFFSET = 1.3, 0.4


def samples(num_samples, num_rows, dim, seed):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(num_samples, num_rows, dim))


def logit_by_row(first, second):
    scale, offset = (tf.constant(x, tf.float64) for x in (SCALE, OFFSET))
    return match_probability.logit_by_row(first, second, scale, offset)


def by_loops(first, second):
    """ln(p / (1 - p)) of each row, with p the mean over pairs of samples."""
    found = []
    for row in range(first.shape[1]):
        p = [
            special.expit(OFFSET - SCALE * np.linalg.norm(a[row] - b[row]))
            for a in first
            for b in second
        ]
        found.append(special.logit(np.mean(p)))
    return np.array(found)


@pytest.mark.parametrize("num_samples", [1, 3])
@pytest.mark.parametrize("jit_compile", [None, False, True])
def test_logits_row_by_row(num_samples, jit_compile):
    """Values and gradients, eagerly, in a graph and in XLA."""
    pair = samples(num_samples, 4, 2, 0), samples(num_samples, 4, 2, 1)

    def value_and_gradient(*pair):
        with tf.GradientTape() as tape:
            tape.watch(pair)
            value = logit_by_row(*pair)
        gradients = tape.gradient(value, pair)
        return value, *map(tf.convert_to_tensor, gradients)

    if jit_compile is not None:
        value_and_gradient = tf.function(
            value_and_gradient, jit_compile=jit_compile
        )
    value, *gradients = value_and_gradient(*map(tf.constant, pair))
    np.testing.assert_allclose(value, by_loops(*pair), rtol=1e-12)
    for side, found in enumerate(gradients):
        for index in [(0, 0, 0), (num_samples - 1, 3, 1)]:
            ends = []
            for step in (1e-6, -1e-6):
                moved = [x.copy() for x in pair]
                moved[side][index] += step
                ends.append(by_loops(*moved).sum())
            slope = (ends[0] - ends[1]) / 2e-6
            assert found.numpy()[index] == pytest.approx(slope, abs=1e-8)


def test_memory_is_a_few_times_the_samples():
    """The differences of all pairs of samples take 32 times the samples."""
    pair = [tf.constant(samples(32, 100, 200, seed)) for seed in (0, 1)]
    logit_by_row(*pair)
    before = peak_memory.reset()
    logit_by_row(*pair)
    grown = peak_memory.read() - before
    # The samples of a side take 4.9 MiB, all differences 156 MiB.
    assert grown < 4 * 32 * 100 * 200 * 8 / 1024
