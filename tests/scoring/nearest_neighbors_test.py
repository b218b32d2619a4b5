import sys
import types

import keras
import numpy as np
import pytest

from embeddings_tf.layers import GaussianEmbedding
from embeddings_tf.layers import PairDistance
from embeddings_tf.losses import TripletLoss
from embeddings_tf.models import EmbeddingModel
from embeddings_tf.objectives import HedgedInstances
from embeddings_tf.objectives import LearnedDistance
from embeddings_tf.objectives import SoftContrastive
from embeddings_tf.objectives import StochasticPrototypes
from embeddings_tf.scoring import NearestNeighbors
from embeddings_tf.scoring import approximate_rows
from tests import peak_memory

RNG = np.random.default_rng(0)
X = RNG.normal(size=(50, 2)).astype("float32")
QUERIES = RNG.normal(size=(7, 2)).astype("float32")
LABELS = RNG.choice(["a", "b", "c"], 50)


def points(loss=None):
    encoder = keras.Sequential([keras.Input((2,)), keras.layers.Identity()])
    return encoder if loss is None else EmbeddingModel(encoder, loss)


def test_distances_by_loop():
    search = NearestNeighbors(points()).fit(X, LABELS)
    distances, rows = search.kneighbors(QUERIES)
    for query, found, places in zip(QUERIES, distances, rows, strict=True):
        every = np.linalg.norm(X - query, axis=1)
        np.testing.assert_array_equal(places, np.argsort(every)[:5])
        np.testing.assert_allclose(found, np.sort(every)[:5], rtol=1e-5)


@pytest.mark.parametrize("query", [QUERIES[0].astype(np.float64), [0.0, 0.0]])
def test_large_numbers_do_not_overflow(query):
    search = NearestNeighbors(points(), embedded=True)
    distances, rows = search.fit(X.astype(np.float64) * 1e200).kneighbors(
        np.array([query]) * 1e200, 3
    )
    every = np.linalg.norm(X.astype(np.float64) - query, axis=1)
    np.testing.assert_array_equal(rows[0], np.argsort(every)[:3])
    np.testing.assert_allclose(distances[0], np.sort(every)[:3] * 1e200)


def test_cosine_by_loop():
    model = points(TripletLoss(distance="cosine"))
    distances, rows = NearestNeighbors(model).fit(X).kneighbors(QUERIES, 3)
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    for query, found, places in zip(QUERIES, distances, rows, strict=True):
        cosines = unit @ query / np.linalg.norm(query)
        np.testing.assert_array_equal(places, np.argsort(-cosines)[:3])
        np.testing.assert_allclose(
            found, 1 - np.sort(cosines)[::-1][:3], atol=1e-6
        )


def test_no_queries_have_no_neighbors():
    search = NearestNeighbors(points(), embedded=True).fit(X, LABELS)
    distances, rows = search.kneighbors(QUERIES[:0], 3)
    assert distances.shape == rows.shape == (0, 3)
    assert rows.dtype == np.int64


def test_scores_of_embeddings_in_float64():
    encoder = keras.Sequential([keras.Input((4,)), GaussianEmbedding(2)])
    model = EmbeddingModel(encoder, StochasticPrototypes(1))
    embedded = np.abs(RNG.normal(size=(12, 4)))
    found = []
    for dtype in (np.float32, np.float64):
        search = NearestNeighbors(
            model, compare="score", embedded=True, num_neighbors=2
        )
        z = embedded.astype(dtype)
        found.append(search.fit(z).kneighbors(z[:2]))
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-5)
    np.testing.assert_array_equal(found[0][1], found[1][1])


