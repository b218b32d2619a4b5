import tracemalloc

import numpy as np
import pytest
import tensorflow as tf
from sklearn.metrics import pairwise_distances

from embeddings_tf.metrics import recall_at_k
from embeddings_tf.metrics import retrieval


def blobs(n=300, num_classes=40, dim=6, spread=0.8, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, num_classes, n) * 3
    centres = rng.normal(size=(num_classes * 3, dim))
    embeddings = centres[labels] + spread * rng.normal(size=(n, dim))
    return embeddings.astype(np.float32), labels


def expected_recall(distances, labels, gallery_labels, k, own=False):
    """One query after the other, from a matrix of distances."""
    hits, queries = 0, 0
    for row, (distance, label) in enumerate(
        zip(distances, labels, strict=True)
    ):
        places = [
            place
            for place in range(len(gallery_labels))
            if not (own and place == row)
        ]
        if all(gallery_labels[place] != label for place in places):
            continue
        queries += 1
        nearest = sorted(places, key=lambda place: (distance[place], place))
        hits += any(gallery_labels[place] == label for place in nearest[:k])
    return hits / queries


@pytest.fixture(params=[(1024, 4096), (7, 16), (64, 64)])
def blocks(request, monkeypatch):
    """Sizes of blocks that do and do not divide the data."""
    query, gallery = request.param
    monkeypatch.setattr(retrieval, "_QUERY_BLOCK", query)
    monkeypatch.setattr(retrieval, "_GALLERY_BLOCK", gallery)
    monkeypatch.setattr(retrieval, "_EXACT_BLOCK", query * 200)


class TestRecallAtK:
    @pytest.mark.parametrize(
        "distance, metric", [("l2", "euclidean"), ("cosine", "cosine")]
    )
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_among_themselves(self, blocks, distance, metric, dtype):
        embeddings, labels = blobs()
        embeddings = embeddings.astype(dtype)
        distances = pairwise_distances(
            embeddings.astype(np.float64), metric=metric
        )
        ks = (1, 2, 5, 299, 1000)
        recalls = recall_at_k(embeddings, labels, ks, distance)
        assert recalls == {
            k: pytest.approx(
                expected_recall(distances, labels, labels, k, own=True)
            )
            for k in ks
        }
        assert 0.2 < recalls[1] < recalls[5] < recalls[1000] == 1
        assert all(isinstance(value, float) for value in recalls.values())

    @pytest.mark.parametrize(
        "distance, metric", [("l2", "euclidean"), ("cosine", "cosine")]
    )
    def test_gallery(self, blocks, distance, metric):
        embeddings, labels = blobs()
        queries, gallery = embeddings[:90], embeddings[90:]
        distances = pairwise_distances(
            queries.astype(np.float64), gallery.astype(np.float64), metric
        )
        recalls = recall_at_k(
            queries, labels[:90], (1, 4), distance, gallery, labels[90:]
        )
        for k in (1, 4):
            assert recalls[k] == pytest.approx(
                expected_recall(distances, labels[:90], labels[90:], k)
            )

    def test_ties_go_by_place_in_the_gallery(self, blocks):
        """Small integers: many rows at exactly the same distance."""
        rng = np.random.default_rng(3)
        embeddings = rng.integers(0, 3, (200, 2)).astype(np.float32)
        labels = rng.integers(0, 20, 200)
        distances = np.sum((embeddings[:, None] - embeddings) ** 2, axis=-1)
        for k in (1, 3, 10):
            for moved in (embeddings, embeddings + 1000):
                assert recall_at_k(moved, labels, k)[k] == pytest.approx(
                    expected_recall(distances, labels, labels, k, own=True)
                )

    def test_duplicates_of_general_numbers(self, blocks):
        embeddings, _ = blobs(50)
        embeddings = np.tile(embeddings, (4, 1))
        labels = np.random.default_rng(0).integers(0, 30, 200)
        distances = np.sum(
            (embeddings[:, None].astype(np.float64) - embeddings) ** 2, axis=-1
        )
        for k in (1, 2, 3):
            assert recall_at_k(embeddings, labels, k)[k] == pytest.approx(
                expected_recall(distances, labels, labels, k, own=True)
            )

    def test_collapsed_embeddings(self, blocks):
        """All the same: the first rows of the gallery are the nearest."""
        labels = np.arange(120) % 4
        same = np.full((120, 5), 0.1, np.float32)
        for k in (1, 2, 3):
            assert recall_at_k(same, labels, k)[k] == pytest.approx(
                expected_recall(
                    np.zeros((120, 120)), labels, labels, k, own=True
                )
            )

    @pytest.mark.parametrize("offset, scale", [(1e4, 1.0), (0.0, 1e25)])
    def test_far_or_large_embeddings_lose_nothing(self, offset, scale):
        embeddings, labels = blobs()
        moved = ((embeddings + offset) * scale).astype(np.float32)
        distances = pairwise_distances(moved.astype(np.float64) / scale)
        assert recall_at_k(moved, labels)[1] == pytest.approx(
            expected_recall(distances, labels, labels, 1, own=True)
        )

    def test_own_row_is_left_out_even_among_duplicates(self):
        # Every row has a twin of another class, which is nearer than the
        # other member of its own class.
        embeddings = [[0.0], [0.0], [5.0], [5.0]]
        assert recall_at_k(embeddings, [0, 1, 0, 1], (1, 2)) == {
            1: 0.0,
            2: pytest.approx(0.5),
        }

    def test_zero_rows_have_cosine_0(self):
        embeddings = np.array([[0, 0], [1, 0], [-1, 0.1], [1, 0.1]], float)
        # The first query: all at distance 1, so the first place wins.
        recalls = recall_at_k(embeddings, [0, 0, 1, 1], 1, "cosine")
        cosine = pairwise_distances(embeddings, metric="cosine")
        expected = expected_recall(cosine, [0, 0, 1, 1], [0, 0, 1, 1], 1, True)
        assert recalls[1] == pytest.approx(expected)

    def test_perfect_and_chance(self):
        embeddings, labels = blobs(spread=0.0, num_classes=100)
        assert recall_at_k(embeddings, labels)[1] == 1
        rng = np.random.default_rng(0)
        noise = rng.normal(size=(4000, 5))
        chance = recall_at_k(noise, np.arange(4000) % 10)[1]
        assert chance == pytest.approx(399 / 3999, abs=4 * 0.005)

    def test_queries_without_their_class_are_left_out(self):
        embeddings = [[0.0], [0.1], [5.0]]
        assert recall_at_k(embeddings, [1, 1, 2]) == {1: 1.0}
        recalls = recall_at_k(
            embeddings, [1, 1, 2], 1, "l2", [[0.0], [0.05]], [9, 1]
        )
        assert recalls == {1: 0.5}

    def test_tensors_and_a_single_k(self):
        embeddings, labels = blobs()
        assert recall_at_k(
            tf.constant(embeddings), tf.constant(labels), 3
        ) == recall_at_k(embeddings, labels, (3,))

    def test_memory_is_that_of_a_few_blocks(self):
        embeddings = np.random.default_rng(0).normal(size=(8000, 4))
        labels = np.arange(8000) % 50
        tracemalloc.start()
        recall_at_k(embeddings.astype(np.float32), labels)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 8000 * 8000 * 4  # the matrix of distances


