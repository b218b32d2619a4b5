import math
import re

import numpy as np
import pytest
import tensorflow as tf
from sklearn.metrics import normalized_mutual_info_score

from embeddings_tf.metrics import assign_clusters
from embeddings_tf.metrics import class_means
from embeddings_tf.metrics import clustering
from embeddings_tf.metrics import k_means_centroids
from embeddings_tf.metrics import normalized_mutual_information


def expected_information(labels, clusters):
    """The formula, with probabilities of every class and cluster."""
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
    # A table of 50,000 classes and clusters would have 2.5e9 cells.
    labels = np.arange(100_000) // 2
    clusters = np.roll(labels, 1)
    # Each cluster splits a pair: I = H - ln 2, H = ln 50,000.
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
        ([0, 1], [0], "2 rows of `labels`, 1 row of `clusters`"),
        ([[0], [1]], [0, 1], r"`labels` .* shape \(2, 1\)"),
        ([0, 1], [0.0, 1.0], "`clusters` must be integers"),
    ],
)
def test_errors(labels, clusters, message):
    with pytest.raises(ValueError, match=message):
        normalized_mutual_information(labels, clusters)


def blobs(num_classes=5, dim=3, seed=0):
    """Classes far apart, in random order, with ids from 10 on."""
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.repeat(np.arange(10, 10 + num_classes), 20))
    means = 50 * rng.normal(size=(num_classes, dim))
    x = means[labels - 10] + rng.normal(size=(len(labels), dim))
    return x.astype("float32"), labels


def three_classes_and_one_row(size):
    """Classes 12 standard deviations apart, and one row of this size."""
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2, 3], [50, 50, 50, 1])
    means = np.array([[0, 0], [6, 0], [0, 6], [size, 0]])
    return means[labels] + 0.5 * rng.normal(size=(151, 2)), labels


def test_k_means_finds_classes_far_apart():
    x, labels = blobs()
    centroids = k_means_centroids(x, 5)
    assert centroids.shape == (5, 3) and centroids.dtype == np.float32
    clusters = assign_clusters(x, centroids)
    assert normalized_mutual_information(labels, clusters) == 1.0
    means = np.stack([x[labels == c].mean(axis=0) for c in range(10, 15)])
    np.testing.assert_allclose(
        centroids[np.lexsort(centroids.T)],
        means[np.lexsort(means.T)],
        rtol=1e-4,
        atol=1e-4,
    )
    np.testing.assert_array_equal(k_means_centroids(x, 5), centroids)


def test_class_means_against_a_loop():
    x, labels = blobs(seed=1)
    expected = [
        np.mean([row for row, c in zip(x, labels, strict=True) if c == name], 0)
        for name in sorted(set(labels))
    ]
    found = class_means(x, labels)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, rtol=1e-5)


# More centroids than fit in one block.
@pytest.mark.parametrize("num_centroids", [4, 1500])
def test_nearest_centroid_against_all_distances(num_centroids):
    rng = np.random.default_rng(2)
    # Far from the origin, where squares lose small differences.
    x = (1000 + rng.normal(size=(60, 2))).astype("float32")
    centroids = (1000 + rng.normal(size=(num_centroids, 2))).astype("float32")
    apart = np.linalg.norm(
        x[:, None].astype("float64") - centroids.astype("float64"), axis=-1
    )
    found = assign_clusters(x, centroids)
    np.testing.assert_array_equal(found, np.argmin(apart, axis=1))


def test_assigned_by_a_score_that_has_an_order(monkeypatch):
    def score(enrolled, tested):
        """Asymmetric: the enrolled side must be the centroid."""
        return enrolled[:, :1] - 2 * tested[:, 1] * enrolled[:, 1:]

    rng = np.random.default_rng(3)
    x, centroids = rng.normal(size=(50, 2)), rng.normal(size=(7, 2))
    expected = [
        max(
            range(7),
            key=lambda c, row=row: (
                centroids[c, 0] - 2 * row[1] * centroids[c, 1]
            ),
        )
        for row in x
    ]
    assert len(set(expected)) > 1
    np.testing.assert_array_equal(
        assign_clusters(x, centroids, score), expected
    )
    monkeypatch.setattr(clustering, "_SCORES_BLOCK", 1)
    np.testing.assert_array_equal(
        assign_clusters(x, centroids, score), expected
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: k_means_centroids(np.zeros((4, 2)), 2),
            "at most 1, the distinct",
        ),
        (lambda: k_means_centroids(np.zeros((4, 2)), 0), "at least 1"),
        (lambda: k_means_centroids(np.zeros(4), 1), "shape"),
        (lambda: class_means(np.zeros((4, 2)), [0, 1]), "4 rows"),
        (
            lambda: assign_clusters(np.zeros((4, 2)), np.zeros((2, 3))),
            "same dim",
        ),
        (
            lambda: assign_clusters(np.full((4, 2), np.nan), np.zeros((2, 2))),
            "be finite",
        ),
    ],
)
def test_bad_clusters(call, message):
    with pytest.raises(ValueError, match=message):
        call()


