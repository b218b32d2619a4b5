import json
import os

import numpy as np
import pytest
from scipy import optimize
from scipy import special

from embeddings_tf.metrics import cllr
from embeddings_tf.metrics import min_cllr
from embeddings_tf.scoring import IsotonicCalibration
from embeddings_tf.scoring import LogisticCalibration


def trials(n=2000, gap=1.5, seed=0):
    rng = np.random.default_rng(seed)
    is_target = rng.random(n) < 0.1
    return rng.normal(size=n) + gap * is_target, is_target


@pytest.mark.parametrize("prior", [0.01, 0.5])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e4])
def test_logistic_minimises_the_formula(prior, scale):
    scores, is_target = trials()

    def cost(parameters):
        odds = parameters[0] * scores + parameters[1]
        odds = odds + np.log(prior / (1 - prior))
        misses = np.mean(np.logaddexp(0, -odds[is_target]))
        false_alarms = np.mean(np.logaddexp(0, odds[~is_target]))
        return prior * misses + (1 - prior) * false_alarms

    best = optimize.minimize(cost, [1.0, 0.0], tol=1e-12).x
    found = LogisticCalibration(prior).fit(scale * scores, is_target)
    assert found.slope_ * scale == pytest.approx(best[0], rel=1e-3)
    assert found.offset_ == pytest.approx(best[1], rel=1e-3, abs=1e-3)
    np.testing.assert_allclose(
        found.transform(scale * scores), best[0] * scores + best[1], atol=1e-2
    )


@pytest.mark.parametrize("prior", [1e-8, 1 - 1e-8])
def test_logistic_with_a_rare_kind_has_no_gradient_left(prior):
    scores, is_target = trials()
    found = LogisticCalibration(prior).fit(scores, is_target)
    odds = found.transform(scores) + np.log(prior / (1 - prior))
    slopes = np.where(is_target, -prior * special.expit(-odds), 0.0)
    slopes /= is_target.sum()
    rises = np.where(is_target, 0.0, (1 - prior) * special.expit(odds))
    slopes += rises / (~is_target).sum()
    rarer = min(prior, 1 - prior)
    assert abs(slopes.sum()) < 1e-3 * rarer
    assert abs(slopes @ scores) < 1e-3 * rarer


def test_logistic_at_the_limits_of_the_prior():
    """For rare targets, sigmoid(r) is exp(r): an exponential tilt.

    The slope makes the mean of the tilted nontargets the mean of the targets.
    For rare nontargets, it makes the mean of the targets, tilted by minus the
    slope, the mean of the nontargets.
    """
    scores, is_target = trials()
    targets, nontargets = scores[is_target], scores[~is_target]

    def tilt(tilted, other):
        def gap(slope):
            return special.softmax(slope * tilted) @ tilted - other.mean()

        return optimize.brentq(gap, -20, 20)

    for prior in (1e-10, 1e-12, 1e-16, 2e-20):
        found = LogisticCalibration(prior).fit(scores, is_target)
        slope = tilt(nontargets, targets)
        assert found.slope_ == pytest.approx(slope, rel=1e-6)
        ratio = np.mean(np.exp(found.slope_ * nontargets + found.offset_))
        assert ratio == pytest.approx(1, rel=1e-6)
    for prior in (1 - 1e-10, 1 - 1e-12, 1 - 2**-53):
        found = LogisticCalibration(prior).fit(scores, is_target)
        slope = -tilt(targets, nontargets)
        assert found.slope_ == pytest.approx(slope, rel=1e-6)
    with pytest.raises(
        ValueError, match="`target_prior` must be between 1e-20"
    ):
        LogisticCalibration(1e-100)


def test_gaussian_scores_get_their_true_ratio():
    """ln N(s; 1.5, 1) - ln N(s; 0, 1) = 1.5 s - 1.125, for any shares."""
    scores, is_target = trials(n=200_000)
    found = LogisticCalibration().fit(scores, is_target)
    assert found.slope_ == pytest.approx(1.5, rel=0.03)
    assert found.offset_ == pytest.approx(-1.125, rel=0.05)


def test_calibration_reaches_the_minimum():
    fitted, other = trials(20_000, seed=0), trials(20_000, seed=1)
    for calibration in (LogisticCalibration(), IsotonicCalibration()):
        ratios = calibration.fit(*fitted).transform(other[0])
        assert cllr(ratios, other[1]) < min_cllr(*other) + 0.01
        assert cllr(other[0], other[1]) > min_cllr(*other) + 0.05


