import itertools
from collections import Counter

import numpy as np
import pytest
import tensorflow as tf
from scipy import stats

from embeddings_tf.sampling import class_balanced_batches
from tests.sampling.labels import IDS
from tests.sampling.labels import shuffled_labels
from tests.sampling.labels import take


def test_batch_is_class_by_class_and_distinct():
    labels = shuffled_labels()
    dataset = class_balanced_batches(labels, 3, 5, seed=0)
    assert dataset.element_spec == tf.TensorSpec((15,), tf.int32)
    for indices in take(dataset, 50):
        assert len(set(indices)) == 15
        by_class = labels[indices].reshape(3, 5)
        assert (by_class == by_class[:, :1]).all()
        assert len(set(by_class[:, 0])) == 3


@pytest.mark.parametrize("num_classes", [1, 2, 3, 7])
def test_every_class_appears_in_every_epoch(num_classes):
    labels = shuffled_labels()
    steps = -(-7 // num_classes)
    batches = take(
        class_balanced_batches(labels, num_classes, 2, seed=3), 6 * steps
    )
    orders = []
    for epoch in range(6):
        classes = np.concatenate(
            [
                labels[indices][::2]
                for indices in batches[epoch * steps : (epoch + 1) * steps]
            ]
        )
        assert sorted(classes[:7]) == sorted(IDS)
        # Filled up from the start of the epoch's order.
        np.testing.assert_array_equal(classes[7:], classes[: len(classes) - 7])
        orders.append(tuple(classes[:7]))
    assert len(set(orders)) > 1


@pytest.mark.parametrize("size, draws", [(5, 2), (5, 4), (4, 4), (6, 3)])
def test_every_ordered_sample_is_equally_likely(size, draws):
    """Chi-square over all ordered samples: tests subset and order."""
    counted = Counter()
    num_steps, num_classes = 400, 30
    labels = np.arange(num_classes * size) % num_classes
    dataset = class_balanced_batches(labels, num_classes, draws, seed=5)
    for indices in take(dataset, num_steps):
        rows = indices.reshape(num_classes, draws) // num_classes
        counted.update(map(tuple, rows))
    outcomes = list(itertools.permutations(range(size), draws))
    observed = [counted[outcome] for outcome in outcomes]
    assert sum(observed) == num_steps * num_classes
    assert stats.chisquare(observed).pvalue > 1e-3


def test_a_whole_class_can_be_drawn():
    labels = np.arange(200) % 2
    for indices in take(class_balanced_batches(labels, 2, 100, 0), 20):
        assert len(set(indices)) == 200


@pytest.mark.slow
def test_every_class_order_is_equally_likely():
    dataset = class_balanced_batches([0, 1, 2, 3], 4, 1, seed=5)
    counted = Counter(map(tuple, take(dataset, 2400)))
    outcomes = itertools.permutations(range(4))
    observed = [counted[outcome] for outcome in outcomes]
    assert sum(observed) == 2400
    assert stats.chisquare(observed).pvalue > 1e-3


def test_classes_draw_independently():
    """The instance drawn of one class does not depend on other classes."""
    table = np.zeros((4, 4))
    dataset = class_balanced_batches(np.arange(8) % 2, 2, 1, seed=2)
    for indices in take(dataset, 1600):
        first, second = sorted(indices, key=lambda index: index % 2)
        table[first // 2, second // 2] += 1
    assert stats.chi2_contingency(table).pvalue > 1e-3


@pytest.mark.slow
def test_seeds_differ_and_any_integer_will_do():
    labels = shuffled_labels()
    batches = [
        tuple(take(class_balanced_batches(labels, 3, 4, seed), 1)[0])
        for seed in (0, 1, -1, 2**31, 2**40, np.int64(7))
    ]
    assert len(set(batches)) == 6


def test_labels_may_be_a_tensor_of_any_integer_type():
    labels = shuffled_labels() + 3
    expected = take(class_balanced_batches(labels, 3, 4, 0), 2)
    for same in (tf.constant(labels), labels.astype(np.uint16), [*labels]):
        np.testing.assert_array_equal(
            take(class_balanced_batches(same, 3, 4, 0), 2), expected
        )


def test_ids_may_be_far_apart():
    labels = shuffled_labels()
    far = np.array([-(2**62), 2**62, 5, 2**40, -1, 0, 7])
    ranks = np.searchsorted(np.sort(IDS), labels)
    np.testing.assert_array_equal(
        take(class_balanced_batches(np.sort(far)[ranks], 3, 4, 0), 3),
        take(class_balanced_batches(labels, 3, 4, 0), 3),
    )
    small = np.array([-128, -127, -3, 0, 1, 2, 127], np.int8)
    np.testing.assert_array_equal(
        take(class_balanced_batches(small[ranks], 3, 4, 0), 3),
        take(class_balanced_batches(labels, 3, 4, 0), 3),
    )


def test_many_classes_and_examples():
    labels = np.random.default_rng(0).permutation(1_000_000) % 10_000
    dataset = class_balanced_batches(labels, 100, 5, seed=0)
    batches = np.stack(take(dataset, 100))
    classes = labels[batches].reshape(-1, 5)
    assert (classes == classes[:, :1]).all()
    assert len(set(classes[:, 0])) == 10_000
    assert len(np.unique(batches)) == batches.size


def test_inside_a_batched_pipeline_shapes_stay_static():
    values = tf.constant(np.random.default_rng(0).normal(size=(75, 3)))
    dataset = class_balanced_batches(shuffled_labels(), 3, 4, seed=0).map(
        lambda indices: tf.gather(values, indices)
    )
    assert dataset.element_spec.shape == (12, 3)