class TestErrors:
    @pytest.mark.parametrize(
        "change, message",
        [
            ({"embeddings": np.zeros((0, 2))}, "not be empty"),
            ({"embeddings": np.zeros(4)}, r"\(n, dim\)"),
            ({"embeddings": [[0.0, np.inf]] * 4}, r"inf at \(0, 1\)"),
            ({"labels": [0, 1]}, "2 rows of `labels`"),
            ({"labels": [0.0, 0.0, 1.0, 1.0]}, "must be integers"),
            ({"labels": [0, 1, 2, 3]}, "received 4 queries without any"),
            ({"k": 0}, "`k` must be an integer"),
            ({"k": (1, 2.5)}, "`k` must be an integer"),
            ({"k": ()}, "`k` must not be empty"),
            ({"distance": "l1"}, "'l2', 'cosine'"),
            ({"gallery": [[0.0, 0.0]]}, "passed together"),
            ({"gallery_labels": [0]}, "passed together"),
            (
                {"gallery": [[0.0]], "gallery_labels": [0]},
                "same dimension; received 2 and 1",
            ),
            (
                {"gallery": [[0.0, 0.0]], "gallery_labels": [0, 1]},
                "2 rows of `gallery_labels`",
            ),
            (
                {"gallery": [[0.0, np.nan]], "gallery_labels": [0]},
                "`gallery` must be finite",
            ),
            (
                {"gallery": [[0.0, 0.0]], "gallery_labels": [5]},
                "without any",
            ),
        ],
    )
    def test_arguments(self, change, message):
        arguments = {
            "embeddings": np.zeros((4, 2)),
            "labels": [0, 0, 1, 1],
        }
        with pytest.raises(ValueError, match=message):
            recall_at_k(**(arguments | change))
