import numpy as np
import pytest
import tensorflow as tf

from embeddings_tf.sampling import factor_batches
from tests.sampling.labels import take
from tests.sampling.labels import two_factors


def test_factors_take_turns():
    factors = two_factors()
    dataset = factor_batches(factors, 3, 4, seed=0)
    for step, (indices, factor) in enumerate(take(dataset, 20)):
        assert factor == step % 2
        assert factor.dtype == np.int32
        num_values = (2, 3)[factor]
        assert len(set(indices)) == len(indices) == 4 * num_values
        by_value = factors[indices, factor].reshape(num_values, 4)
        assert (by_value == by_value[:, :1]).all()
        assert len(set(by_value[:, 0])) == num_values


def test_every_value_appears_in_every_epoch():
    factors = two_factors()
    batches = take(factor_batches(factors, 3, 4, seed=0), 16)
    values = [factors[indices, f] for indices, f in batches if f == 1]
    for epoch in range(4):
        both = np.concatenate(values[2 * epoch : 2 * epoch + 2])
        assert set(both) == set(range(5))


def test_static_shape_where_lengths_agree():
    scalar = tf.TensorSpec((), tf.int32)
    for num_values, length in ((2, 8), (3, None)):
        dataset = factor_batches(two_factors(), num_values, 4, seed=0)
        assert dataset.element_spec == (
            tf.TensorSpec((length,), tf.int32),
            scalar,
        )


def test_published_epoch_uses_each_instance_once_per_factor():
    factors = two_factors(120)
    # Factor 0: 60 of each of 2 values, 4 at a time: 15 passes of one batch.
    # Factor 1: 24 of each of 5 values: 6 passes of groups of 3 and 2.
    batches = take(
        factor_batches(factors, 3, 4, seed=0, allow_fewer=True), 2 * 27
    )
    for epoch in (batches[:27], batches[27:]):
        turns = [factor for _, factor in epoch]
        assert turns == [0, 1] * 12 + [0] * 3
        for factor in (0, 1):
            used = [i for i, f in epoch if f == factor]
            np.testing.assert_array_equal(
                np.sort(np.concatenate(used)), np.arange(120)
            )


def test_published_epoch_with_unequal_values():
    factors = np.stack([np.repeat([0, 1, 2], [7, 2, 1])] * 2, axis=1)
    dataset = factor_batches(factors, 12, 3, seed=0, allow_fewer=True)
    for indices, factor in take(dataset, 6):
        counts = np.bincount(factors[indices, factor])
        np.testing.assert_array_equal(counts, [3, 2])


def test_errors():
    with pytest.raises(ValueError, match=r"shape \(120,\)"):
        factor_batches(two_factors()[:, 0], 2, 2, seed=0)
    with pytest.raises(ValueError, match="dtype float64"):
        factor_batches(two_factors() / 2, 2, 2, seed=0)
    with pytest.raises(ValueError, match=r"shape \(0, 2\)"):
        factor_batches(np.zeros((0, 2), int), 2, 2, seed=0)
    with pytest.raises(ValueError, match=r"\[:, 1\]` must .* received 3 alone"):
        factor_batches([[0, 3], [1, 3]], 2, 1, seed=0)
    with pytest.raises(ValueError, match=r"\[:, 1\]: .* class 4 has 1\."):
        factor_batches([[0, 3], [0, 3], [1, 3], [1, 4]], 2, 2, seed=0)
    with pytest.raises(
        ValueError, match=r"\[:, 1\]` must have .* received 1\."
    ):
        factor_batches(
            [[0, 3], [0, 3], [1, 3], [1, 4]], 2, 2, 0, allow_fewer=True
        )
