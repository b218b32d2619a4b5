"""Promised error rates of few-shot answers, on data with known errors."""

import numpy as np
import pytest
import scipy.stats

from trainers.measures import promises


def test_the_promise_is_kept_on_average():
    """Classes have their own mean score; 10 calibrate, 10 measure."""
    kept, rng = [], np.random.default_rng(0)
    for seed in range(300):
        classes = np.repeat(np.arange(20), 5)
        unknown = rng.normal(size=20)[classes] + rng.normal(size=100)
        known = 6 + rng.normal(size=50)
        kept.append(promises.kept_promise(known, unknown, classes, seed))
    found = promises.mean_promise([*kept, None])
    # 10 classes cannot promise 0.05.
    assert found["promised_false_accept_rate"] == pytest.approx(1 / 11)
    reached = [row["reached_false_accept_rate"] for row in kept]
    error = np.std(reached) / 300**0.5
    assert found["reached_false_accept_rate"] == np.mean(reached)
    assert 0 < np.mean(reached) < 1 / 11 + 3 * error
    width = found["reached_false_accept_rate_interval"]
    assert width == pytest.approx(1.96 * error, rel=0.01)
    assert found["known_accepted"] > 0.9
    text = promises.text_of_promise(found)
    assert f"±{100 * width:.1f} % (promised 9.1 %)" in text
    one = promises.mean_promise(kept[:1])
    assert one == kept[0], "one episode has no interval"


def test_one_other_class_can_promise_nothing():
    found = promises.kept_promise([1.0], np.zeros(3), np.zeros(3, int), 0)
    assert found is None
    assert promises.mean_promise([found]) == {}
    assert promises.text_of_promise({}) == ""


def test_rates_follow_from_the_number_of_classes():
    """p = 1 / (1 + 0.95 r / (1 - r))^N must be far below 0.05."""
    for rate, classes in ((0.2, 43), (0.1, 60), (0.05, 190)):
        factor = 1 + 0.95 * rate / (1 - rate)
        expected = factor**classes >= 20**3
        assert promises._is_enough(classes, rate) == expected
        assert factor**classes > 20


def some_episodes(num_classes, error):
    """One query per class and episode; confident answers are right."""
    episodes, labels, answers = [], [], []
    rng = np.random.default_rng(1)
    for _ in range(40):
        sure = rng.random(num_classes) < 0.6
        is_error = ~sure & (rng.random(num_classes) < 2 * error)
        top = np.where(sure, 0.97, 0.55)
        log_prob = np.log(np.stack([top, 1 - top], axis=1))
        episodes.append((log_prob, np.zeros(num_classes, int)))
        labels.append(np.arange(num_classes))
        answers.append(np.arange(num_classes) + is_error)
    return episodes, np.concatenate(labels), np.concatenate(answers)


def test_uncertain_answers_are_refused_if_they_are_wrong():
    found = promises.accepted_answers(*some_episodes(400, 0.3))
    found = found["accepted_answers"]
    assert found["promised_error"] == 0.05
    assert found["calibration_classes"] == 200
    assert found["error"] == 0 and found["error_interval"] is None
    assert 0.5 < found["accepted"] < 0.7
    assert found["threshold"] == pytest.approx(0.97)
    cell = {
        "expected_calibration_error": 0.1,
        "area_under_risk_coverage": 0.02,
        "accepted_answers": found,
    }
    text = "\n".join(promises.lines_of_trust("test", cell))
    assert "calibration error 10.0 %, AURC 2.00 %" in text
    assert "at most 0.05 with probability 0.95" in text


def test_nothing_is_accepted_if_all_are_wrong():
    episodes, labels, _ = some_episodes(400, 0)
    found = promises.accepted_answers(episodes, labels, labels + 1)
    found = found["accepted_answers"]
    assert found["threshold"] is None and found["error"] is None
    assert found["error_interval"] is None
    assert found["accepted"] == 0


def test_few_classes_promise_nothing():
    assert promises.accepted_answers(*some_episodes(20, 0.1)) == {}


def test_the_interval_of_the_error_is_over_classes():
    """One answer per class: the errors of a resample are binomial."""
    wrong = np.arange(200) < 40
    found = promises.error_interval(wrong, np.arange(200), 200)
    expected = scipy.stats.binom(200, 0.2).ppf([0.025, 0.975]) / 200
    np.testing.assert_allclose(found, expected, atol=0.011)
    # More answers that only repeat the first say nothing new.
    repeated = np.tile(wrong, 3), np.tile(np.arange(200), 3)
    assert promises.error_interval(*repeated, 200) == found


def test_the_interval_of_the_error_by_loop():
    """Classes 3 to 5 have no accepted answer, but are drawn."""
    wrong, labels = np.array([1, 0, 0, 1, 1, 0], bool), [0, 0, 1, 1, 1, 2]
    rng, errors = np.random.default_rng(0), []
    for times in rng.multinomial(6, np.full(6, 1 / 6), promises.NUM_RESAMPLES):
        drawn = np.repeat(wrong, times[labels])
        if len(drawn):
            errors.append(np.mean(drawn))
    assert len(errors) < promises.NUM_RESAMPLES
    found = promises.error_interval(wrong, np.array(labels), 6)
    np.testing.assert_allclose(found, np.quantile(errors, [0.025, 0.975]))
    assert promises.error_interval(wrong[1:3], np.array(labels)[1:3], 6) is None


def test_errors_among_accepted_answers_have_an_interval():
    episodes, labels, answers = some_episodes(400, 0.3)
    rng = np.random.default_rng(2)
    answers = answers + (rng.random(len(answers)) < 0.01)
    found = promises.accepted_answers(episodes, labels, answers)
    found = found["accepted_answers"]
    low, high = found["error_interval"]
    assert 0 < low < found["error"] < high < 0.05
    cell = {
        "expected_calibration_error": 0.1,
        "area_under_risk_coverage": 0.02,
        "accepted_answers": found,
    }
    text = "\n".join(promises.lines_of_trust("test", cell))
    assert f"95 % interval {low:.3f} to {high:.3f} (promised" in text
