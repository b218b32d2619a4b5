import itertools
import tracemalloc

import numpy as np
import pytest
import tensorflow as tf
from sklearn.metrics import average_precision_score
from sklearn.metrics import pairwise_distances

from embeddings_tf.metrics import gallery_search
from embeddings_tf.metrics import mean_average_precision
from embeddings_tf.metrics import recall_at_k
from embeddings_tf.ops import gallery_distances
from embeddings_tf.ops import nearest


def blobs(n=300, num_classes=40, dim=6, spread=0.8, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, num_classes, n) * 3
    centres = rng.normal(size=(num_classes * 3, dim))
    embeddings = centres[labels] + spread * rng.normal(size=(n, dim))
    return embeddings.astype(np.float32), labels


def rankings(distances, labels, gallery_labels, own=False, exclude=None):
    """Whether the r-th nearest row is in the class, for each query and r."""
    gallery_labels = np.asarray(gallery_labels)
    for row, (distance, label) in enumerate(
        zip(distances, labels, strict=True)
    ):
        hidden = np.zeros(len(gallery_labels), bool)
        if own:
            hidden[row] = True
        if exclude is not None:
            hidden |= exclude[row]
        nearest = np.argsort(distance, kind="stable")
        nearest = nearest[~hidden[nearest]]
        same = (gallery_labels[nearest] == label).tolist()
        if any(same):
            yield same


def expected_recall(distances, labels, gallery_labels, k, *options, **named):
    """Loops over queries, given a matrix of distances."""
    ranked = rankings(distances, labels, gallery_labels, *options, **named)
    return np.mean([any(same[:k]) for same in ranked])


def expected_precision(
    distances, labels, gallery_labels, *options, rule="step", **named
):
    """The area under precision over recall, rank by rank."""
    areas = []
    for same in rankings(distances, labels, gallery_labels, *options, **named):
        area, hits, old_precision = 0.0, 0, 1.0
        for rank, hit in enumerate(same, start=1):
            hits += hit
            precision = hits / rank
            height = (
                precision if rule == "step" else (old_precision + precision) / 2
            )
            area += hit / sum(same) * height
            old_precision = precision
        areas.append(area)
    return np.mean(areas)


@pytest.fixture(params=[(1024, 4096), (7, 16), (64, 64)])
def blocks(request, monkeypatch):
    """Sizes of blocks that do and do not divide the data."""
    query, gallery = request.param
    monkeypatch.setattr(gallery_search, "_QUERY_BLOCK", query)
    monkeypatch.setattr(gallery_search, "_GALLERY_BLOCK", gallery)
    monkeypatch.setattr(gallery_search, "_RANKED_BLOCK", query * 300)
    monkeypatch.setattr(nearest, "_QUERY_BLOCK", query)
    monkeypatch.setattr(nearest, "_BLOCK", query * 200)
    monkeypatch.setattr(gallery_distances, "_DIRECT_BLOCK", query * 5)


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
    def test_far_or_large_embeddings_give_the_same_recall(self, offset, scale):
        embeddings, labels = blobs()
        moved = ((embeddings + offset) * scale).astype(np.float32)
        distances = pairwise_distances(moved.astype(np.float64) / scale)
        assert recall_at_k(moved, labels)[1] == pytest.approx(
            expected_recall(distances, labels, labels, 1, own=True)
        )

    def test_own_row_is_left_out_even_among_duplicates(self):
        # Every row has a twin of another class, which is closer than the
        # other row of its own class.
        embeddings = [[0.0], [0.0], [5.0], [5.0]]
        assert recall_at_k(embeddings, [0, 1, 0, 1], (1, 2)) == {
            1: 0.0,
            2: pytest.approx(0.5),
        }

    def test_zero_rows_have_cosine_0(self):
        embeddings = np.array([[0, 0], [1, 0], [-1, 0.1], [1, 0.1]], float)
        # The first query has distance 1 to all, so the first row is found.
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

    def test_memory_is_limited_to_a_few_blocks(self):
        embeddings = np.random.default_rng(0).normal(size=(8000, 4))
        labels = np.arange(8000) % 50
        tracemalloc.start()
        recall_at_k(embeddings.astype(np.float32), labels)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 8000 * 8000 * 4  # the matrix of distances


