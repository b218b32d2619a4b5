import tracemalloc

import numpy as np
import pytest

from embeddings_tf.ops import nearest
from embeddings_tf.ops import nearest_candidates


def brute_force(queries, gallery, count, hidden=None):
    """Gallery rows by squared distance, then by position."""
    found = []
    for row, query in enumerate(queries.astype(float)):
        distance = np.sum((gallery.astype(float) - query) ** 2, axis=1)
        if hidden is not None:
            distance[hidden[row]] = np.inf
        found.append(np.lexsort((np.arange(len(gallery)), distance))[:count])
    return np.array(found)


def search(queries, gallery, count, hidden=None, distance="l2"):
    distances = nearest.Distances(queries, gallery, distance)
    rows = np.arange(len(queries))
    blocks, places = zip(
        *nearest.nearest(distances, rows, count, hidden), strict=True
    )
    np.testing.assert_array_equal(np.concatenate(blocks), rows)
    return np.concatenate(places)


@pytest.fixture(autouse=True, params=["double", "single"])
def precision(request, monkeypatch):
    """Candidates from float64, and from float32 in tiles of several sizes."""
    many = 2**60 if request.param == "double" else 0
    monkeypatch.setattr(nearest, "_MANY", many)
    monkeypatch.setattr(nearest, "_TRIED", 5)
    monkeypatch.setattr(nearest_candidates, "_TILE", 150)
    return request.param


def points(n, dim, seed=0, spread=1.0, dtype=np.float32):
    rng = np.random.default_rng(seed)
    return (spread * rng.normal(size=(n, dim))).astype(dtype)


@pytest.fixture
def exhaustive(monkeypatch):
    """Numbers of the queries that are compared with the whole gallery."""
    seen = []
    fast = nearest.Distances.fast

    def spy(self, rows):
        seen.extend(rows)
        return fast(self, rows)

    monkeypatch.setattr(nearest.Distances, "fast", spy)
    return seen


@pytest.mark.parametrize("count", [1, 7, 200])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_order_of_random_rows(exhaustive, count, dtype):
    queries, gallery = points(90, 9, 0, 1, dtype), points(200, 9, 1, 1, dtype)
    np.testing.assert_array_equal(
        search(queries, gallery, count), brute_force(queries, gallery, count)
    )
    assert not exhaustive


@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e30, 1e200])
@pytest.mark.parametrize("num", [120, 150, 151, 700])
def test_queries_among_each_other(precision, scale, num):
    """Whole tiles and parts of tiles, beyond the range of float32."""
    x = points(num, 5, spread=scale, dtype=np.float64)
    distances = nearest.Distances(x, x)
    helps = nearest._single_precision_helps(distances, np.arange(num), 3)
    assert helps == (precision == "single")
    np.testing.assert_array_equal(
        search(x, x, 3), brute_force(x / scale, x / scale, 3)
    )


def test_many_tiles_keep_the_nearest_of_all():
    queries, gallery = points(800, 3), points(1000, 3, 1)
    found = nearest_candidates.nearest_candidates(queries, gallery, 64)
    expected = brute_force(queries, gallery, 64)
    np.testing.assert_array_equal(found[1], expected)
    squares = np.sum((queries[:, None] - gallery[expected]) ** 2, axis=-1)
    np.testing.assert_allclose(found[0], squares, atol=1e-5)


def test_rows_in_order_along_a_line_keep_few_candidates(monkeypatch):
    """Later tiles are nearer, in both directions."""
    num_inserted = []
    insert = nearest_candidates._insert

    def count(distances, places, rows, *pairs):
        num_inserted.append(len(rows))
        insert(distances, places, rows, *pairs)

    monkeypatch.setattr(nearest_candidates, "_insert", count)
    monkeypatch.setattr(nearest_candidates, "_TILE", 300)
    x = points(1500, 8)
    x[:, 0] += np.arange(1500) / 30
    _, places = nearest_candidates.nearest_candidates(x, x, 3)
    np.testing.assert_array_equal(places, brute_force(x, x, 3))
    # Far fewer than all distances of a tile.
    assert max(num_inserted) <= 300 * 300 / 10


@pytest.mark.parametrize("factor", [3e3, 1e6, 1e10])
def test_outliers_leave_the_fast_search_to_all_others(exhaustive, factor):
    x = points(1000, 16)
    x[[5, 6]] *= factor
    x[7] = x[6]
    np.testing.assert_array_equal(search(x, x, 4), brute_force(x, x, 4))
    assert set(exhaustive) <= {5, 6, 7}


def test_half_of_the_rows_far_away():
    x = points(400, 8)
    x[::2] = 1e7 + 4 * np.round(x[::2])
    np.testing.assert_array_equal(search(x, x, 5), brute_force(x, x, 5))