@pytest.mark.parametrize("kind", ["learned", "hedged"])
def test_methods_with_a_likelihood_ratio_compare_by_it(kind):
    if kind == "learned":
        objective = LearnedDistance(PairDistance(hidden_units=(4,)))
        model, gallery, queries = points(objective), X, QUERIES
    else:
        encoder = keras.Sequential([keras.Input((4,)), keras.layers.Identity()])
        objective = HedgedInstances(4)
        model = EmbeddingModel(encoder, objective, gaussian=True)
        gallery, queries = (
            np.hstack([x, 0.1 + np.abs(x)]).astype("float32")
            for x in (X, QUERIES)
        )
    scores, rows = NearestNeighbors(model).fit(gallery).kneighbors(queries, 4)
    seed = {} if kind == "learned" else {"seed": [0, 0]}
    every = np.asarray(objective.score_all_pairs(queries, gallery, **seed))
    for found, places, row in zip(scores, rows, every, strict=True):
        np.testing.assert_array_equal(places, np.argsort(-row)[:4])
        np.testing.assert_allclose(
            found, np.sort(row)[::-1][:4], rtol=1e-3, atol=1e-5
        )


@pytest.mark.parametrize("count", [1, 2, 4])
def test_close_rows_far_from_the_others_are_in_the_order_of_their_scores(count):
    """In the table of all pairs, the two far rows coincide."""
    gallery = np.concatenate([[[1e7, 0], [1e7 + 1, 0]], X]).astype("float32")
    query = np.array([[1e7 + 1, 0]], "float32")
    search = NearestNeighbors(points(SoftContrastive()), compare="score")
    scores, rows = search.fit(gallery).kneighbors(query, count)
    # The score is the offset 0 minus the scale 1 times the distance.
    distances = np.linalg.norm(gallery.astype("float64") - query, axis=1)
    expected = np.argsort(distances, kind="stable")[:count]
    np.testing.assert_array_equal(rows[0, :2], expected[:2])
    np.testing.assert_allclose(scores[0], -distances[expected], rtol=1e-6)


def test_predict_by_loop():
    search = NearestNeighbors(points(), num_neighbors=6).fit(X, LABELS)
    for query, answer in zip(QUERIES, search.predict(QUERIES), strict=True):
        order = np.argsort(np.linalg.norm(X - query, axis=1))[:6]
        near = LABELS[order].tolist()
        most = max(near.count(name) for name in near)
        # The first of the most frequent labels.
        assert answer == next(n for n in near if near.count(n) == most)


def test_labels_are_needed_to_predict():
    search = NearestNeighbors(points()).fit(X)
    with pytest.raises(ValueError, match="has no labels: call fit"):
        search.predict(QUERIES)
    assert len(search.fit(X, LABELS).predict(QUERIES)) == 7


def test_decision_function_is_minus_the_nearest_distance():
    search = NearestNeighbors(points()).fit(X)
    every = np.linalg.norm(X - QUERIES[:, None], axis=2)
    np.testing.assert_allclose(
        search.decision_function(QUERIES), -every.min(axis=1), rtol=1e-5
    )


def faiss_stand_in(recorded):
    """A module with the one class of FAISS that is used, searching all rows."""

    class IndexHNSWFlat:
        def __init__(self, dim, links):
            recorded.append((dim, links))
            self.rows = np.empty((0, dim), np.float32)

        def add(self, rows):
            assert rows.dtype == np.float32 and rows.flags.c_contiguous
            self.rows = np.concatenate([self.rows, rows])

        def search(self, queries, count):
            squares = ((self.rows - queries[:, None]) ** 2).sum(axis=2)
            rows = np.argsort(squares, axis=1)[:, :count]
            return np.take_along_axis(squares, rows, axis=1), rows

    return types.SimpleNamespace(IndexHNSWFlat=IndexHNSWFlat)


