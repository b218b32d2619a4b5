import math

import numpy as np
import pytest
import tensorflow as tf
from scipy import special
from scipy import stats

from embeddings_tf import sampling
from embeddings_tf.metrics import confidence_interval
from embeddings_tf.metrics import few_shot_accuracy
from embeddings_tf.metrics import few_shot_episodes


def blobs(spread=1.0, num_classes=6, per_class=25, dim=3, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.repeat(np.arange(num_classes) * 7, per_class))
    centres = rng.normal(size=(num_classes * 7, dim))
    embeddings = centres[labels] + spread * rng.normal(size=(len(labels), dim))
    return embeddings.astype(np.float32), labels


class TestFewShotAccuracy:
    @pytest.mark.parametrize("num_classes", [None, 4])
    def test_against_loops(self, num_classes):
        embeddings, labels = blobs()
        correct = []
        for indices in sampling.episodes(
            labels, num_classes or 6, 3, 5, seed=4
        ).take(7):
            rows = indices.numpy().reshape(num_classes or 6, 8)
            means = [embeddings[row[:3]].mean(axis=0) for row in rows]
            for true, row in enumerate(rows):
                for query in embeddings[row[3:]]:
                    far = [np.sum((query - mean) ** 2) for mean in means]
                    correct.append(np.argmin(far) == true)
        assert few_shot_accuracy(
            embeddings, labels, 3, 5, num_classes, num_episodes=7, seed=4
        ) == pytest.approx(np.mean(correct), abs=1e-12)

    def test_perfect_and_chance(self):
        embeddings, labels = blobs(spread=0.0)
        assert few_shot_accuracy(embeddings, labels, 1, 5) == 1.0
        noise = np.random.default_rng(0).normal(size=embeddings.shape)
        chance = few_shot_accuracy(noise, labels, 1, 5, num_episodes=300)
        # 9,000 queries with shared supports: a standard error of about 0.01.
        assert chance == pytest.approx(1 / 6, abs=0.03)

    def test_collapsed_embeddings_score_chance(self):
        _, labels = blobs()
        same = np.full((len(labels), 3), 0.3, np.float32)
        assert few_shot_accuracy(same, labels, 2, 5) == pytest.approx(1 / 6)

    def test_seed(self):
        embeddings, labels = blobs()
        values = [
            few_shot_accuracy(embeddings, labels, 1, 5, num_episodes=5, seed=s)
            for s in (0, 0, 1)
        ]
        assert values[0] == values[1] != values[2]
        assert isinstance(values[0], float)

    def test_tensors(self):
        embeddings, labels = blobs()
        arguments = (2, 5, 3, 4)
        assert few_shot_accuracy(
            tf.constant(embeddings), tf.constant(labels), *arguments
        ) == few_shot_accuracy(embeddings, labels, *arguments)

    def test_queries_from_other_embeddings(self):
        """Queries of class c lie on the previous class: never right."""
        labels = np.repeat(np.arange(4), 10)
        supports = 10.0 * labels[:, None]
        queries = 10.0 * ((labels - 1) % 4)[:, None]
        for query_embeddings, expected in (
            (None, 1.0),
            (supports, 1.0),
            (queries, 0.0),
        ):
            assert (
                few_shot_accuracy(
                    supports, labels, 2, 3, query_embeddings=query_embeddings
                )
                == expected
            )

    def test_far_from_the_origin(self):
        labels = np.repeat([0, 1], 20)
        embeddings = (1e4 + 0.01 * labels)[:, None]
        assert few_shot_accuracy(embeddings, labels, 5) == 1.0