def test_isotonic_by_hand():
    """With a target and a nontarget at both ends, T = N = 5.

    Pools: (1, 2): 1 target of 4 with the lower end; (3, 4): 1 of 2; (5, 6): 3
    of 4 with the upper end.
    """
    found = IsotonicCalibration().fit([1, 2, 3, 4, 5, 6], [0, 0, 1, 0, 1, 1])
    np.testing.assert_allclose(
        found.transform([-9, 1, 2, 2.5, 3, 4, 4.25, 5, 6, 9]),
        np.log(3) * np.array([-1, -1, -1, -0.5, 0, 0, 0.25, 1, 1, 1]),
        atol=1e-12,
    )


def test_isotonic_never_decreases_and_stays_finite():
    for gap in (-2.0, 0.0, 9.0):
        scores, is_target = trials(300, gap)
        found = IsotonicCalibration().fit(scores, is_target)
        ratios = found.transform(np.linspace(-20, 20, 500))
        assert np.isfinite(ratios).all()
        assert (np.diff(ratios) >= 0).all()


def test_equal_scores_know_nothing():
    for score in (2.0, 0.1):  # the mean of three 0.1 is not 0.1
        calibration = LogisticCalibration().fit([score] * 3, [1, 0, 0])
        assert calibration.transform([2.0, 5.0]).tolist() == [0.0, 0.0]
    # With the lower end 2 of 5, where 3 of 7 trials are targets.
    calibration = IsotonicCalibration().fit([2.0, 2.0, 2.0], [1, 0, 0])
    np.testing.assert_allclose(
        calibration.transform([2.0, 5.0]), np.log(2 / 3) - np.log(3 / 4)
    )


@pytest.mark.parametrize("make", [LogisticCalibration, IsotonicCalibration])
def test_saved_as_plain_data(make, tmp_path):
    fitted = make().fit(*trials(200))
    path = tmp_path / "calibration.json"
    fitted.save(path)
    assert json.loads(path.read_text()) == fitted.to_dict()
    scores = np.linspace(-5, 5, 11).reshape(1, 11)
    again = make.load(path).transform(scores)
    np.testing.assert_array_equal(again, fitted.transform(scores))
    assert [p.name for p in tmp_path.iterdir()] == ["calibration.json"]


@pytest.mark.parametrize("make", [LogisticCalibration, IsotonicCalibration])
def test_files_that_are_refused(make, tmp_path):
    path = tmp_path / "calibration.json"
    other = {LogisticCalibration, IsotonicCalibration} - {make}
    good = make().fit(*trials(200)).to_dict()
    for content in (
        "{",
        "[]",
        json.dumps(other.pop()().fit(*trials(200)).to_dict()),
        json.dumps({"kind": good["kind"]}),
        json.dumps({**good, **{k: "no" for k in good if k != "kind"}}),
    ):
        path.write_text(content)
        with pytest.raises(ValueError, match=r"must be|received"):
            make.load(path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="a pipe or a device"):
        make.load(tmp_path / "pipe")


def test_refused():
    with pytest.raises(ValueError, match="overlap"):
        LogisticCalibration().fit([1.0, 2.0], [0, 1])
    # Equal scores at the threshold do not make the best slope finite.
    for scores in ([0.0, 1.0, 1.0, 2.0], [2.0, 1.0, 1.0, 0.0], [0.0, 0, 0, 2]):
        with pytest.raises(ValueError, match="overlap"):
            LogisticCalibration().fit(scores, [0, 0, 1, 1])
    for calibration in (LogisticCalibration(), IsotonicCalibration()):
        with pytest.raises(ValueError, match="not fitted"):
            calibration.transform([1.0])
        with pytest.raises(ValueError, match="not fitted"):
            calibration.to_dict()
        with pytest.raises(ValueError, match="both kinds"):
            calibration.fit([1.0, 2.0], [1, 1])
        with pytest.raises(ValueError, match="finite"):
            calibration.fit([1.0, np.inf], [1, 0])
        with pytest.raises(ValueError, match="finite"):
            calibration.fit([1.0, 2.0, 0.0], [1, 0, 1]).transform([np.nan])


@pytest.mark.parametrize("outlier", [1e6, 1e8, 1e12, 1e14, 1e20, 1e300])
def test_an_outlier_does_not_change_the_slope(outlier):
    """An easy nontarget that costs nothing anyway."""
    rng = np.random.default_rng(0)
    is_target = rng.random(2000) < 0.5
    scores = rng.normal(size=2000) + 2 * is_target
    easy = np.flatnonzero(~is_target)[0]
    scores[easy] = -30
    expected = LogisticCalibration().fit(scores, is_target)
    scores[easy] = -outlier
    found = LogisticCalibration().fit(scores, is_target)
    assert found.slope_ == pytest.approx(expected.slope_, rel=1e-4)
    assert found.offset_ == pytest.approx(expected.offset_, rel=1e-4)