class TestHostileEmbeddings:
    def test_a_centroid_far_away(self):
        """Before, it took the digits of all other points."""
        rng = np.random.default_rng(0)
        centroids = np.concatenate([rng.normal(size=(20, 3)), [[1e9] * 3]])
        points = rng.normal(size=(200, 3))
        apart = [[math.dist(p, c) for c in centroids] for p in points]
        np.testing.assert_array_equal(
            assign_clusters(points, centroids), np.argmin(apart, axis=1)
        )

    @pytest.mark.parametrize("size", [1e3, 1e6, 1e7, 1e9, 1e10])
    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    def test_k_means_beside_a_far_row(self, size, dtype):
        """The far row is a cluster of its own."""
        x, labels = three_classes_and_one_row(size)
        centroids = k_means_centroids(x.astype(dtype), 4)
        assert centroids.dtype == dtype
        clusters = assign_clusters(x.astype(dtype), centroids)
        assert normalized_mutual_information(labels, clusters) == 1.0

    @pytest.mark.parametrize("size", [1e11, 1e12, 1e13, 1e15, 1e30])
    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    def test_k_means_without_digits_is_refused(self, size, dtype):
        x, _ = three_classes_and_one_row(size)
        usual = np.median(np.max(np.abs(x), axis=1))
        times = f"size {size:.3g}, {size / usual:.3g} times the median size"
        with pytest.raises(ValueError, match=re.escape(times)):
            k_means_centroids(x.astype(dtype), 4)

    @pytest.mark.parametrize("size", [1e14, 1e18, 1e30])
    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    def test_a_centroid_is_the_mean_of_its_rows(self, size, dtype):
        """scikit-learn's own loses its digits beside a far row."""
        ordinary = np.random.default_rng(0).normal(size=(100, 2)).astype(dtype)
        x = np.concatenate([ordinary, np.full((1, 2), size, dtype)])
        centroids = k_means_centroids(x, 2)
        near = centroids[np.argmin(np.abs(centroids[:, 0]))]
        mean = [math.fsum(column) / 100 for column in ordinary.T.tolist()]
        np.testing.assert_allclose(near, mean, rtol=1e-6)

    @pytest.mark.parametrize("size", [1e3, 1e5, 1e6, 1e7])
    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    def test_k_means_if_most_rows_are_far(self, size, dtype):
        rng = np.random.default_rng(0)
        centers = np.repeat([size, 0, 10], [60, 20, 20])
        x = (centers + rng.normal(scale=0.1, size=100))[:, np.newaxis]
        found = np.sort(k_means_centroids(x.astype(dtype), 3), axis=0)
        expected = [[np.mean(x[60:80])], [np.mean(x[80:])], [np.mean(x[:60])]]
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)

    def test_k_means_beside_equal_rows(self):
        """Most rows are 0, so the median size of all rows is 0."""
        x = np.concatenate([np.zeros((9, 2)), [[1, 0], [0, 1], [0, 1.5]]])
        np.testing.assert_allclose(
            np.sort(k_means_centroids(x, 3), axis=0),
            [[0, 0], [0, 0], [1, 1.25]],
            atol=1e-12,
        )
        assert k_means_centroids(np.zeros((3, 2)), 1).tolist() == [[0, 0]]

    @pytest.mark.parametrize("exponent", [-1000, 1000])
    def test_any_scale(self, exponent):
        rng = np.random.default_rng(0)
        points, labels = rng.normal(size=(40, 2)), np.arange(40) % 4
        points[:, 0] += 9 * labels
        scaled = np.ldexp(points, exponent)
        for found, expected in (
            (class_means(scaled, labels), class_means(points, labels)),
            (k_means_centroids(scaled, 4), k_means_centroids(points, 4)),
        ):
            np.testing.assert_array_equal(found, np.ldexp(expected, exponent))
        np.testing.assert_array_equal(
            assign_clusters(scaled, scaled[:5]),
            assign_clusters(points, points[:5]),
        )

    def test_means_of_the_largest_numbers(self):
        largest = np.finfo(float).max
        means = class_means([[largest], [largest], [-largest]], [0, 0, 1])
        assert means.tolist() == [[largest], [-largest]]

    def test_another_dim(self):
        with pytest.raises(ValueError, match=r"same dim; received .*\(3, 2\)"):
            assign_clusters(np.zeros((4, 1)), np.zeros((3, 2)))


def test_a_huge_centroid_changes_nothing():
    """Before, squares of all other differences underflowed."""
    found = assign_clusters([[2.0], [1.0]], [[1.0], [2.0], [1e200]])
    assert found.tolist() == [1, 0]
