import itertools

import ml_dtypes
import numpy as np
import pytest
import tensorflow as tf

from embeddings_tf.metrics import TrialHistogram
from embeddings_tf.metrics import cosine_score_pairs
from embeddings_tf.metrics import cosine_scores
from embeddings_tf.metrics import fuse_scores
from embeddings_tf.metrics import mean_average_precision
from embeddings_tf.metrics import recall_at_k
from embeddings_tf.metrics import roc_auc
from embeddings_tf.metrics import score_all_pairs
from embeddings_tf.metrics import score_enrollments
from embeddings_tf.metrics import score_trials
from embeddings_tf.metrics import stream_trials


def embeddings(n, dim=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, dim))


def lopsided(a, b):
    """A score that depends on the order of the two sides."""
    return a[:, :1] - 2 * b[:, 1]


def nan(a, b):
    return np.full((len(a), len(b)), np.nan)


class TestCosine:
    def test_against_loop(self):
        a, b = embeddings(4), embeddings(4, seed=1)
        expected = [[x @ y / np.sqrt((x @ x) * (y @ y)) for y in b] for x in a]
        np.testing.assert_allclose(cosine_scores(a, b), expected, atol=1e-15)
        pairs = cosine_score_pairs(tf.constant(a), tf.constant(b))
        np.testing.assert_allclose(pairs, np.diag(expected), atol=1e-15)

    @pytest.mark.parametrize("scale", [1e-300, 1e-40, 1e200])
    def test_any_scale(self, scale):
        x = np.array([[3.0, 4.0], [0.0, 0.0]])
        expected = [[1.0, 0.0], [0.0, 0.0]]
        np.testing.assert_allclose(cosine_scores(scale * x, x), expected)

    def test_float32_and_range(self):
        x = embeddings(200).astype(np.float32)
        scores = cosine_scores(x, 3 * x)
        assert scores.dtype == np.float32
        assert np.abs(scores).max() <= 1

    def test_bad_input(self):
        with pytest.raises(ValueError, match="same dim"):
            cosine_scores(np.ones((2, 3)), np.ones((2, 4)))
        with pytest.raises(ValueError, match="2 rows of `first`"):
            cosine_score_pairs(np.ones((2, 3)), np.ones((1, 3)))


class TestFuseScores:
    def test_formula(self):
        probability = np.array([[0.0, 1.0], [0.25, 0.5]])
        cosine = np.array([[-1.0, 1.0], [0.5, -0.5]])
        expected = [[0.0, 1.0], [(0.25 + 0.75) / 2, (0.5 + 0.25) / 2]]
        np.testing.assert_allclose(fuse_scores(probability, cosine), expected)

    @pytest.mark.parametrize(
        ("probability", "cosine", "message"),
        [
            ([3.0], [0.0], "sigmoid"),
            ([np.nan], [0.0], "`probability` must be finite"),
            ([0.5], [1.5], "between -1 and 1"),
            ([0.5], [0.0, 0.0], "one shape"),
            ([], [], "not be empty"),
            ([0.5], [0.5 + 1j], "must be real numbers"),
            (["0.5"], [0.5], "must be numbers"),
        ],
    )
    def test_bad_input(self, probability, cosine, message):
        with pytest.raises(ValueError, match=message):
            fuse_scores(probability, cosine)


class TestScoreAllPairs:
    @pytest.mark.parametrize("block_size", [1, 3, 100])
    def test_blocks(self, block_size):
        a, b = embeddings(7), embeddings(5, seed=1)
        sizes = []

        def score(x, y):
            sizes.append(max(len(x), len(y)))
            return tf.constant(lopsided(x, y))

        found = score_all_pairs(score, a, b, block_size=block_size)
        np.testing.assert_array_equal(found, lopsided(a, b))
        assert max(sizes) <= block_size
        found = score_all_pairs(lopsided, a, block_size=block_size)
        np.testing.assert_array_equal(found, lopsided(a, a))

    def test_bad_scores(self):
        with pytest.raises(ValueError, match="NaN"):
            score_all_pairs(nan, embeddings(2))
        with pytest.raises(ValueError, match=r"\(2, 2\); received \(2,\)"):
            score_all_pairs(lambda a, b: a[:, 0], embeddings(2))
        for value, message in (
            ([[0.0], [0.0, 1.0]], "result of `score` must be an array, or"),
            (np.ma.masked_equal(np.eye(2), 1), "no masked entries; received 2"),
            (np.eye(2) * 1j, "real numbers; received dtype complex128"),
            (np.eye(2).astype(str), "real numbers; received dtype <U32"),
        ):
            with pytest.raises(ValueError, match=message):
                score_all_pairs(lambda a, b, value=value: value, embeddings(2))

    @pytest.mark.parametrize("make", [int, np.uint8, bool])
    def test_blocks_of_different_dtypes(self, make):
        """Before, 3.7 became 3 after a block of integers."""

        def score(a, b):
            found = a @ b.T
            is_whole = np.all(found == np.round(found))
            return found.astype(make) if is_whole else found

        a = np.array([[1.0], [0.0], [0.5], [3.7]])
        b = np.array([[1.0], [0.0], [1.0], [0.5]])
        for first in (a, a[::-1]):
            found = score_all_pairs(score, first, b, block_size=2)
            np.testing.assert_array_equal(found, first @ b.T)