class TestFewShotEpisodes:
    def test_default_is_a_softmax_of_minus_squared_distance(self):
        embeddings, labels = blobs()
        indices = next(iter(sampling.episodes(labels, 6, 4, 2, seed=0)))
        rows = indices.numpy().reshape(6, 6)
        means = np.array([embeddings[row[:4]].mean(axis=0) for row in rows])
        query = embeddings[rows[:, 4:].ravel()]
        far = np.sum((query[:, None] - means) ** 2, axis=-1)
        log_probability, target = next(
            few_shot_episodes(embeddings, labels, 4, 2)
        )
        np.testing.assert_allclose(
            log_probability, special.log_softmax(-far, axis=1), atol=1e-5
        )
        np.testing.assert_array_equal(target, np.repeat(np.arange(6), 2))

    def test_log_prob_receives_the_episode(self):
        embeddings, labels = blobs()
        received = []

        def log_prob(support, support_labels, query, num_classes, seed):
            received.append((support, support_labels, query, seed))
            assert num_classes == 3
            return tf.zeros((len(query), num_classes))

        rows = [
            indices.numpy().reshape(3, 6)
            for indices in sampling.episodes(labels, 3, 2, 4, seed=5).take(2)
        ]
        outcome = list(
            few_shot_episodes(
                embeddings,
                labels,
                2,
                4,
                3,
                num_episodes=2,
                seed=5,
                log_prob=log_prob,
                query_embeddings=embeddings + 1,
            )
        )
        assert len(outcome) == len(received) == 2
        for number, (row, arguments) in enumerate(
            zip(rows, received, strict=True)
        ):
            support, support_labels, query, seed = arguments
            np.testing.assert_array_equal(
                support, embeddings[row[:, :2].ravel()]
            )
            np.testing.assert_array_equal(support_labels, [0, 0, 1, 1, 2, 2])
            assert support_labels.dtype == np.int32
            np.testing.assert_array_equal(
                query, embeddings[row[:, 2:].ravel()] + 1
            )
            np.testing.assert_array_equal(seed, [5, number])
            assert seed.dtype == np.int32

    def test_impossible_classes_may_have_minus_infinity(self):
        embeddings, labels = blobs()

        def certain(support, support_labels, query, num_classes, seed):
            first = np.arange(num_classes) == 0
            return np.where(first, np.zeros((len(query), 1)), -np.inf)

        assert few_shot_accuracy(
            embeddings, labels, 2, 5, log_prob=certain
        ) == pytest.approx(1 / 6)


class TestErrors:
    @pytest.mark.parametrize(
        "change, message",
        [
            ({"embeddings": np.zeros((0, 3))}, "not be empty"),
            ({"embeddings": np.zeros(150)}, r"\(num_examples, width\)"),
            ({"embeddings": np.full((150, 3), np.nan)}, r"nan at \(0, 0\)"),
            ({"embeddings": np.full((150, 3), "a")}, "must be numbers"),
            ({"labels": np.zeros(149, int)}, "149 rows of `labels`"),
            ({"labels": np.zeros(150)}, "integers; received dtype float64"),
            ({"labels": np.zeros((150, 1), int)}, r"\(150, 1\)"),
            ({"num_support": 0}, "num_support"),
            ({"num_query": 0}, "num_query"),
            ({"num_episodes": 0}, "num_episodes"),
            ({"num_classes": 0}, "num_classes"),
            ({"num_classes": 7}, "classes in `labels`, 6; received 7"),
            ({"num_support": 21}, "must have at least 26 instances"),
            ({"seed": 0.5}, "seed"),
            ({"query_embeddings": np.zeros((150, 2))}, "shape of `emb"),
            (
                {"query_embeddings": np.full((150, 3), np.inf)},
                "`query_embeddings` must be finite",
            ),
        ],
    )
    def test_arguments_are_checked_before_the_first_episode(
        self, change, message
    ):
        embeddings, labels = blobs()
        arguments = {
            "embeddings": embeddings,
            "labels": labels,
            "num_support": 2,
            "num_query": 5,
        }
        with pytest.raises(ValueError, match=message):
            few_shot_episodes(**(arguments | change))

    @pytest.mark.parametrize(
        "value, message",
        [
            (np.zeros((30, 5)), r"\(30, 6\); received shape \(30, 5\)"),
            (np.full((30, 6), np.nan), "NaN in episode 0"),
            ([[0.0], [0.0, 1.0]], "result of `log_prob` must be an array"),
            (np.full((30, 6), "a"), "real numbers; received dtype <U1"),
            (np.full((30, 6), None), "real numbers; received dtype object"),
            (np.zeros((30, 6)) * 1j, "real numbers; received dtype complex"),
            (np.ma.masked_all((30, 6)), "no masked entries; received 180"),
        ],
    )
    def test_log_prob(self, value, message):
        embeddings, labels = blobs()
        with pytest.raises(ValueError, match=message):
            few_shot_accuracy(
                embeddings, labels, 2, 5, log_prob=lambda *arguments: value
            )