@pytest.mark.parametrize("distance", ["squared_l2", "cosine"])
def test_approximate_search_calls_faiss(distance, monkeypatch):
    recorded = []
    monkeypatch.setitem(sys.modules, "faiss", faiss_stand_in(recorded))
    model = points(TripletLoss(distance=distance))
    exact = NearestNeighbors(model).fit(X).kneighbors(QUERIES)
    search = NearestNeighbors(model, search="faiss").fit(X)
    for found, expected in zip(search.kneighbors(QUERIES), exact, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-7)
    # For the cosine, a column says which rows are zeros.
    assert recorded == [(2 + (distance == "cosine"), 32)]
    search = NearestNeighbors(model, search="faiss", embedded=True).fit(X)
    distances, rows = search.kneighbors(QUERIES[:0])
    assert distances.shape == rows.shape == (0, 5)


def test_rows_of_zeros_are_not_proposed_before_neighbours(monkeypatch):
    monkeypatch.setitem(sys.modules, "faiss", faiss_stand_in([]))
    # A row of zeros has a cosine of 0, below .4 of the last row.
    gallery = np.array([[0, 0], [0, 0], [0.4, 0.84**0.5]], "float32")
    model = points(TripletLoss(distance="cosine"))
    for kind in ("exact", "faiss"):
        search = NearestNeighbors(model, search=kind, embedded=True)
        found = search.fit(gallery).kneighbors([[1.0, 0.0]], 1)
        np.testing.assert_allclose(found[0], [[0.6]], rtol=1e-6)
        assert found[1] == [[2]]


def test_the_graph_is_built_in_blocks_that_are_counted(monkeypatch):
    monkeypatch.setitem(sys.modules, "faiss", faiss_stand_in([]))
    monkeypatch.setattr(approximate_rows, "BLOCK", 20)
    exact = NearestNeighbors(points()).fit(X).kneighbors(QUERIES)
    counts = []
    search = NearestNeighbors(points(), search="faiss")
    found = search.fit(X, progress=counts.append).kneighbors(QUERIES)
    np.testing.assert_array_equal(found[1], exact[1])
    assert counts == [20, 20, 50 - 2 * 20]


def test_the_exact_search_counts_all_examples_at_once():
    counts = []
    NearestNeighbors(points()).fit(X, progress=counts.append)
    assert counts == [len(X)]
    with pytest.raises(ValueError, match="`progress` must be a function"):
        NearestNeighbors(points()).fit(X, progress=3)


def test_the_real_faiss():
    pytest.importorskip("faiss")
    gallery = RNG.normal(size=(5000, 8)).astype("float32")
    assert approximate_rows.BLOCK < len(gallery)
    encoder = keras.Sequential([keras.Input((8,)), keras.layers.Identity()])
    exact = NearestNeighbors(encoder).fit(gallery).kneighbors(gallery[:100])
    search = NearestNeighbors(encoder, search="faiss").fit(gallery)
    distances, rows = search.kneighbors(gallery[:100])
    recall = np.mean(
        [len({*a} & {*b}) / 5 for a, b in zip(rows, exact[1], strict=True)]
    )
    assert recall > 0.9
    np.testing.assert_allclose(distances[:, 0], 0, atol=1e-6)


def test_refusals(monkeypatch):
    search = NearestNeighbors(points())
    with pytest.raises(ValueError, match="not fitted yet"):
        search.kneighbors(QUERIES)
    with pytest.raises(ValueError, match="at most 50"):
        search.fit(X).kneighbors(QUERIES, 51)
    with pytest.raises(ValueError, match="compares by distance"):
        NearestNeighbors(points(), search="faiss", compare="score")
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(ValueError, match="pip install faiss-cpu"):
        NearestNeighbors(points(), search="faiss").fit(X)


def test_votes_take_memory_of_the_neighbours_only():
    """Not of all classes: 3000 x 20,000 numbers are half a gigabyte."""
    rng = np.random.default_rng(0)
    gallery = rng.normal(size=(20_000, 2)).astype("float32")
    search = NearestNeighbors(points(), embedded=True)
    search.fit(gallery, np.arange(20_000))
    before = peak_memory.reset()
    found = search.predict(gallery[:3000])
    assert peak_memory.read() - before < 300 * 1024
    # All labels are equally frequent, so the nearest wins.
    assert found.tolist() == list(range(3000))
