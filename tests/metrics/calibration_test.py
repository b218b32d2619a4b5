import itertools

import numpy as np
import pytest
import tensorflow as tf
from scipy import special

from embeddings_tf.metrics import error_versus_reject
from embeddings_tf.metrics import expected_calibration_error
from embeddings_tf.metrics import reliability_curve


def predictions(n=500, num_classes=4, seed=0, temperature=1.0):
    """Probabilities and labels; calibrated at temperature 1."""
    rng = np.random.default_rng(seed)
    logits = 2 * rng.normal(size=(n, num_classes))
    probabilities = special.softmax(logits, axis=1)
    labels = np.array([rng.choice(num_classes, p=p) for p in probabilities])
    return special.softmax(logits / temperature, axis=1), labels


class TestExpectedCalibrationError:
    @pytest.mark.parametrize("num_bins", [1, 2, 10, 15])
    def test_against_loops(self, num_bins):
        probabilities, labels = predictions()
        total = 0.0
        for number in range(num_bins):
            confidence, correct = [], []
            for row, label in zip(probabilities, labels, strict=True):
                if number / num_bins < row.max() <= (number + 1) / num_bins:
                    confidence.append(row.max())
                    correct.append(row.argmax() == label)
            if correct:
                total += len(correct) * abs(
                    np.mean(correct) - np.mean(confidence)
                )
        assert expected_calibration_error(
            probabilities, labels, num_bins
        ) == pytest.approx(total / len(labels), abs=1e-12)

    def test_bins_are_closed_above(self):
        # 0.5 belongs to (0, 0.5]: gaps |1 - 0.5| and |0 - 0.75| in two bins.
        probabilities = [[0.5, 0.5], [0.25, 0.75]]
        assert expected_calibration_error(
            probabilities, [0, 0], 2
        ) == pytest.approx((0.5 + 0.75) / 2)

    def test_a_limit_of_bins_is_in_the_lower_bin(self):
        """5/6 and 0.9 are in two bins: gaps |1 - 5/6| and |0 - 0.9|."""
        probabilities = [[5 / 6, 1 / 6]] * 3 + [[0.9, 0.1]] * 3
        found = expected_calibration_error(probabilities, [1, 1, 1, 0, 0, 0], 6)
        assert found == pytest.approx((5 / 6 + 0.1) / 2)
        for num_bins in range(2, 101):
            upper = np.arange(num_bins // 2 + 1, num_bins + 1) / num_bins
            curve = reliability_curve(
                np.stack([upper, 1 - upper], axis=1),
                np.zeros(len(upper), int),
                num_bins,
            )
            assert curve["upper"].tolist() == upper.tolist()

    def test_a_confidence_is_at_most_1(self):
        """A sum slightly above 1 is accepted; 1.005 is read as 1."""
        assert expected_calibration_error([[1.005, 0.0]], [1]) == 1
        assert expected_calibration_error([[1.005, 0.0]], [0]) == 0

    def test_calibrated_is_near_0_and_overconfident_is_not(self):
        assert expected_calibration_error(*predictions(20_000)) < 0.015
        sure = predictions(20_000, temperature=0.1)
        assert expected_calibration_error(*sure) > 0.15

    def test_always_certain(self):
        probabilities = np.eye(4)[[0, 1, 2, 3, 0]]
        for labels, expected in (
            ([0, 1, 2, 3, 0], 0.0),
            ([0, 1, 2, 0, 1], 0.4),
            ([1, 2, 3, 0, 1], 1.0),
        ):
            value = expected_calibration_error(probabilities, labels)
            assert value == pytest.approx(expected)
            assert isinstance(value, float)

    def test_tensors(self):
        probabilities, labels = predictions()
        assert expected_calibration_error(
            tf.constant(probabilities), tf.constant(labels)
        ) == expected_calibration_error(probabilities, labels)

    @pytest.mark.parametrize(
        "probabilities, labels, message",
        [
            (np.zeros((0, 3)), np.zeros(0, int), "not be empty"),
            ([0.5, 0.5], [0, 1], r"\(n, num_classes\)"),
            ([[0.5, 0.5]], [0, 1], "2 rows of `labels`"),
            ([[np.nan, 0.5]], [0], r"nan at \(0, 0\)"),
            ([[0.5, 0.6]], [0], "sum 0.1 away from 1"),
            ([[-0.5, 1.5]], [0], "smallest value of -0.5"),
            ([[0.5, 0.5]], [2], r"\[0, 2\); received labels from 2 to 2"),
            ([[0.5, 0.5]], [-1], "received labels from -1"),
            ([[0.5, 0.5]], [0.0], "must be integers"),
        ],
    )
    def test_errors(self, probabilities, labels, message):
        for measure in (expected_calibration_error, reliability_curve):
            with pytest.raises(ValueError, match=message):
                measure(probabilities, labels)

    def test_num_bins(self):
        with pytest.raises(ValueError, match="num_bins"):
            expected_calibration_error([[0.5, 0.5]], [0], 0)


class TestReliabilityCurve:
    def test_against_loops(self):
        probabilities, labels = predictions(200)
        curve = reliability_curve(probabilities, labels, 10)
        confidence = probabilities.max(axis=1)
        correct = probabilities.argmax(axis=1) == labels
        number = 0
        for lower in range(10):
            inside = (lower / 10 < confidence) & (
                confidence <= (lower + 1) / 10
            )
            if not inside.any():
                continue
            assert curve["lower"][number] == pytest.approx(lower / 10)
            assert curve["upper"][number] == pytest.approx((lower + 1) / 10)
            assert curve["count"][number] == inside.sum()
            assert curve["confidence"][number] == pytest.approx(
                confidence[inside].mean()
            )
            assert curve["accuracy"][number] == pytest.approx(
                correct[inside].mean()
            )
            number += 1
        assert all(len(values) == number for values in curve.values())


class TestErrorVersusReject:
    def test_against_loops(self):
        rng = np.random.default_rng(0)
        uncertainty = rng.permutation(50) / 7
        is_error = rng.random(50) < 0.3
        curve = error_versus_reject(uncertainty, is_error)
        kept = np.argsort(uncertainty)
        errors = [is_error[kept[: 50 - k]].mean() for k in range(50)]
        np.testing.assert_allclose(curve["error"], errors)
        np.testing.assert_allclose(curve["reject"], np.arange(50) / 50)
        assert curve["area"] == pytest.approx(np.mean(errors))
        assert curve["random_area"] == pytest.approx(is_error.mean())
        wrong = int(is_error.sum())
        assert curve["oracle_area"] == pytest.approx(
            np.mean([max(0, wrong - k) / (50 - k) for k in range(50)])
        )

    def test_ties_are_the_mean_over_all_orders(self):
        uncertainty = np.array([1, 0, 1, 1, 0, 2])
        is_error = np.array([1, 0, 0, 1, 1, 0])
        orders = []
        for order in itertools.permutations(range(6)):
            order = np.array(order)
            if (np.diff(uncertainty[order]) >= 0).all():
                orders.append(
                    [is_error[order[: 6 - k]].mean() for k in range(6)]
                )
        curve = error_versus_reject(uncertainty, is_error)
        np.testing.assert_allclose(curve["error"], np.mean(orders, axis=0))

    def test_input_order_does_not_matter(self):
        rng = np.random.default_rng(1)
        uncertainty = rng.integers(0, 4, 40)
        is_error = rng.integers(0, 2, 40)
        first = error_versus_reject(uncertainty, is_error)
        order = rng.permutation(40)
        second = error_versus_reject(uncertainty[order], is_error[order])
        for name in first:
            np.testing.assert_array_equal(first[name], second[name])

    def test_best_useless_and_worst(self):
        is_error = np.repeat([0, 1], [30, 10])
        oracle = error_versus_reject(is_error, is_error)
        # Ties among errors do not matter: all errors are rejected first.
        assert oracle["area"] == pytest.approx(oracle["oracle_area"])
        useless = error_versus_reject(np.zeros(40), is_error)
        np.testing.assert_allclose(useless["error"], 0.25)
        assert useless["area"] == pytest.approx(useless["random_area"])
        worst = error_versus_reject(-is_error, is_error)
        assert worst["area"] > worst["random_area"] == 0.25
        assert isinstance(worst["area"], float)

    def test_no_errors_and_nothing_but_errors(self):
        for value in (0, 1):
            curve = error_versus_reject([3.0, 1.0, 2.0], [value] * 3)
            for name in ("area", "oracle_area", "random_area"):
                assert curve[name] == value

    def test_one_example(self):
        curve = error_versus_reject(tf.constant([0.5]), tf.constant([True]))
        assert curve["error"].tolist() == [1.0]
        assert curve["reject"].tolist() == [0.0]

    @pytest.mark.parametrize(
        "uncertainty, is_error, message",
        [
            ([], [], "not be empty"),
            ([0.5], [0, 1], "2 rows of `is_error`"),
            ([np.nan, 0.5], [0, 1], "`uncertainty` must be finite"),
            ([[0.1], [0.5]], [0, 1], r"received shape \(2, 1\)"),
            ([0.1, 0.5], [0, 2], "received 2"),
            ([0.1, 0.5], [0.5, 1], "received 0.5"),
        ],
    )
    def test_errors(self, uncertainty, is_error, message):
        with pytest.raises(ValueError, match=message):
            error_versus_reject(uncertainty, is_error)


def test_large_integers_are_uncertainties_of_their_own():
    """float64 would merge them."""
    curve = error_versus_reject(2**53 + np.arange(2), [0, 1])
    assert curve["error"].tolist() == [0.5, 0.0]


def test_hostile_probabilities():
    with pytest.raises(ValueError, match="sum to 1"):
        expected_calibration_error([[1e308, 1e308], [0.5, 0.5]], [0, 1])
    with pytest.raises(ValueError, match="`num_bins` must be at most"):
        expected_calibration_error([[0.5, 0.5]], [0], num_bins=10**12)
