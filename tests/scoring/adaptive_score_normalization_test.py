import numpy as np
import pytest

from embeddings_tf.metrics import cosine_scores
from embeddings_tf.metrics import score_all_pairs
from embeddings_tf.scoring import AdaptiveScoreNormalization


def cosine(a, b):
    return a @ b / np.linalg.norm(a) / np.linalg.norm(b)


@pytest.mark.parametrize("top_k", [2, 5, 20, 300])
def test_against_a_loop(top_k):
    rng = np.random.default_rng(0)
    first, second, cohort = (rng.normal(size=(n, 4)) for n in (6, 7, 20))
    expected = np.zeros((6, 7))
    for i, e in enumerate(first):
        for j, t in enumerate(second):
            of_e = sorted(cosine(e, c) for c in cohort)[-top_k:]
            of_t = sorted(cosine(t, c) for c in cohort)[-top_k:]
            expected[i, j] = 0.5 * (
                (cosine(e, t) - np.mean(of_e)) / np.std(of_e)
                + (cosine(e, t) - np.mean(of_t)) / np.std(of_t)
            )
    normalized = AdaptiveScoreNormalization(cosine_scores, cohort, top_k)
    np.testing.assert_allclose(normalized(first, second), expected)
    np.testing.assert_allclose(
        score_all_pairs(normalized, first, second, block_size=3), expected
    )


def test_removes_an_offset_of_an_example():
    """An example whose scores are all higher by 1 is compared as before."""
    rng = np.random.default_rng(0)
    first, second, cohort = (rng.normal(size=(n, 3)) for n in (4, 5, 9))

    def shifted(a, b):
        return a @ b.T + (a[:, :1] == first[0, 0])

    plain = AdaptiveScoreNormalization(lambda a, b: a @ b.T, cohort, 4)
    found = AdaptiveScoreNormalization(shifted, cohort, 4)
    mean, deviation = plain._statistics("second", second @ cohort.T)
    difference = found(first, second) - plain(first, second)
    # Only the half that compares with the cohort of the other side changes.
    np.testing.assert_allclose(difference[0], 0.5 / deviation)
    np.testing.assert_allclose(difference[1:], 0, atol=1e-12)


@pytest.mark.parametrize(
    ("cohort", "top_k", "message"),
    [
        ([[1.0, 0.0]], 5, "at least 2"),
        ([[1.0, 0.0], [0.0, np.nan]], 5, "cohort"),
        ([[1.0, 0.0], [0.0, 1.0]], 1, "top_k"),
        ([[1.0, 0.0], [1.0, 0.0]], 2, "equal scores"),
        # Three times a number whose sum is rounded.
        ([[1.0, 0.7]] * 3, 3, "equal scores"),
    ],
)
def test_refused(cohort, top_k, message):
    with pytest.raises(ValueError, match=message):
        AdaptiveScoreNormalization(cosine_scores, cohort, top_k)(
            [[1.0, 2.0]], [[3.0, 1.0]]
        )


def test_an_asymmetric_score_keeps_its_sides():
    rng = np.random.default_rng(0)
    first, second, cohort = (rng.normal(size=(n, 2)) for n in (3, 4, 6))

    def score(enroll, test):
        return enroll[:, :1] - 3 * test[:, 1] + np.sin(enroll @ test.T)

    def normalized(scores, of_cohort):
        return (scores - of_cohort.mean()) / of_cohort.std()

    found = AdaptiveScoreNormalization(score, cohort)(first, second)
    for i, enroll in enumerate(first):
        for j, test in enumerate(second):
            trial = score(enroll[None], test[None])[0, 0]
            expected = (
                normalized(trial, score(enroll[None], cohort))
                + normalized(trial, score(cohort, test[None]))
            ) / 2
            assert found[i, j] == pytest.approx(expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scores_that_differ_by_rounding_are_equal(dtype):
    """Before, a score was divided by the rounding error of a cosine."""
    rng = np.random.default_rng(0)
    cohort = np.outer(rng.uniform(1, 9, 20), rng.normal(size=7)).astype(dtype)
    x = rng.normal(size=(2, 5, 7)).astype(dtype)
    assert np.ptp(cosine_scores(x[0], cohort), axis=1).max() > 0
    normalized = AdaptiveScoreNormalization(cosine_scores, cohort, 20)
    with pytest.raises(ValueError, match="20 equal scores, up to rounding"):
        normalized(*x)


@pytest.mark.parametrize("scale", [2.0**-700, 2.0**-1000, 2.0**1000])
def test_the_scale_of_the_scores_does_not_matter(scale):
    rng = np.random.default_rng(0)
    first, second, cohort = (rng.normal(size=(n, 3)) for n in (4, 5, 9))
    plain = AdaptiveScoreNormalization(lambda a, b: a @ b.T, cohort, 4)
    found = AdaptiveScoreNormalization(lambda a, b: a @ b.T * scale, cohort, 4)
    np.testing.assert_allclose(found(first, second), plain(first, second))
