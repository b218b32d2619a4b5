import numpy as np
import pytest

from embeddings_tf.metrics import likelihood_ratio_curve


def test_against_a_loop():
    rng = np.random.default_rng(0)
    is_target = rng.random(400) < 0.2
    scores = np.round(rng.normal(size=400) + is_target, 1)
    num_targets, num_nontargets = is_target.sum(), (~is_target).sum()
    bins = [[] for _ in range(5)]
    below = 0.0
    for score in sorted(set(scores)):
        same = scores == score
        t, n = np.sum(is_target & same), np.sum(~is_target & same)
        mass = t / num_targets / 2 + n / num_nontargets / 2
        bins[int((below + mass / 2) * 5)].append((score, t, n, mass))
        below += mass
    found = likelihood_ratio_curve(scores, is_target, 5)
    assert len(found["stated"]) == 5
    for i, rows in enumerate(bins):
        score, t, n, mass = map(np.array, zip(*rows, strict=True))
        assert found["targets"][i] == t.sum()
        assert found["nontargets"][i] == n.sum()
        assert found["stated"][i] == pytest.approx(mass @ score / mass.sum())
        assert found["observed"][i] == pytest.approx(
            np.log((t.sum() / num_targets) / (n.sum() / num_nontargets))
        )


def test_true_ratios_are_on_the_diagonal():
    """Scores N(+-2, 2^2) are their own log-likelihood ratios."""
    rng = np.random.default_rng(0)
    is_target = rng.random(200_000) < 0.3
    scores = 2 * rng.normal(size=200_000) + np.where(is_target, 2, -2)
    found = likelihood_ratio_curve(scores, is_target, 10)
    inner = slice(2, -2)  # the outer bins are wide
    np.testing.assert_allclose(
        found["observed"][inner], found["stated"][inner], atol=0.15
    )


def test_separated_trials_have_no_bin_with_both():
    found = likelihood_ratio_curve([0.0, 1.0], [0, 1])
    assert all(len(values) == 0 for values in found.values())
    with pytest.raises(ValueError, match="scores"):
        likelihood_ratio_curve([0.0, np.inf], [0, 1])