class TestStreamTrials:
    @pytest.mark.parametrize("block_size", [1, 2, 4, 5, 9, 100])
    def test_unordered_pairs(self, block_size):
        x, labels = embeddings(9), np.arange(9) % 3
        found = []
        number = stream_trials(
            lopsided,
            x,
            labels,
            lambda *block: found.extend(zip(*block, strict=True)),
            block_size=block_size,
        )
        expected = [
            (x[i, 0] - 2 * x[j, 1], labels[i] == labels[j])
            for i, j in itertools.combinations(range(9), 2)
        ]
        assert number == 36
        assert sorted(found) == sorted(expected)

    def test_claimed_classes(self):
        classes, x = embeddings(3), embeddings(8, seed=1)
        labels = np.arange(8) % 4  # one class is not enrolled
        found = []
        number = stream_trials(
            lopsided,
            classes,
            [0, 1, 2],
            lambda *block: found.extend(zip(*block, strict=True)),
            test=x,
            test_labels=labels,
            block_size=3,
        )
        expected = [
            (classes[i, 0] - 2 * x[j, 1], i == labels[j])
            for i, j in itertools.product(range(3), range(8))
        ]
        assert number == 24
        assert sorted(found) == sorted(expected)

    def test_into_a_histogram(self):
        labels = np.repeat(np.arange(10), 6)
        x = embeddings(10, seed=1)[labels] + 0.5 * embeddings(60)
        histogram = TrialHistogram()
        stream_trials(cosine_scores, x, labels, histogram.update, block_size=7)
        i, j = np.triu_indices(60, 1)
        exact = roc_auc(cosine_scores(x, x)[i, j], labels[i] == labels[j])
        area, bound = histogram.roc_auc()
        assert abs(area - exact) <= bound + 1e-12 and bound < 0.01

    @pytest.mark.parametrize(
        ("labels", "test", "message"),
        [
            ([0, 1], {}, "2 rows of `labels`"),
            ([0, 1, 2], {"test": np.ones((2, 3))}, "only `test`"),
            ([0, 1, 2], {"test_labels": [1]}, "only `test_labels`"),
            (
                [0, 1, 2],
                {"test": np.ones((2, 3)), "test_labels": [1]},
                "2 rows of `test`",
            ),
            (
                [0, 1, 2],
                {"test": np.ones((2, 4)), "test_labels": [1, 2]},
                "same dim",
            ),
            ([0, 1, 2], {"block_size": 0}, "`block_size`"),
        ],
    )
    def test_bad_input(self, labels, test, message):
        def update(scores, is_target):
            raise AssertionError("nothing may be handed on")

        with pytest.raises(ValueError, match=message):
            stream_trials(cosine_scores, embeddings(3), labels, update, **test)
        with pytest.raises(ValueError, match="two examples"):
            stream_trials(cosine_scores, embeddings(1), [0], update)
        with pytest.raises(ValueError, match="NaN"):
            stream_trials(nan, embeddings(3), [0, 1, 1], update)


