import itertools
from collections import Counter

import numpy as np
import pytest
import tensorflow as tf
from scipy import stats

from embeddings_tf.sampling import class_balanced_batches
from tests.sampling.labels import SIZES
from tests.sampling.labels import shuffled_labels
from tests.sampling.labels import take


def expected_batches(sizes, num_classes, num_per_class):
    """Class counts of each batch of an epoch, by the authors' loop."""
    left = {c: n for c, n in enumerate(sizes) if n >= 2}
    shapes = []
    while len(left) >= 2:
        # The order of classes is random; the group sizes are not.
        shapes.append(
            [
                min(num_classes, len(left) - first)
                for first in range(0, len(left), num_classes)
                if min(num_classes, len(left) - first) >= 2
            ]
        )
        left = {c: n - min(n, num_per_class) for c, n in left.items()}
        left = {c: n for c, n in left.items() if n >= 2}
    return shapes


@pytest.mark.parametrize(
    "sizes, num_classes, num_per_class",
    [
        (SIZES, 3, 4),
        (SIZES, 2, 5),
        (SIZES, 12, 5),
        ([1, 2, 3, 1, 4, 5], 2, 2),
        ([2, 2], 2, 2),
        ([10] * 13, 12, 5),
        ([11, 11, 11, 11, 26], 4, 5),
    ],
)
def test_epoch(sizes, num_classes, num_per_class):
    labels = shuffled_labels(sizes, range(len(sizes)))
    shapes = expected_batches(sizes, num_classes, num_per_class)
    steps = sum(map(len, shapes))
    dataset = class_balanced_batches(
        labels, num_classes, num_per_class, 1, allow_fewer=True
    )
    assert dataset.element_spec == tf.TensorSpec((None,), tf.int32)
    batches = take(dataset, 3 * steps)
    for epoch in range(3):
        remaining = Counter(labels.tolist())
        used = []
        epoch_batches = iter(batches[epoch * steps : (epoch + 1) * steps])
        for number, groups in enumerate(shapes):
            seen = []
            for group in groups:
                indices = next(epoch_batches)
                classes = [c for c, _ in itertools.groupby(labels[indices])]
                assert len(classes) == group == len(set(classes))
                counts = Counter(labels[indices].tolist())
                for c in classes:
                    before = sizes[c] - number * num_per_class
                    assert counts[c] == min(num_per_class, before) >= 2
                seen.extend(classes)
                used.extend(indices)
            assert len(seen) == len(set(seen))
        assert len(used) == len(set(used))
        remaining.subtract(labels[used].tolist())
        assert min(remaining.values()) >= 0


def test_all_are_used_if_counts_allow_it():
    labels = np.arange(60) % 6
    dataset = class_balanced_batches(labels, 3, 5, 0, allow_fewer=True)
    batches = take(dataset, 8)
    for epoch in (batches[:4], batches[4:]):
        np.testing.assert_array_equal(
            np.sort(np.concatenate(epoch)), np.arange(60)
        )
    assert not np.array_equal(batches[0], batches[4])


def test_every_instance_order_is_equally_likely():
    labels = np.arange(8) % 2
    dataset = class_balanced_batches(labels, 2, 2, 0, allow_fewer=True)
    counted = Counter()
    batches = take(dataset, 2400)
    for first, second in zip(batches[::2], batches[1::2], strict=True):
        both = np.concatenate([first, second])
        counted.update([tuple(both[labels[both] == 0] // 2)])
    outcomes = itertools.permutations(range(4))
    observed = [counted[outcome] for outcome in outcomes]
    assert sum(observed) == 1200
    assert stats.chisquare(observed).pvalue > 1e-3


@pytest.mark.parametrize("labels", [[0] * 9, [0, 1, 2], [0, 0, 1]])
def test_needs_two_classes_of_two(labels):
    with pytest.raises(ValueError, match="at least two classes"):
        class_balanced_batches(labels, 2, 2, 0, allow_fewer=True)


@pytest.mark.parametrize("counts", [(1, 5), (5, 1)])
def test_needs_counts_of_two(counts):
    with pytest.raises(ValueError, match="at least 2"):
        class_balanced_batches(shuffled_labels(), *counts, 0, allow_fewer=True)
