import math

import numpy as np
import pytest

from embeddings_tf.metrics import learn_then_test

GRID = np.linspace(0, 0.95, 20)


def answers(num_classes, per_class, seed):
    """P(error) = 1 - confidence, on the average over classes."""
    rng = np.random.default_rng(seed)
    confidence = rng.random((num_classes, per_class))
    # Answers of a class are wrong together.
    draw = rng.random((num_classes, 1))
    return confidence.ravel(), (draw > confidence).ravel()


def test_binomial_p_values_by_a_sum():
    confidence, is_error = answers(60, 1, seed=0)
    found = learn_then_test(
        confidence, is_error, thresholds=GRID, error_rate=0.3
    )
    assert (np.diff(found["thresholds"]) < 0).all()
    for threshold, p in zip(found["thresholds"], found["p_value"], strict=True):
        accepted = confidence >= threshold
        n, errors = accepted.sum(), is_error[accepted].sum()
        expected = sum(
            math.comb(n, k) * 0.3**k * 0.7 ** (n - k) for k in range(errors + 1)
        )
        assert p == pytest.approx(expected)
    # The lowest threshold before the first one that is not significant.
    for level in (0.5, 0.8, 0.99):
        chosen = math.inf
        for threshold, p in zip(
            found["thresholds"], found["p_value"], strict=True
        ):
            if p > 1 - level:
                break
            chosen = threshold
        of_level = learn_then_test(
            confidence, is_error, thresholds=GRID, error_rate=0.3, level=level
        )
        assert of_level["threshold"] == chosen


def test_class_p_values_by_a_loop():
    confidence, is_error = answers(30, 4, seed=0)
    classes = np.repeat(np.arange(30), 4)
    found = learn_then_test(
        confidence, is_error, classes, thresholds=[0.6], error_rate=0.3
    )
    wealth = []
    for bet in np.arange(1, 20) * 0.05 / 0.7:
        product = 1.0
        for c in range(30):
            excess = [
                (confidence[i] >= 0.6) * (is_error[i] - 0.3)
                for i in np.flatnonzero(classes == c)
            ]
            product *= 1 - bet * np.mean(excess)
        wealth.append(product)
    assert found["p_value"][0] == pytest.approx(min(1, 1 / np.mean(wealth)))


def test_stops_at_the_first_threshold_that_is_not_significant():
    # Right, then wrong, then right again: the last part is not reached.
    confidence = np.repeat([3.0, 2.0, 1.0], [100, 20, 1000])
    is_error = np.repeat([False, True, False], [100, 20, 1000])
    found = learn_then_test(
        confidence, is_error, thresholds=[1, 2, 3], error_rate=0.1
    )
    assert (found["p_value"] <= 0.05).tolist() == [True, False, True]
    assert found["threshold"] == 3
    assert found["accepted"] == 100 / 1120
    assert found["error"] == 0


def test_no_threshold():
    found = learn_then_test([0.5, 0.6], [1, 0], thresholds=[0.0])
    assert found["threshold"] == np.inf
    assert found["accepted"] == 0
    assert found["error"] == 0


@pytest.mark.parametrize("per_class", [1, 5])
def test_the_promise_holds_over_new_classes(per_class):
    """The true error above t is (1 - t) / 2, so 0.2 needs t = 0.6."""
    num_runs, broken, found_any = 200, 0, 0
    for seed in range(num_runs):
        confidence, is_error = answers(300, per_class, seed)
        found = learn_then_test(
            confidence,
            is_error,
            None if per_class == 1 else np.repeat(np.arange(300), per_class),
            thresholds=np.linspace(0, 0.8, 17),
            error_rate=0.2,
            level=0.9,
        )
        broken += found["threshold"] < 0.6 - 1e-9
        found_any += np.isfinite(found["threshold"])
    # At most 0.1, up to three standard deviations of the count.
    assert broken / num_runs <= 0.1 + 3 * math.sqrt(0.09 / num_runs)
    assert found_any > num_runs / 3


@pytest.mark.parametrize(
    "arguments",
    [
        {"confidence": [0.1, np.nan]},
        {"is_error": [0, 2]},
        {"is_error": [0]},
        {"classes": [0.5, 1.5]},
        {"classes": [0]},
        {"thresholds": []},
        {"thresholds": [np.inf]},
        {"error_rate": 0},
        {"level": 1},
    ],
)
def test_refused(arguments):
    valid = {"confidence": [0.1, 0.2], "is_error": [0, 1], "thresholds": [0.1]}
    with pytest.raises(ValueError, match=next(iter(arguments))):
        learn_then_test(**{**valid, **arguments})


def test_thresholds_are_rounded_like_the_confidence():
    """A float32 answer of 0.9 reaches the threshold 0.9, and is wrong."""
    confidence = np.repeat(np.array([0.9, 1.0], "float32"), [100, 200])
    is_error = np.repeat([True, False], [100, 200])
    found = learn_then_test(
        confidence, is_error, thresholds=[0.9, 1.0], error_rate=0.05
    )
    assert found["threshold"] == 1
    assert found["accepted"] == pytest.approx(200 / 300)
    assert found["error"] == 0
    # P(Binomial(200, 0.05) <= 0), and at most 100 errors among all 300.
    assert found["p_value"][0] == pytest.approx(0.95**200)
    assert found["p_value"][1] == pytest.approx(1)
    accepted = confidence >= found["threshold"]
    assert found["accepted"] == accepted.mean()
    # Thresholds that differ only beyond float32 are one threshold.
    found = learn_then_test(
        confidence, is_error, thresholds=[0.9, 0.9 + 1e-12, 1.0]
    )
    assert found["thresholds"].tolist() == [1, np.float32(0.9)]