class TestScoreEnrollments:
    @pytest.mark.parametrize("combine", ["embedding", "mean", "max"])
    @pytest.mark.parametrize("block_size", [2, 100])
    def test_against_loop(self, combine, block_size):
        enroll, test = embeddings(7), embeddings(5, seed=1)
        labels = np.array([8, 3, 3, 5, 8, 3, 3])
        expected = []
        for label in (3, 5, 8):
            rows = enroll[labels == label]
            if combine == "embedding":
                scores = cosine_scores([np.mean(rows, axis=0)], test)[0]
            else:
                reduce = {"mean": np.mean, "max": np.max}[combine]
                scores = reduce(cosine_scores(rows, test), axis=0)
            expected.append(scores)
        classes, scores = score_enrollments(
            cosine_scores, enroll, labels, test, combine, block_size=block_size
        )
        assert classes.tolist() == [3, 5, 8]
        np.testing.assert_allclose(scores, expected, atol=1e-14)

    def test_bad_input(self):
        with pytest.raises(ValueError, match="`combine`.*'median'"):
            score_enrollments(
                cosine_scores, np.eye(2), [1, 2], np.eye(2), "median"
            )
        with pytest.raises(ValueError, match="3 rows of `enroll_labels`"):
            score_enrollments(cosine_scores, np.eye(2), [1, 2, 2], np.eye(2))


class TestScoreTrials:
    @pytest.mark.parametrize("block_size", [1, 2, 100])
    def test_against_loop(self, block_size):
        x = embeddings(4)
        names = ["a", "b", "c", "d"]
        trials = [("d", "a"), ("a", "d"), ("b", "b"), ("c", "a"), ("d", "a")]
        found = score_trials(
            lambda a, b: a[:, 0] - 2 * b[:, 1],
            x,
            np.array(names),
            np.array(trials),
            block_size=block_size,
        )
        expected = [
            x[names.index(a), 0] - 2 * x[names.index(b), 1] for a, b in trials
        ]
        assert found.tolist() == expected

    @pytest.mark.parametrize(
        ("names", "trials", "message"),
        [
            (["a", "b"], [("a", "x.wav"), ("y", "b")], "2 unknown.*'x.wav'"),
            (["a", "a"], [("a", "a")], "'a' more than once"),
            (["a"], [("a", "a")], "1 row of `names`"),
            (["a", "b"], [("a", "b", 1)], r"received \('a', 'b', 1\)"),
            (["a", "b"], [], r"received \[\]"),
        ],
    )
    def test_bad_input(self, names, trials, message):
        with pytest.raises(ValueError, match=message):
            score_trials(cosine_score_pairs, np.eye(2), names, trials)


class TestHostileScores:
    def test_mean_of_both_infinities(self):
        def score(a, b):
            return np.where(a > 0, np.inf, -np.inf) + 0 * b.T

        with pytest.raises(ValueError, match="both -inf and inf"):
            score_enrollments(score, [[1.0], [-1.0]], [0, 0], [[2.0]], "mean")

    def test_means_of_the_largest_numbers(self):
        largest = np.finfo(float).max

        def score(a, b):
            return a + 0 * b.T

        for combine in ("mean", "embedding"):
            _, scores = score_enrollments(
                score, [[largest], [largest]], [0, 0], [[2.0]], combine
            )
            assert scores.tolist() == [[largest]]

    @pytest.mark.parametrize(
        ("score", "message"),
        [
            ("cosine", "`score` must be a function"),
            (lambda a, b: (a @ b.T) * 1j, "real numbers; received .*complex"),
            (lambda a, b: (a @ b.T).astype(str), "real numbers; received"),
        ],
    )
    def test_scores_of_no_sense(self, score, message):
        with pytest.raises(ValueError, match=message):
            score_all_pairs(score, embeddings(3))

    def test_update_must_be_a_function(self):
        with pytest.raises(ValueError, match="`update` must be a function"):
            stream_trials(lopsided, embeddings(3), [0, 0, 1], None)

    @pytest.mark.parametrize(
        ("names", "trials"),
        [
            ("ab", [("a", "b")]),
            (["a", "b"], ["ab"]),
            (["a", "b"], "ab"),
            (["a", "b"], [1, 2]),
            (["a", "b"], None),
            (["a", ["b"]], [("a", "a")]),
            (3, [("a", "b")]),
        ],
    )
    def test_names_of_no_sense(self, names, trials):
        with pytest.raises(ValueError, match="must (be|hold) (a )?sequence"):
            score_trials(
                lambda a, b: a[:, 0] + b[:, 0], embeddings(2), names, trials
            )


def test_scores_in_bfloat16_are_ranked():
    """As of a distance in half precision."""

    def score(first, second):
        return (first @ second.T).astype(ml_dtypes.bfloat16)

    x = np.array([[1.0, 0], [2, 0], [0, 1], [0, 2]])
    labels = [0, 0, 1, 1]
    assert recall_at_k(x, labels, distance=score)[1] == 1.0
    assert mean_average_precision(x, labels, distance=score) == 1.0
