"""The shares of pairs, queries and tests with a gradient, by NumPy."""

import itertools

import keras
import numpy as np
import pytest
from scipy import stats

from embeddings_tf import layers
from embeddings_tf import losses
from embeddings_tf import objectives

LABELS = np.repeat(np.arange(3), 4)
_RNG = np.random.default_rng(4)
Z = (2 * np.eye(3)[LABELS] + _RNG.normal(size=(12, 3))).astype("float32")
PAIRS = [*itertools.combinations(range(12), 2)]
IS_SAME = np.array([LABELS[i] == LABELS[j] for i, j in PAIRS])
DISTANCES = np.linalg.norm(Z[:, None] - Z, axis=-1).astype(float)
UNIT = Z / np.linalg.norm(Z, axis=1, keepdims=True)
COSINES = UNIT @ UNIT.T


def share(method, z=Z, labels=LABELS):
    ((name, value),) = method.batch_diagnostics(labels, z).items()
    assert name.startswith("active_")
    return float(value)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def expected_pairs(logit):
    right = [
        sigmoid(logit(i, j) if same else -logit(i, j))
        for (i, j), same in zip(PAIRS, IS_SAME, strict=True)
    ]
    found = np.mean(np.array(right) < 0.99)
    assert 0 < found < 1
    return found


@pytest.mark.parametrize("form", ["published", "authors"])
def test_lifted_structure(form):
    margin, hinges = 0.0, []
    d = DISTANCES**2 if form == "authors" else DISTANCES
    for (i, j), same in zip(PAIRS, IS_SAME, strict=True):
        if not same:
            continue
        others = [k for k in range(12) if LABELS[k] != LABELS[i]]
        total = np.exp(margin - d[i, others]).sum()
        total += np.exp(margin - d[j, others]).sum()
        hinges.append(np.log(total) + d[i, j])
    expected = np.mean(np.array(hinges) > 0)
    loss = losses.LiftedStructureLoss(margin, form=form)
    assert share(loss) == pytest.approx(expected)
    # Far classes: no hinge is left.
    assert share(loss, np.eye(3, dtype="float32")[LABELS] * 20) == 0


def test_binomial_deviance():
    loss = losses.BinomialDevianceLoss(6.0, 0.4, 5.0)

    def logit(i, j):
        excess = 6 * (COSINES[i, j] - 0.4)
        return excess if LABELS[i] == LABELS[j] else 5 * excess

    assert share(loss) == pytest.approx(expected_pairs(logit))


def test_histogram():
    """A pair has a gradient if moving it changes the loss."""
    z = Z[[0, 1, 4, 5]]
    labels = LABELS[[0, 1, 4, 5]]
    nodes = np.linspace(-1, 1, 11)

    def value(cosines):
        histograms = []
        for same in (True, False):
            mass = np.zeros(11)
            for (i, j), cosine in cosines.items():
                if (labels[i] == labels[j]) == same:
                    mass += np.maximum(0, 1 - np.abs(cosine - nodes) / 0.2)
            histograms.append(mass / mass.sum())
        positive, negative = histograms
        return np.sum(np.cumsum(positive) * negative)

    unit = z / np.linalg.norm(z, axis=1, keepdims=True)
    cosines = {
        (i, j): float(unit[i] @ unit[j])
        for i, j in itertools.combinations(range(4), 2)
    }
    moved = [
        abs(value(cosines | {pair: cosine + 1e-4}) - value(cosines)) > 1e-9
        for pair, cosine in cosines.items()
    ]
    assert 0 < np.mean(moved) < 1
    found = share(losses.HistogramLoss(11), z, labels)
    assert found == pytest.approx(np.mean(moved))


def test_f_statistic():
    """Two dimensions of each pair of classes, by the F distribution."""
    # Neighbours differ in one dimension only.
    centres = np.array([[0, 0, 0], [9, 0, 0], [9, 9, 0]])
    z = centres[LABELS] + _RNG.normal(size=(12, 3))
    undecided = []
    for first, second in itertools.combinations(range(3), 2):
        a, b = z[LABELS == first], z[LABELS == second]
        between = 8 * ((a.mean(0) - b.mean(0)) / 2) ** 2
        within = ((a - a.mean(0)) ** 2).sum(0) + ((b - b.mean(0)) ** 2).sum(0)
        phi = stats.f.cdf(6 * between / within, 1, 6)
        undecided += [*(np.sort(phi)[-2:] < 0.99)]
    expected = np.mean(undecided)
    assert 0 < expected < 1
    found = share(losses.FStatisticLoss(2), z.astype("float32"))
    assert found == pytest.approx(expected)


def right_of_queries(log_density):
    """Probability of the right class; two supports per class."""
    is_query = np.arange(12) % 4 >= 2
    found = []
    for row in np.flatnonzero(is_query):
        log_p = np.array([log_density(row, c) for c in range(3)])
        log_p -= np.logaddexp.reduce(log_p)
        found.append(np.exp(log_p[LABELS[row]]))
    return np.array(found)


def supports(label):
    return np.flatnonzero(LABELS == label)[:2]


def test_prototypical():
    right = right_of_queries(
        lambda row, c: -np.sum((Z[row] - Z[supports(c)].mean(0)) ** 2)
    )
    expected = np.mean(right < 0.99)
    assert 0 < expected < 1
    assert share(losses.PrototypicalLoss(2)) == pytest.approx(expected)


def test_stochastic_prototypes_of_tiny_variances():
    """They equal prototypes whose classes have the noise variance."""
    objective = objectives.StochasticPrototypes(2, initial_noise_variance=0.5)
    z = 2 * Z
    packed = np.concatenate([z, np.full_like(z, 1e-9)], axis=1)
    right = right_of_queries(
        # The prototype of two supports has half the noise, the query the rest.
        lambda row, c: (
            -np.sum((z[row] - z[supports(c)].mean(0)) ** 2) / (2 * 0.75)
        )
    )
    expected = np.mean(right < 0.99)
    assert 0 < expected < 1
    assert share(objective, packed) == pytest.approx(expected)


def test_soft_contrastive_and_hedged_instances_of_tiny_variances():
    """The probability of a match is sigmoid(b - a d)."""
    packed = np.concatenate([Z, np.full_like(Z, 1e-9)], axis=1)
    for objective, z in (
        (objectives.SoftContrastive(), Z),
        (objectives.HedgedInstances(2), packed),
    ):
        objective.raw_scale.assign(np.log(np.expm1(4.0)))
        objective.offset.assign(8.0)
        expected = expected_pairs(lambda i, j: 8 - 4 * DISTANCES[i, j])
        assert share(objective, z) == pytest.approx(expected)


def test_learned_distance():
    keras.utils.set_random_seed(0)
    distance = layers.PairDistance((8,))
    distance.build(((None, 3), (None, 3)))
    logits = 40 * distance.all_pairs(Z, Z).numpy()
    for weight in distance.trainable_variables[-2:]:
        weight.assign(40 * weight)
    objective = objectives.LearnedDistance(distance)
    right = np.where(LABELS[:, None] == LABELS, logits, -logits)
    is_pair = ~np.eye(12, dtype=bool)
    expected = np.mean(sigmoid(right[is_pair].astype(float)) < 0.99)
    assert 0 < expected < 1
    assert share(objective) == pytest.approx(expected, abs=0.01)