class TestConfidenceInterval:
    @pytest.mark.parametrize("level", [0.9, 0.95, 0.99])
    def test_against_scipy(self, level):
        values = np.random.default_rng(0).normal(size=40)
        low, high = stats.norm.interval(
            level, loc=values.mean(), scale=stats.sem(values)
        )
        assert confidence_interval(values, level) == pytest.approx(
            (high - low) / 2
        )

    def test_degenerate(self):
        assert confidence_interval([0.5, 0.5, 0.5]) == 0.0
        assert confidence_interval([0.5]) == math.inf

    def test_errors(self):
        with pytest.raises(ValueError, match="not be empty"):
            confidence_interval([])
        with pytest.raises(ValueError, match="finite"):
            confidence_interval([0.5, np.nan])
        for level in (0, 1, 95):
            with pytest.raises(ValueError, match=f"received {level}"):
                confidence_interval([0.5, 0.6], level)


def test_a_class_far_away():
    """Before, its mean took the digits of all other classes."""
    embeddings, labels = blobs(spread=0.5)
    alone = np.concatenate([embeddings.astype(float), np.full((25, 3), 1e9)])
    named = np.concatenate([labels, np.full(25, 99)])
    accuracy = few_shot_accuracy(alone, named, 5, 10, num_episodes=50)
    rest = few_shot_accuracy(embeddings, labels, 5, 10, num_episodes=50)
    # The class far away is always right, one of 7.
    assert accuracy == pytest.approx((6 * rest + 1) / 7, abs=0.02)


def test_distances_whose_squares_overflow():
    embeddings, labels = blobs(spread=0.05)
    embeddings = np.ldexp(embeddings.astype(float), 900)
    for log_probability, target in few_shot_episodes(embeddings, labels, 5, 10):
        np.testing.assert_array_equal(log_probability.max(axis=1), 0)
        assert np.mean(log_probability.argmax(axis=1) == target) > 0.9


def test_log_prob_must_be_a_function():
    embeddings, labels = blobs()
    with pytest.raises(ValueError, match="`log_prob` must be a function"):
        few_shot_accuracy(embeddings, labels, 1, log_prob="nearest")


class TestIntervalOfHostileValues:
    def test_squares_that_overflow(self):
        values = np.array([1.0, 2.0, 4.0])
        assert confidence_interval(np.ldexp(values, 1000)) == np.ldexp(
            confidence_interval(values), 1000
        )

    def test_a_level_next_to_1(self):
        level = math.nextafter(1, 0)
        assert 8 < confidence_interval([-1, 1], level) < 9

    @pytest.mark.parametrize("level", ["a", None, np.nan])
    def test_levels(self, level):
        with pytest.raises(ValueError, match="`level` must be between"):
            confidence_interval([0.5, 0.6], level)


class TestGaussian:
    labels = np.repeat(np.arange(6), 10)
    means = np.random.default_rng(0).normal(size=(60, 2))
    # Variances without information, larger than the means.
    packed = np.hstack([means, np.random.default_rng(1).gamma(9, size=(60, 2))])

    def test_means_are_compared(self):
        for function in (
            few_shot_accuracy,
            lambda *a, **k: next(few_shot_episodes(*a, **k))[0],
        ):
            np.testing.assert_array_equal(
                function(
                    self.packed,
                    self.labels,
                    2,
                    5,
                    query_embeddings=self.packed[::-1],
                    gaussian=True,
                ),
                function(
                    self.means,
                    self.labels,
                    2,
                    5,
                    query_embeddings=self.means[::-1],
                ),
            )

    def test_errors(self):
        with pytest.raises(ValueError, match="received width 3"):
            few_shot_accuracy(
                self.packed[:, :3], self.labels, 2, 5, gaussian=True
            )
        with pytest.raises(ValueError, match="Leave one of the two out"):
            few_shot_accuracy(
                self.packed,
                self.labels,
                2,
                5,
                gaussian=True,
                log_prob=lambda *arguments: None,
            )


@pytest.mark.parametrize("scale", [1e-8, 1e-12, 1e-100])
def test_the_nearest_class_wins_however_small_embeddings_are(scale):
    """Probabilities of the three classes are equal in float64."""
    labels = np.repeat([0, 1, 2], 20)
    embeddings = scale * labels[:, None].astype(float)
    assert few_shot_accuracy(embeddings, labels, 5, num_episodes=5) == 1


def test_a_huge_outlier_changes_nothing():
    """Before, squares of all other differences underflowed."""
    embeddings = np.repeat([[0.0], [5.0], [1e200]], 4, axis=0)
    assert few_shot_accuracy(embeddings, np.repeat([0, 1, 2], 4), 2, 2) == 1