def is_best(found, scores, is_target):
    """The gradient of the mean cost is 0, by a loop over `scores`."""
    of_slope, of_offset = 0.0, 0.0
    for score, target in zip(scores, is_target, strict=True):
        share = 0.5 / np.sum(is_target == target)
        rise = special.expit(found.slope_ * score + found.offset_) - target
        of_slope += share * rise * score
        of_offset += share * rise
    return abs(of_slope) < 1e-6 and abs(of_offset) < 1e-6


@pytest.mark.parametrize("share", [0.01, 0.4, 0.9])
@pytest.mark.parametrize("size", [1e7, 1e12, 1e16])
def test_many_far_scores_on_the_right_side(share, size):
    """Distances to examples that the encoder has put far away."""
    rng = np.random.default_rng(0)
    is_target = np.arange(2000) % 4 == 0
    scores = rng.normal(size=2000) + 2 * is_target
    nontargets = np.flatnonzero(~is_target)
    far = nontargets[: int(share * len(nontargets))]
    scores[far] = -size * rng.uniform(1, 2, size=len(far))
    found = LogisticCalibration().fit(scores, is_target)
    assert is_best(found, scores, is_target)
    assert 1.5 < found.slope_ < 2.5  # ln N(s; 2, 1) / N(s; 0, 1) = 2 s - 2


def nearly_equal_scores():
    """As cosines of sparse embeddings of different classes."""
    rng = np.random.default_rng(0)
    is_target = np.arange(2000) < 100
    scores = 1e-12 * rng.normal(size=2000)
    scores[:100] = rng.normal(0.6, 0.25, size=100)
    scores[100:160] = rng.normal(0.3, 0.2, size=60)
    return scores, is_target


def test_far_scores_of_several_sizes():
    """Most scores are nearly equal, and one is an outlier."""
    scores, is_target = nearly_equal_scores()
    expected = LogisticCalibration().fit(scores, is_target)
    assert is_best(expected, scores, is_target)
    scores[0] = 1e14
    found = LogisticCalibration().fit(scores, is_target)
    assert is_best(found, scores, is_target)
    assert found.slope_ == pytest.approx(expected.slope_, rel=0.1)


@pytest.mark.parametrize("size", [1e3, 1e9, 1e15])
def test_a_far_score_on_the_wrong_side(size):
    """Only a slope near 0 keeps its cost small."""
    scores, is_target = trials()
    scores[np.flatnonzero(is_target)[0]] = -size
    found = LogisticCalibration().fit(scores, is_target)
    ratios = found.transform(scores)
    assert cllr(ratios, is_target) < 1
    ordinary = np.abs(scores) < 10
    assert np.ptp(ratios[ordinary]) < 0.5


def test_most_scores_are_nearly_equal():
    scores, is_target = nearly_equal_scores()
    found = LogisticCalibration().fit(scores, is_target)
    weights = np.where(is_target, 0.5 / 100, 0.5 / 1900)

    def cost(parameters):
        logits = parameters[0] * scores + parameters[1]
        losses = np.logaddexp(0, np.where(is_target, -logits, logits))
        return np.sum(weights * losses)

    best = optimize.minimize(cost, [1.0, 0.0], method="Nelder-Mead")
    assert found.slope_ == pytest.approx(best.x[0], rel=1e-2)
    assert found.offset_ == pytest.approx(best.x[1], rel=1e-2)


def test_scores_whose_range_overflows():
    found = LogisticCalibration().fit([1e308, -1e308, 1e308, 0], [1, 0, 0, 1])
    scaled = LogisticCalibration().fit([1.0, -1.0, 1.0, 0.0], [1, 0, 0, 1])
    assert found.slope_ == pytest.approx(scaled.slope_ / 1e308, rel=1e-6)
    assert found.offset_ == pytest.approx(scaled.offset_, rel=1e-6)


def test_scores_near_the_limits_of_float64():
    """0 is in the middle of scores and of ratios."""
    for largest in (1.0, 1.7e308, 1e-320):
        found = IsotonicCalibration().fit([-largest, largest], [0, 1])
        ratios = found.transform([-largest, 0.0, largest])
        assert ratios[1] == pytest.approx(0, abs=1e-12)
        assert ratios[2] == pytest.approx(-ratios[0])
        again = IsotonicCalibration.from_dict(found.to_dict())
        assert again.transform(0.0) == ratios[1]
    scores, is_target = trials()
    with pytest.raises(ValueError, match="e-320 in size. Rescale them"):
        LogisticCalibration().fit(np.clip(scores, -4, 4) * 1e-320, is_target)