def test_clusters_tighter_than_the_errors_of_a_product(exhaustive):
    """Two clusters of neighbours that are one float32 step apart."""
    rng = np.random.default_rng(0)
    x = np.where(np.arange(300)[:, None] % 2, 1, -1).astype(np.float32)
    x = np.repeat(x, 12, axis=1)
    x = np.where(rng.random(x.shape) < 0.3, np.nextafter(x, np.float32(9)), x)
    np.testing.assert_array_equal(search(x, x, 3), brute_force(x, x, 3))
    assert exhaustive


def test_more_twins_than_candidates(exhaustive):
    x = np.tile(points(10, 5), (40, 1))
    np.testing.assert_array_equal(search(x, x, 3), brute_force(x, x, 3))
    # Equal queries are searched once.
    assert sorted(exhaustive) == list(range(10))


def test_collapsed_rows_take_one_exhaustive_search(exhaustive):
    x = np.full((5000, 8), 0.1, np.float32)
    found = search(x, x, 3)
    np.testing.assert_array_equal(found, np.tile([0, 1, 2], (5000, 1)))
    assert len(exhaustive) == 1


def test_dead_rows_that_are_everyones_nearest(monkeypatch):
    """Only as many of them are compared as can be found."""
    compared = []
    exact = nearest.Distances.exact
    monkeypatch.setattr(
        nearest.Distances,
        "exact",
        lambda self, rows, columns: (
            compared.append(len(rows)) or exact(self, rows, columns)
        ),
    )
    x = points(900, 64)
    x[::2] = 0
    found = search(x, x, 3)
    np.testing.assert_array_equal(found, brute_force(x, x, 3))
    assert sum(compared) < 900 * 40


def test_ties_of_different_rows():
    codes = np.random.default_rng(0).integers(0, 2, (500, 9)) * 2.0 - 1
    for moved in (codes, codes + 1e6):
        np.testing.assert_array_equal(
            search(moved, moved, 10), brute_force(moved, moved, 10)
        )


@pytest.mark.parametrize("block", [1, 1000, 2**22])
def test_hidden_rows(monkeypatch, block):
    monkeypatch.setattr(nearest, "_BLOCK", block)
    x, gallery = points(60, 4), np.tile(points(40, 4, 1), (2, 1))
    hidden = np.random.default_rng(2).random((60, 80)) < 0.5
    hidden[3] = True
    hidden[4, 2:] = True
    np.testing.assert_array_equal(
        search(x, gallery, 5, lambda rows: hidden[rows]),
        brute_force(x, gallery, 5, hidden),
    )


def test_subset_of_the_queries():
    x = points(50, 3)
    rows = np.array([4, 9, 30])
    ((block, places),) = nearest.nearest(nearest.Distances(x, x), rows, 2)
    np.testing.assert_array_equal(block, rows)
    np.testing.assert_array_equal(places, brute_force(x[rows], x, 2))


def test_cosine():
    queries, gallery = points(30, 6), points(70, 6, 1)
    gallery[::7], queries[3] = 0, 0
    gallery[1], queries[5] = 2 * queries[4], 1e-20 * queries[6]
    cosines = np.zeros((30, 70))
    for i, j in np.argwhere(queries.any(1)[:, None] & gallery.any(1)):
        a, b = queries[i].astype(float), gallery[j].astype(float)
        cosines[i, j] = a @ b / (np.linalg.norm(a) * np.linalg.norm(b))
    expected = np.argsort(-cosines, axis=1, kind="stable")
    found = search(queries, gallery, 70, distance="cosine")
    np.testing.assert_array_equal(found[:, :50], expected[:, :50])
    np.testing.assert_array_equal(found[3], np.arange(70))


@pytest.mark.parametrize("distance", ["l2", "cosine"])
@pytest.mark.parametrize("scale", [1.0, 1e-3, 1e-6])
def test_bound_holds(distance, scale):
    """Fast and exact distances differ by no more than half the slack."""
    x = 1 + points(200, 30, 0, scale, np.float64)
    x[0] *= 1e9
    distances = nearest.Distances(x, x, distance)
    rows = np.arange(200)
    fast, squares = distances.fast(rows)
    row, column = np.indices(fast.shape).reshape(2, -1)
    exact = distances.exact(row, column).reshape(fast.shape)
    slack = distances.slack(squares, np.minimum(fast, exact))
    assert np.all(np.abs(fast - exact) <= slack / 2)
    # Exact distances agree with wider numbers.
    wide = x.astype(np.longdouble)
    if distance == "cosine":
        wide /= np.sqrt(np.sum(wide**2, axis=1, keepdims=True))
    truth = np.array([np.sum((wide - query) ** 2, axis=1) for query in wide])
    assert np.all(np.abs(exact - truth) <= distances.rounding(exact))


def test_memory_of_ambiguous_queries_is_bounded(monkeypatch):
    monkeypatch.setattr(nearest, "_BLOCK", 2**17)
    codes = np.random.default_rng(0).integers(0, 2, (4000, 12)) * 1.0
    tracemalloc.start()
    found = search(codes, codes, 2)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    np.testing.assert_array_equal(found[:9], brute_force(codes[:9], codes, 2))
    assert peak < 4000 * 4000 * 8 / 4  # of the matrix of distances