def squared_distances(queries, gallery, distance):
    """Brute force by direct differences, in float64 or wider."""
    queries, gallery = (
        np.asarray(x, np.longdouble) for x in (queries, gallery)
    )
    if distance == "cosine":
        queries, gallery = (
            x / np.sqrt(np.sum(x**2, axis=1, keepdims=True))
            for x in (queries, gallery)
        )
    else:
        queries, gallery = queries.astype(float), gallery.astype(float)
    return np.stack([np.sum((gallery - query) ** 2, -1) for query in queries])


def hostile_set(seed):
    """Embeddings that are hard to search, their labels, and a distance."""
    rng = np.random.default_rng(seed)
    n, dim = int(rng.integers(20, 90)), int(rng.integers(1, 20))
    labels = rng.integers(0, rng.integers(2, 12), n)
    distance = ("l2", "cosine")[seed % 2]
    spread = 10.0 ** -rng.integers(0, 4)
    x = rng.normal(size=(labels.max() + 1, dim))[labels]
    x += spread * rng.normal(size=x.shape)
    trouble = set(
        rng.choice(
            ["outlier", "offset", "twins", "ties", "cone", "tight"],
            rng.integers(1, 4),
            replace=False,
        )
    )
    if "ties" in trouble and distance == "l2":
        x = np.round(3 * x)
    if "tight" in trouble:
        x[: n // 2] = x[0] + 1e-6 * x[: n // 2]
    if "cone" in trouble:
        x = 1e-3 * x + 1
    if "offset" in trouble:
        x += 1e6 * rng.choice([-1, 1], dim)
    if rng.random() < 0.7:
        x = x.astype(np.float32)
    if "outlier" in trouble:
        x[rng.integers(n, size=2)] *= 10.0 ** rng.integers(2, 12)
    if "twins" in trouble:
        # More of them than there are candidates.
        x = x[rng.integers(0, 1 + n // 8, n)]
        if distance == "cosine":  # also twice as long, exactly
            x *= x.dtype.type(2) ** rng.integers(-1, 2, n)[:, None]
    return x, labels, distance


class TestHostileEmbeddings:
    """No outlier, offset, twin, tie or narrow cone changes the answer."""

    @pytest.mark.parametrize(
        "seeds",
        [
            range(50),
            *(
                pytest.param(range(first, first + 50), marks=pytest.mark.slow)
                for first in range(50, 500, 50)
            ),
        ],
    )
    def test_500_random_sets_against_brute_force(self, seeds):
        for seed in seeds:
            x, labels, distance = hostile_set(int(seed))
            if np.max(np.bincount(labels)) < 2:
                continue
            distances = squared_distances(x, x, distance)
            for k, value in recall_at_k(x, labels, (1, 3), distance).items():
                assert value == pytest.approx(
                    expected_recall(distances, labels, labels, k, own=True),
                    abs=1e-12,
                ), (seed, distance, k)
            half = len(x) // 2
            if np.isin(labels[:half], labels[half:]).any():
                found = recall_at_k(
                    x[:half],
                    labels[:half],
                    2,
                    distance,
                    x[half:],
                    labels[half:],
                )
                assert found[2] == pytest.approx(
                    expected_recall(
                        distances[:half, half:], labels[:half], labels[half:], 2
                    ),
                    abs=1e-12,
                ), (seed, distance)
            mask = np.random.default_rng(seed).random(distances.shape) < 0.3
            np.fill_diagonal(mask, True)
            same = labels[:, None] == labels
            if not (same & ~mask).any():
                continue  # nothing to find, which is refused
            found = recall_at_k(x, labels, 1, distance, exclude=mask)
            assert found[1] == pytest.approx(
                expected_recall(
                    distances, labels, labels, 1, own=True, exclude=mask
                ),
                abs=1e-12,
            ), (seed, distance)

    @pytest.mark.parametrize("factor", [1, 3e3, 1e4, 1e8])
    def test_one_outlier(self, factor):
        """It must not affect the digits of other rows."""
        rng = np.random.default_rng(0)
        labels = np.arange(2000) % 200
        x = rng.normal(size=(200, 16))[labels]
        x += 0.1 * rng.normal(size=x.shape)
        x[7] *= factor
        x = x.astype(np.float32)
        distances = squared_distances(x, x, "l2")
        np.fill_diagonal(distances, np.inf)
        nearest = labels[np.argmin(distances, axis=1)]
        expected = np.mean(nearest == labels)
        assert expected > 0.999
        assert recall_at_k(x, labels)[1] == expected
        some = slice(0, 400)
        assert mean_average_precision(x[some], labels[some]) == pytest.approx(
            expected_precision(
                distances[some, some], labels[some], labels[some], own=True
            ),
            abs=1e-12,
        )

    @pytest.mark.parametrize("width", [1e-3, 1e-5, 1e-6])
    def test_near_twins_in_a_narrow_cone(self, width):
        rng = np.random.default_rng(0)
        labels = np.arange(400) // 2
        x = rng.normal(size=(200, 8))[labels]
        x = 1 + width * (x + 0.3 * rng.normal(size=x.shape))
        distances = squared_distances(x, x, "cosine")
        for measure, expected in (
            (
                lambda *a: recall_at_k(*a, distance="cosine")[1],
                expected_recall(distances, labels, labels, 1, own=True),
            ),
            (
                lambda *a: mean_average_precision(*a, distance="cosine"),
                expected_precision(distances, labels, labels, own=True),
            ),
        ):
            assert measure(x, labels) == pytest.approx(expected, abs=1e-12)
        assert 0.5 < expected < 1

    def test_cosine_of_rows_of_any_scale(self):
        x, labels = blobs(100, 10)
        distances = squared_distances(x, x, "cosine")
        scale = 2.0 ** np.random.default_rng(0).integers(-600, 600, (100, 1))
        for measure in (recall_at_k, mean_average_precision):
            assert measure(x * scale, labels, distance="cosine") == measure(
                x, labels, distance="cosine"
            )
        assert recall_at_k(x * scale, labels, distance="cosine")[
            1
        ] == pytest.approx(
            expected_recall(distances, labels, labels, 1, own=True)
        )

    @pytest.mark.parametrize("scale", [1e-200, 1e200])
    def test_squares_beyond_float64(self, scale):
        x, labels = blobs()
        x = x.astype(np.float64)
        for measure in (recall_at_k, mean_average_precision):
            assert measure(x * scale, labels) == measure(x, labels)

    @pytest.mark.parametrize("distance", ["l2", "cosine"])
    def test_dead_rows(self, distance):
        """A third of the rows are zeros; ties are ranked by position."""
        x, labels = blobs(240, 20)
        x[::3] = 0
        distances = pairwise_distances(
            x.astype(float), metric={"l2": "euclidean"}.get(distance, distance)
        )
        for k in (1, 4):
            assert recall_at_k(x, labels, k, distance)[k] == pytest.approx(
                expected_recall(distances, labels, labels, k, own=True)
            )
        assert mean_average_precision(x, labels, distance) == pytest.approx(
            expected_precision(distances, labels, labels, own=True)
        )


class TestMeanAveragePrecision:
    @pytest.mark.parametrize("rule", ["step", "trapezoid"])
    @pytest.mark.parametrize(
        "distance, metric", [("l2", "euclidean"), ("cosine", "cosine")]
    )
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_among_themselves(self, blocks, distance, metric, rule, dtype):
        embeddings, labels = blobs()
        embeddings = embeddings.astype(dtype)
        distances = pairwise_distances(
            embeddings.astype(np.float64), metric=metric
        )
        value = mean_average_precision(
            embeddings, labels, distance=distance, rule=rule
        )
        assert isinstance(value, float)
        assert value == pytest.approx(
            expected_precision(distances, labels, labels, True, rule=rule),
            abs=1e-12,
        )
        assert 0.1 < value < 0.9

    def test_gallery_against_scikit_learn(self, blocks):
        embeddings, labels = blobs(num_classes=8)
        queries, gallery = embeddings[:90], embeddings[90:]
        distances = pairwise_distances(
            queries.astype(np.float64), gallery.astype(np.float64)
        )
        expected = [
            average_precision_score(labels[90:] == label, -distance)
            for distance, label in zip(distances, labels[:90], strict=True)
        ]
        value = mean_average_precision(
            queries, labels[:90], "l2", gallery, labels[90:]
        )
        assert value == pytest.approx(np.mean(expected), abs=1e-12)

    def test_arithmetic(self):
        arguments = {
            "embeddings": [[0.0]],
            "labels": [7],
            "gallery": [[4.0], [1.0], [7.0], [2.0], [5.0]],
            "gallery_labels": [7, 5, 7, 7, 5],
        }
        # Members at ranks 2, 3 and 5.
        assert mean_average_precision(**arguments) == pytest.approx(
            (1 / 2 + 2 / 3 + 3 / 5) / 3
        )
        assert mean_average_precision(
            **arguments, rule="trapezoid"
        ) == pytest.approx(
            ((0 + 1 / 2) / 2 + (1 / 2 + 2 / 3) / 2 + (2 / 4 + 3 / 5) / 2) / 3
        )

    @pytest.mark.parametrize("distance", ["l2", "cosine"])
    def test_ties_go_by_place_in_the_gallery(self, blocks, distance):
        rng = np.random.default_rng(3)
        small = rng.integers(1, 4, (200, 2)).astype(np.float32)
        general = np.tile(rng.normal(size=(50, 3)), (4, 1))
        labels = rng.integers(0, 20, 200)
        for embeddings in (small, general, np.full((200, 5), 0.1)):
            # Exactly equal for equal rows with any matrix product.
            if distance == "l2":
                distances = np.sum(
                    (embeddings[:, None].astype(float) - embeddings) ** 2, -1
                )
            else:
                distances = pairwise_distances(
                    embeddings.astype(float), metric="cosine"
                )
            distances = np.round(distances, 12)
            assert mean_average_precision(
                embeddings, labels, distance
            ) == pytest.approx(
                expected_precision(distances, labels, labels, own=True)
            )

    @pytest.mark.parametrize("offset, scale", [(1e4, 1.0), (0.0, 1e25)])
    def test_far_or_large_embeddings_give_the_same_recall(self, offset, scale):
        embeddings, labels = blobs()
        moved = ((embeddings + offset) * scale).astype(np.float32)
        distances = pairwise_distances(moved.astype(np.float64) / scale)
        assert mean_average_precision(moved, labels) == pytest.approx(
            expected_precision(distances, labels, labels, own=True)
        )

    def test_perfect_worst_and_chance(self):
        embeddings, labels = blobs(spread=0.0, num_classes=100)
        assert mean_average_precision(embeddings, labels) == 1
        # All three members come last among 100.
        gallery = np.arange(100.0)[:, None]
        worst = mean_average_precision(
            [[0.0]], [1], "l2", gallery, (np.arange(100) >= 97) * 1
        )
        assert worst == pytest.approx((1 / 98 + 2 / 99 + 3 / 100) / 3)
        # Every order of 2 members among 5 rows, against the formula.
        areas = [
            mean_average_precision(
                [[0.0]],
                [1],
                "l2",
                np.arange(5.0)[:, None],
                np.isin(np.arange(5), pair) * 1,
            )
            for pair in itertools.combinations(range(5), 2)
        ]
        harmonic = sum(1 / rank for rank in range(1, 6))
        assert np.mean(areas) == pytest.approx(
            harmonic / 5 + (1 - harmonic / 5) * (2 - 1) / (5 - 1)
        )

    def test_tensors(self):
        embeddings, labels = blobs()
        assert mean_average_precision(
            tf.constant(embeddings), tf.constant(labels)
        ) == mean_average_precision(embeddings, labels)

    @pytest.mark.slow
    def test_memory_is_limited_to_a_few_blocks(self, monkeypatch):
        monkeypatch.setattr(gallery_search, "_RANKED_BLOCK", 2**19)
        embeddings = np.random.default_rng(0).normal(size=(4000, 4))
        labels = np.arange(4000) % 50
        tracemalloc.start()
        mean_average_precision(embeddings, labels)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 4000 * 4000 * 8 / 4  # of the matrix of distances


class TestExclude:
    """Market-1501: junk, and images of the person in the same camera."""

    def example(self):
        embeddings, labels = blobs(num_classes=15)
        cameras = np.random.default_rng(1).integers(0, 4, 300)
        queries, gallery = slice(0, 90), slice(90, 300)
        gallery_labels = labels[gallery].copy()
        gallery_labels[::9] = -1
        exclude = (gallery_labels == -1) | (
            (labels[queries, None] == gallery_labels)
            & (cameras[queries, None] == cameras[gallery])
        )
        arguments = {
            "embeddings": embeddings[queries],
            "labels": labels[queries],
            "gallery": embeddings[gallery],
            "gallery_labels": gallery_labels,
        }
        distances = pairwise_distances(
            embeddings[queries].astype(float), embeddings[gallery].astype(float)
        )
        return arguments, exclude, distances

    def test_gallery(self, blocks):
        arguments, exclude, distances = self.example()
        labels, gallery_labels = (
            arguments["labels"],
            arguments["gallery_labels"],
        )
        ks = (1, 3, 150, 1000)
        recalls = recall_at_k(**arguments, k=ks, exclude=exclude)
        assert recalls == {
            k: pytest.approx(
                expected_recall(
                    distances, labels, gallery_labels, k, exclude=exclude
                )
            )
            for k in ks
        }
        assert recalls[1] != recall_at_k(**arguments)[1]
        for rule in ("step", "trapezoid"):
            assert mean_average_precision(
                **arguments, exclude=exclude, rule=rule
            ) == pytest.approx(
                expected_precision(
                    distances,
                    labels,
                    gallery_labels,
                    exclude=exclude,
                    rule=rule,
                )
            )

    def test_excluded_rows_equal_a_smaller_gallery(self):
        arguments, _, _ = self.example()
        kept = np.random.default_rng(2).uniform(size=210) < 0.6
        exclude = np.tile(~kept, (90, 1))
        without = {
            **arguments,
            "gallery": arguments["gallery"][kept],
            "gallery_labels": arguments["gallery_labels"][kept],
        }
        for measure in (recall_at_k, mean_average_precision):
            assert measure(**arguments, exclude=exclude) == measure(**without)

    def test_function(self, blocks):
        arguments, exclude, _ = self.example()
        seen = np.zeros(exclude.shape, int)

        def function(i, j):
            assert i.shape == (len(i), 1) and j.shape == (1, j.size)
            seen[i, j] += 1
            return exclude[i, j]

        for measure in (recall_at_k, mean_average_precision):
            assert measure(**arguments, exclude=function) == measure(
                **arguments, exclude=exclude
            )
        assert seen.min() >= 2
        # Masks that do not depend on the query may have one row.
        junk = arguments["gallery_labels"] == -1
        assert recall_at_k(
            **arguments, exclude=lambda i, j: junk[j]
        ) == recall_at_k(**arguments, exclude=np.tile(junk, (90, 1)))

    @pytest.mark.parametrize("own", [True, False])
    def test_among_themselves(self, blocks, own):
        """Whether or not the mask excludes the query itself."""
        embeddings, labels = blobs(num_classes=60)
        distances = pairwise_distances(embeddings.astype(float))
        exclude = np.random.default_rng(0).uniform(size=(300, 300)) < 0.5
        np.fill_diagonal(exclude, own)
        for k in (1, 5):
            assert recall_at_k(embeddings, labels, k, exclude=exclude)[
                k
            ] == pytest.approx(
                expected_recall(
                    distances, labels, labels, k, own=True, exclude=exclude
                )
            )
        assert mean_average_precision(
            embeddings, labels, exclude=exclude
        ) == pytest.approx(
            expected_precision(
                distances, labels, labels, own=True, exclude=exclude
            )
        )

    def test_queries_with_nothing_left_are_left_out(self):
        arguments = {
            "embeddings": [[0.0], [5.0]],
            "labels": [0, 1],
            "gallery": [[0.1], [4.0], [4.5]],
            "gallery_labels": [0, 0, 1],
            "exclude": [[True, True, False], [False, False, False]],
        }
        assert recall_at_k(**arguments) == {1: 1.0}
        assert mean_average_precision(**arguments) == 1
        arguments["exclude"] = [[True] * 3] * 2
        for measure in (recall_at_k, mean_average_precision):
            with pytest.raises(ValueError, match="2 queries without any"):
                measure(**arguments)

    @pytest.mark.parametrize(
        "found, message",
        [
            ([[True], [True, False]], "result of `exclude` must be an array"),
            (np.ma.masked_all((4, 4), bool), "no masked entries; received 16"),
        ],
    )
    def test_results_that_are_no_array(self, found, message):
        with pytest.raises(ValueError, match=message):
            recall_at_k(
                np.zeros((4, 2)), [0, 0, 1, 1], exclude=lambda i, j: found
            )

    def test_nothing_excluded(self):
        arguments, exclude, _ = self.example()
        for measure in (recall_at_k, mean_average_precision):
            assert measure(
                **arguments, exclude=tf.constant(exclude & False)
            ) == measure(**arguments)

    @pytest.mark.parametrize(
        "exclude, message",
        [
            (np.zeros((4, 3), bool), r"here \(4, 4\).*shape \(4, 3\)"),
            (np.zeros((4, 4)), "received dtype float64"),
            (lambda i, j: i - j, "received dtype int64"),
            (lambda i, j: np.zeros(3, bool), r"shape \(3,\)"),
            (lambda i, j: np.zeros((1, 4, 4), bool), r"shape \(1, 4, 4\)"),
        ],
    )
    @pytest.mark.parametrize("measure", [recall_at_k, mean_average_precision])
    def test_errors(self, measure, exclude, message):
        with pytest.raises(ValueError, match=message):
            measure(np.zeros((4, 2)), [0, 0, 1, 1], exclude=exclude)


class TestErrors:
    def test_rule(self):
        with pytest.raises(ValueError, match="'step', 'trapezoid'"):
            mean_average_precision([[0.0]] * 2, [0, 0], rule="simpson")

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
        if "k" not in change:
            with pytest.raises(ValueError, match=message):
                mean_average_precision(**(arguments | change))


class TestScore:
    """Ranking by a function that distinguishes query and gallery."""

    @staticmethod
    def score(queries, gallery):
        """Asymmetric, with many equal scores."""
        scores = queries @ gallery.T - np.abs(gallery[:, 0])
        return tf.constant(np.round(2 * scores))

    @pytest.mark.parametrize("own", [True, False])
    def test_against_loops(self, blocks, own):
        x, labels = blobs(120, 12)
        gallery, gallery_labels = (x, labels) if own else blobs(90, 12, seed=4)
        distances = -self.score(x, gallery).numpy()
        assert len(np.unique(distances)) < 100
        junk = np.random.default_rng(5).random(distances.shape) < 0.2
        more = () if own else (gallery, gallery_labels)
        for exclude in (None, junk):
            found = recall_at_k(
                x, labels, (1, 5), self.score, *more, exclude=exclude
            )
            for k, value in found.items():
                assert value == pytest.approx(
                    expected_recall(
                        distances, labels, gallery_labels, k, own, exclude
                    )
                )
            assert mean_average_precision(
                x, labels, self.score, *more, exclude=exclude
            ) == pytest.approx(
                expected_precision(
                    distances, labels, gallery_labels, own, exclude
                )
            )

    def test_minus_the_distance_is_the_distance(self):
        x, labels = blobs()

        def nearness(first, second):
            return -pairwise_distances(first.astype(float), second)

        ks = (1, 2, 8, 400)
        assert recall_at_k(x, labels, ks, nearness) == recall_at_k(
            x, labels, ks, "l2"
        )

    def test_negative_logits_do_not_find_the_query_itself(self):
        # In the authors' code, a score left at 0 beats negative scores.
        found = recall_at_k(
            [[0.0], [1.0], [2.0], [3.0]],
            [0, 0, 1, 1],
            1,
            lambda a, b: -10 - np.abs(a - b.T - 2),
        )
        # Rows 0 to 3 find 1, 0, 0 and 1, the nearest to 2 places below.
        assert found == {1: np.mean([True, True, False, False])}

    @pytest.mark.parametrize("own", [True, False])
    @pytest.mark.parametrize("dtype", [float, np.int64, np.uint8, bool])
    def test_infinite_and_integer_scores(self, blocks, own, dtype):
        """Every number has a rank; infinite ones are first or last."""
        rng = np.random.default_rng(2)
        levels = {
            float: [-np.inf, -1.5, 0, 2.5, np.inf],
            np.int64: [-(2**63), -(2**53) - 1, -(2**53), 2**53, 2**53 + 1],
            np.uint8: [0, 1, 128, 254, 255],
            bool: [False, True],
        }[dtype]
        n, m = 80, 80 if own else 60
        labels, gallery_labels = rng.integers(0, 9, n), rng.integers(0, 9, m)
        if own:
            gallery_labels = labels
        level = rng.integers(len(levels), size=(n, m))
        level[:5], level[5:10] = 0, len(levels) - 1
        scores = np.array(levels, dtype)[level]
        x = np.arange(n, dtype=float)[:, None]
        more = () if own else (np.arange(m, dtype=float)[:, None],)
        more += () if own else (gallery_labels,)

        def score(queries, gallery):
            return scores[queries[:, 0].astype(int)][
                :, gallery[:, 0].astype(int)
            ]

        for exclude in (None, rng.random((n, m)) < 0.3):
            for rule in ("step", "trapezoid"):
                assert mean_average_precision(
                    x, labels, score, *more, exclude=exclude, rule=rule
                ) == pytest.approx(
                    expected_precision(
                        -level, labels, gallery_labels, own, exclude, rule=rule
                    )
                )
            for k in (1, 4):
                assert recall_at_k(x, labels, k, score, *more, exclude=exclude)[
                    k
                ] == pytest.approx(
                    expected_recall(
                        -level, labels, gallery_labels, k, own, exclude
                    )
                )

    def test_infinite_scores_by_arithmetic(self):
        def precision(*scores):
            return mean_average_precision(
                [[0.0]],
                [7],
                lambda a, b: np.array([scores]),
                [[0.0], [1.0], [2.0]],
                [7, 5, 7],
            )

        inf = np.inf
        assert precision(inf, 1.0, 0.0) == pytest.approx((1 + 2 / 3) / 2)
        assert precision(-inf, 1.0, 0.0) == pytest.approx((1 / 2 + 2 / 3) / 2)
        assert precision(-inf, -inf, -inf) == pytest.approx((1 + 2 / 3) / 2)

    @pytest.mark.parametrize(
        ("score", "message"),
        [
            (lambda a, b: np.full((len(a), len(b)), np.nan), "NaN"),
            (lambda a, b: np.zeros(len(a)), "must have shape"),
        ],
    )
    def test_bad_scores(self, score, message):
        for measure in (recall_at_k, mean_average_precision):
            with pytest.raises(ValueError, match=message):
                measure([[0.0], [1.0]], [0, 0], distance=score)


@pytest.mark.parametrize("distance", ["l2", lambda a, b: a @ b.T])
def test_progress_counts_every_query(distance):
    """Also the query that has no other row of its class."""
    embeddings, labels = blobs(n=50)
    labels[7] = 1  # alone: the other labels are multiples of 3
    counts = []
    found = recall_at_k(embeddings, labels, 2, distance, progress=counts.append)
    assert sum(counts) == 50 and min(counts) > 0
    assert found == recall_at_k(embeddings, labels, 2, distance)
    with pytest.raises(ValueError, match="progress"):
        recall_at_k(embeddings, labels, progress=3)


@pytest.mark.parametrize("exclude", [None, lambda i, j: (i + j) % 7 == 0])
@pytest.mark.parametrize("has_gallery", [False, True])
def test_progress_of_a_long_search(has_gallery, exclude):
    """float32 proposes candidates in tiles, for the whole gallery at once."""
    embeddings, labels = blobs(n=5000)
    labels[:900] = np.arange(900) * 3 + 1  # alone
    others = (embeddings[::-1], labels[::-1]) if has_gallery else (None, None)
    counts = []
    found = recall_at_k(
        embeddings,
        labels,
        1,
        "l2",
        *others,
        exclude=exclude,
        progress=counts.append,
    )
    assert sum(counts) == 5000 and min(counts) > 0 and len(counts) > 3
    expected = recall_at_k(
        embeddings, labels, 1, "l2", *others, exclude=exclude
    )
    assert found == expected


def test_large_ids_of_two_integer_types():
    """As floats, 2**60 and 2**60 + 1 are one number."""
    ids = np.array([2**60, 2**60 + 1])
    found = recall_at_k(
        np.array([[1.0]]),
        ids[1:].astype(np.uint64),
        1,
        gallery=np.array([[0.0], [1.0]]),
        gallery_labels=ids,
    )
    assert found == {1: 1.0}


def test_ids_that_no_integer_type_has_together():
    """As floats, 2**62 + 1 and 2**62 + 2 are one number."""
    found = recall_at_k(
        np.array([[60.0], [1.0], [5.0]]),
        np.array([2**62 + 1, 2**62 + 2, -1]),
        1,
        gallery=np.array([[0.1], [1.1], [50.0]]),
        gallery_labels=np.array([2**62 + 1, 2**62 + 2, 2**63], np.uint64),
    )
    # The first query finds 2**63, the second its class; the third has none.
    assert found == {1: 0.5}


@pytest.mark.parametrize("limits", [(1, 1), (2, 3), (100, 100)])
@pytest.mark.parametrize("make", [int, np.uint8])
def test_blocks_of_integer_and_of_float_scores(monkeypatch, limits, make):
    """Before, integers were negated in another way than floats."""
    monkeypatch.setattr(gallery_search, "_QUERY_BLOCK", limits[0])
    monkeypatch.setattr(gallery_search, "_GALLERY_BLOCK", limits[1])

    def score(a, b):
        found = 10 - np.abs(a - b.T)
        is_whole = np.all(found == np.round(found))
        return found.astype(make) if is_whole else found

    # Scores 9, 9 and 9.5: the last row is the nearest.
    queries, gallery = np.array([[2.0]]), np.array([[1.0], [3.0], [2.5]])
    for label in (0, 1):
        found = recall_at_k(queries, [label], 1, score, gallery, [0, 0, 1])
        assert found == {1: label}


@pytest.mark.parametrize("outlier", [1e150, 1e200, -1e260])
@pytest.mark.parametrize("measure", [recall_at_k, mean_average_precision])
def test_a_huge_outlier_changes_nothing(measure, outlier):
    """Before, squares of all other differences underflowed."""
    gallery = [[1.0], [2.0], [outlier]]
    found = measure(
        [[2.0], [1.0]],
        [2, 1],
        distance="l2",
        gallery=gallery,
        gallery_labels=[1, 2, 3],
    )
    assert found == (1 if measure is mean_average_precision else {1: 1})
