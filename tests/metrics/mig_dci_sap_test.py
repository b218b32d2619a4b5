"""Against the formulas of disentanglement_lib, term by term."""

import math

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.metrics import mutual_info_score
from sklearn.svm import LinearSVC

from embeddings_tf.metrics import dci
from embeddings_tf.metrics import mutual_information_gap
from embeddings_tf.metrics import separated_attribute_predictability


def mixed(n=200, seed=0):
    """Three dimensions of two factors, of 2 and 3 values."""
    rng = np.random.default_rng(seed)
    factors = np.stack([rng.integers(0, 2, n), rng.integers(0, 3, n)], axis=1)
    codes = factors @ rng.normal(size=(2, 3)) + 0.4 * rng.normal(size=(n, 3))
    return codes, factors


def test_mig():
    codes, factors = mixed()
    gaps = []
    for factor in factors.T:
        information = []
        for dimension in codes.T:
            edges = np.histogram(dimension, 20)[1]
            bins = np.digitize(dimension, edges[:-1])
            information.append(mutual_info_score(factor, bins))
        second, first = sorted(information)[-2:]
        gaps.append((first - second) / mutual_info_score(factor, factor))
    assert mutual_information_gap(codes, factors) == pytest.approx(
        np.mean(gaps)
    )


def test_sap():
    codes, factors = mixed()
    test_codes, test_factors = mixed(150, seed=0)
    gaps = []
    for f in range(2):
        scores = []
        for i in range(3):
            machine = LinearSVC(C=0.01, class_weight="balanced")
            machine.fit(codes[:, i : i + 1], factors[:, f])
            predicted = machine.predict(test_codes[:, i : i + 1])
            scores.append(np.mean(predicted == test_factors[:, f]))
        second, first = sorted(scores)[-2:]
        gaps.append(first - second)
    found = separated_attribute_predictability(
        codes, factors, test_codes=test_codes, test_factors=test_factors
    )
    assert found == pytest.approx(np.mean(gaps), abs=0.02)
    assert 0.05 < found < 0.95


def entropy(shares, base):
    return -sum(p * math.log(p, base) for p in shares if p > 0)


def test_dci():
    codes, factors = mixed()
    test_codes, test_factors = mixed(150, seed=1)
    importance, accuracy = np.zeros((3, 2)), []
    for f in range(2):
        trees = GradientBoostingClassifier(random_state=0)
        trees.fit(codes, factors[:, f])
        importance[:, f] = trees.feature_importances_
        accuracy.append(
            np.mean(trees.predict(test_codes) == test_factors[:, f])
        )
    disentanglement = sum(
        (row.sum() / importance.sum()) * (1 - entropy(row / row.sum(), 2))
        for row in importance
    )
    completeness = sum(
        (column.sum() / importance.sum())
        * (1 - entropy(column / column.sum(), 3))
        for column in importance.T
    )
    found = dci(
        codes, factors, test_codes=test_codes, test_factors=test_factors
    )
    assert found["disentanglement"] == pytest.approx(disentanglement, abs=1e-6)
    assert found["completeness"] == pytest.approx(completeness, abs=1e-6)
    assert found["informativeness"] == pytest.approx(np.mean(accuracy))
    assert 0 < disentanglement < 1
    assert 0 < completeness < 1


def test_constant_factors_are_ignored():
    codes, factors = mixed(60)
    more = np.column_stack([factors, np.full(60, 7)])
    for measure in (
        mutual_information_gap,
        separated_attribute_predictability,
        dci,
    ):
        assert measure(codes, more) == measure(codes, factors)


@pytest.mark.parametrize(
    "measure",
    [mutual_information_gap, separated_attribute_predictability, dci],
)
def test_refused(measure):
    codes, factors = mixed(20)
    with pytest.raises(ValueError, match="2 dimensions"):
        measure(codes[:, :1], factors)
    with pytest.raises(ValueError, match="constant"):
        measure(codes, np.ones_like(factors))
    with pytest.raises(ValueError, match="factors"):
        measure(codes, factors[:-1])
    if measure is not mutual_information_gap:  # which ranks them
        with pytest.raises(ValueError, match="`codes` must be at most 1e"):
            measure(1e200 * codes, factors)
    codes[3, 1] = np.nan
    with pytest.raises(ValueError, match="codes"):
        measure(codes, factors)


def test_sap_refuses_codes_for_which_liblinear_never_returns():
    factors = [[0], [1], [2]] * 4
    codes = np.array([[0.0, 1.0], [1.0, 0.0], [1e80, 2.0]] * 4)
    with pytest.raises(ValueError, match="at most 1e.70 in size; received 1e"):
        separated_attribute_predictability(codes, factors)
    tests = {"test_codes": codes, "test_factors": factors}
    with pytest.raises(ValueError, match="at most 1e.70 in size; received 1e"):
        separated_attribute_predictability(codes / 1e20, factors, **tests)
    codes[2::3, 0] = 1e69
    assert 0 <= separated_attribute_predictability(codes, factors) <= 1


@pytest.mark.parametrize(
    ("scale", "offset"), [(0.5, 1e8), (1e-46, 0), (1e60, 0)]
)
def test_dci_of_codes_that_float32_would_merge(scale, offset):
    factors = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 5)
    expected = dci(factors * 0.5, factors)
    found = dci(factors * scale + offset, factors)
    assert found == pytest.approx(expected)
    assert found["disentanglement"] == pytest.approx(1)


def test_dci_keeps_tiny_values_beside_a_large_one():
    """float32 tells them apart as they are, and not if they are centred."""
    factors = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 25)
    codes = factors * 1e-10
    codes[0] = 0.9, 0.1  # 0.1 is none of float32
    found = dci(codes, factors)
    expected = dci(codes.astype("float32"), factors)
    assert found == pytest.approx(expected)
