import math

import numpy as np
import pytest
import tensorflow as tf
from sklearn.metrics import normalized_mutual_info_score

from embeddings_tf.metrics import normalized_mutual_information


def expected_information(labels, clusters):
    """The formula, from probabilities of every class and cluster."""
    information, entropies = 0.0, [0.0, 0.0]
    for label in set(labels):
        for cluster in set(clusters):
            joint = np.mean((labels == label) & (clusters == cluster))
            apart = np.mean(labels == label) * np.mean(clusters == cluster)
            if joint:
                information += joint * math.log(joint / apart)
    for which, names in enumerate((labels, clusters)):
        for name in set(names):
            p = np.mean(names == name)
            entropies[which] -= p * math.log(p)
    return information / np.mean(entropies)


def random_names(num_classes, num_clusters, n=200, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, num_classes, n)
    clusters = (labels + rng.integers(0, 3, n)) % num_clusters
    return 5 * labels - 7, clusters


@pytest.mark.parametrize(
    "num_classes, num_clusters", [(2, 2), (3, 8), (9, 4), (40, 40)]
)
def test_against_loops_and_scikit_learn(num_classes, num_clusters):
    labels, clusters = random_names(num_classes, num_clusters)
    value = normalized_mutual_information(labels, clusters)
    assert type(value) is float
    assert value == pytest.approx(
        expected_information(labels, clusters), abs=1e-12
    )
    assert value == pytest.approx(
        normalized_mutual_info_score(labels, clusters), abs=1e-12
    )
    assert normalized_mutual_information(clusters, labels) == pytest.approx(
        value, abs=1e-15
    )


def test_best_and_independent():
    first, second = np.divmod(np.arange(60) % 12, 4)
    assert normalized_mutual_information(first, 9 - 2 * first) == 1.0
    assert normalized_mutual_information(first, second) == 0.0


def test_one_class_or_cluster():
    same, different = np.zeros(6, int), np.arange(6) % 3
    assert normalized_mutual_information(same, same + 4) == 1.0
    assert normalized_mutual_information(same, different) == 0.0
    assert normalized_mutual_information(different, same) == 0.0
    assert normalized_mutual_information([3], [5]) == 1.0


def test_every_example_its_own_cluster():
    # I = H(labels) = ln 2, H(clusters) = ln 8.
    value = normalized_mutual_information(np.arange(8) % 2, np.arange(8))
    assert value == pytest.approx(2 * math.log(2) / (math.log(2) + math.log(8)))


def test_many_classes_need_no_table():
    # 50,000 classes and as many clusters would be 2.5e9 cells.
    labels = np.arange(100_000) // 2
    clusters = np.roll(labels, 1)
    # Pairs are split: I = H - ln 2, H = ln 50,000.
    expected = 1 - math.log(2) / math.log(50_000)
    assert normalized_mutual_information(labels, clusters) == pytest.approx(
        expected, abs=1e-9
    )


def test_tensors():
    labels, clusters = random_names(5, 5)
    assert normalized_mutual_information(
        tf.constant(labels), tf.constant(clusters, tf.int32)
    ) == normalized_mutual_information(labels, clusters)


@pytest.mark.parametrize(
    "labels, clusters, message",
    [
        ([], [], "`labels` .* not be empty"),
        ([0, 1], [0], "2 rows of `labels`, 1 rows of `clusters`"),
        ([[0], [1]], [0, 1], r"`labels` .* shape \(2, 1\)"),
        ([0, 1], [0.0, 1.0], "`clusters` must be integers"),
    ],
)
def test_errors(labels, clusters, message):
    with pytest.raises(ValueError, match=message):
        normalized_mutual_information(labels, clusters)
