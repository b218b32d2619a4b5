"""Expected values by loops over pairs, in float64."""

import itertools

import keras
import numpy as np
import pytest
import tensorflow as tf
from scipy import special

from embeddings_tf.models import EmbeddingModel
from embeddings_tf.models import FewShotClassifier
from embeddings_tf.objectives import HedgedInstances
from embeddings_tf.objectives import SoftContrastive

LABELS = np.array([3, 1, 2, 1, 3, 2, 3, -5])
RAW_SCALE, OFFSET = 0.3, 0.7
SCALE = np.log1p(np.exp(RAW_SCALE))


def points(rows=8, dim=3, seed=0):
    return np.random.default_rng(seed).normal(size=(rows, dim)).astype("f4")


def trained(**arguments):
    objective = SoftContrastive(**arguments)
    objective.raw_scale.assign(RAW_SCALE)
    objective.offset.assign(OFFSET)
    return objective


def logits(first, second):
    """b - a ||z_1 - z_2|| of each row with each."""
    difference = first[:, None].astype("f8") - second.astype("f8")
    return OFFSET - SCALE * np.linalg.norm(difference, axis=-1)


def loss_by_loop(labels, z):
    table, kinds = logits(z, z), {True: [], False: []}
    for i, j in itertools.combinations(range(len(labels)), 2):
        p = special.expit(table[i, j])
        same = labels[i] == labels[j]
        kinds[same].append(-np.log(p if same else 1 - p))
    return sum(np.mean(costs) for costs in kinds.values() if costs) / 2


@pytest.mark.parametrize(
    "labels",
    [LABELS, np.zeros(8, int), np.arange(8)],
    ids=["both kinds", "positive", "negative"],
)
def test_value_by_loop(labels):
    z = points()
    np.testing.assert_allclose(
        trained()(labels, z), np.full(8, loss_by_loop(labels, z)), rtol=1e-5
    )


def test_both_kinds_have_half_of_the_weight():
    """One positive pair at distance 0 and two negative pairs at distance 2."""
    z = np.float32([[0, 0], [0, 0], [2, 0]])
    positive = np.log1p(np.exp(-OFFSET))
    negative = np.log1p(np.exp(OFFSET - 2 * SCALE))
    np.testing.assert_allclose(
        trained()([0, 0, 1], z)[0], (positive + negative) / 2, rtol=1e-6
    )


@pytest.mark.parametrize("scale", [1.0, 1e8, 1e18])
def test_equal_rows_have_the_distance_0(scale):
    """Two classes of two equal rows each, far from the other class."""
    rows = np.repeat(100 * scale * points(2, dim=64), 2, axis=0)
    z, objective = tf.constant(rows), trained()
    with tf.GradientTape() as tape:
        tape.watch(z)
        value = objective([0, 0, 1, 1], z)[0]
    np.testing.assert_allclose(value, np.log1p(np.exp(-OFFSET)) / 2, rtol=1e-6)
    np.testing.assert_array_equal(tape.gradient(value, z), 0 * rows)
    score = np.diag(objective.score_all_pairs(z, z))
    np.testing.assert_allclose(score, [OFFSET] * 4, rtol=1e-6)


def test_it_is_hedged_instances_of_points_without_a_divergence():
    z = points()
    packed = np.hstack([z, np.zeros_like(z)])
    np.testing.assert_allclose(
        SoftContrastive()(LABELS, z),
        HedgedInstances(3, beta=0)(LABELS, packed),
        rtol=1e-6,
    )


def test_the_largest_embeddings_have_finite_losses_and_gradients():
    """Sums and differences of these embeddings overflow float32."""
    z = tf.constant([[3e38], [2e38], [2.5e38], [-3e38]])
    with tf.GradientTape() as tape:
        tape.watch(z)
        value = SoftContrastive()([0, 0, 1, 1], z)
    assert np.isfinite(value).all()
    assert np.isfinite(tape.gradient(value, z)).all()


@pytest.mark.parametrize("dtype", ["float16", "mixed_float16"])
def test_half_precision_sees_far_pairs(dtype):
    z = points().astype("f2")
    found = SoftContrastive(dtype=dtype)(LABELS, z)
    expected = SoftContrastive()(LABELS, z.astype("f4"))
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_gradient_by_differences():
    """Embeddings, scale and offset, in float64."""
    objective, step = trained(dtype="float64"), 1e-6
    z = tf.Variable(points(5).astype("f8"))
    variables = [z, *objective.trainable_variables]
    with tf.GradientTape() as tape:
        value = objective(LABELS[:5], z)[0]
    for variable, gradient in zip(
        variables, tape.gradient(value, variables), strict=True
    ):
        start = np.array(variable)
        for index in np.ndindex(start.shape):
            values = []
            for sign in (1, -1):
                moved = start.copy()
                moved[index] += sign * step
                variable.assign(moved)
                values.append(float(objective(LABELS[:5], z)[0]))
            variable.assign(start)
            np.testing.assert_allclose(
                np.array(gradient)[index],
                (values[0] - values[1]) / (2 * step),
                rtol=1e-5,
                atol=1e-8,
            )


def test_a_huge_row_keeps_the_gradient_of_ordinary_rows():
    """A row at 1e8 has pairs with all others, of cost 0."""
    labels, z = [0, 0, 1, 1, 2], points(5)
    z[4] = 1e8

    def by_differences(row, column):
        ends = []
        for step in (1e-5, -1e-5):
            moved = z.astype("f8")
            moved[row, column] += step
            ends.append(loss_by_loop(labels, moved))
        return (ends[0] - ends[1]) / 2e-5

    embeddings = tf.constant(z)
    with tf.GradientTape() as tape:
        tape.watch(embeddings)
        value = trained()(labels, embeddings)[0]
    found = tape.gradient(value, embeddings)[:4]
    expected = [by_differences(*index) for index in np.ndindex(4, 3)]
    np.testing.assert_allclose(
        found, np.reshape(expected, (4, 3)), rtol=1e-4, atol=1e-6
    )


def test_training_finds_the_distance_that_separates():
    """Two classes 1 apart, spread 0: the threshold b / a comes between."""
    z = tf.constant([[0.0], [0.0], [1.0], [1.0]])
    objective = SoftContrastive()
    optimizer = keras.optimizers.Adam(0.1)
    optimizer.build(objective.trainable_variables)

    @tf.function(autograph=False)
    def step():
        with tf.GradientTape() as tape:
            value = objective(tf.constant([0, 0, 1, 1]), z)[0]
        weights = objective.trainable_variables
        optimizer.apply(tape.gradient(value, weights), weights)
        return value

    for _ in range(150):
        value = step()
    assert 0 < float(objective.offset) < float(objective.scale)
    assert value < 0.3


class TestPairs:
    first, second = points(4, seed=5), points(3, seed=6)

    def test_all_pairs_by_formula(self):
        np.testing.assert_allclose(
            trained().score_all_pairs(self.first, self.second),
            logits(self.first, self.second),
            rtol=1e-5,
        )

    def test_row_by_row(self):
        expected = np.diag(logits(self.first[:3], self.second))
        score = trained().score_pairs(self.first[:3], self.second)
        np.testing.assert_allclose(score, expected, rtol=1e-5)

    def test_close_points_far_from_the_origin(self):
        z = 1e4 + np.float32([[0, 0], [0.25, 0], [0, 0.5]])
        np.testing.assert_allclose(
            trained().score_all_pairs(z, z), logits(z, z), rtol=1e-5
        )

    @pytest.mark.every_nth(3)
    @pytest.mark.parametrize("compiled", [False, True])
    @pytest.mark.parametrize("other", [1e8, 1e9, 3e38, np.nan])
    def test_does_not_depend_on_the_other_rows(self, other, compiled):
        """A huge row on either side, or one that is not a number."""
        score = trained().score_all_pairs
        if compiled:
            score = tf.function(score, autograph=False, jit_compile=True)
        bad = np.full((1, 3), other, "float32")
        expected = logits(self.first, self.second)
        first, second = (
            np.concatenate([bad, side, bad])
            for side in (self.first, self.second)
        )
        for found in (
            score(first, self.second)[1:-1],
            score(self.first, second)[:, 1:-1],
            score(first, second)[1:-1, 1:-1],
        ):
            np.testing.assert_allclose(found, expected, rtol=1e-5)

    @pytest.mark.parametrize("distance", [1.0, 1e-3])
    def test_close_points_far_apart_from_others(self, distance):
        """A pair at 1e4, another at the origin: as row by row."""
        near = np.float32([[0, 0], [0, distance]])
        z = np.concatenate([near, near + np.float32([1e4, 0])])
        np.testing.assert_allclose(
            trained().score_all_pairs(z, z), logits(z, z), rtol=1e-6
        )

    @pytest.mark.parametrize("scale", [1e15, 1e19, 1e30, 3e38])
    def test_huge_embeddings(self, scale):
        objective = SoftContrastive()
        z = np.float32(scale) * np.float32([[1.0], [-0.5], [0.1]])
        log_prob = objective.log_prob(z, z[:2], [0, 1], 2)
        for values in (
            objective.score_all_pairs(z, z),
            objective.score_pairs(z, z[::-1]),
            objective.log_evidence(z, z[:2], [0, 1], 2),
            log_prob,
        ):
            assert np.isfinite(values).all()
        np.testing.assert_array_equal(np.argmax(log_prob, axis=1), [0, 1, 1])

    def test_rows_that_are_no_pairs(self):
        with pytest.raises(ValueError, match="received 4 and 3 rows"):
            trained().score_pairs(self.first, self.second)
        with pytest.raises(ValueError, match="the same width"):
            trained().score_all_pairs(self.first, self.second[:, :2])


class TestClasses:
    support, query = points(7, seed=7), points(5, seed=8)
    class_ids = np.array([2, 0, 1, 0, 2, 1, 2])
    names = np.array(["a", "b", "c"])[class_ids]

    def best(self, table):
        columns = [table[:, self.class_ids == c].max(axis=1) for c in range(3)]
        return np.stack(columns, axis=1)

    def expected(self):
        best = self.best(
            np.log(special.expit(logits(self.query, self.support)))
        )
        return special.log_softmax(best, axis=1)

    def test_best_support(self):
        objective = trained()
        represented = objective.represent(self.support, self.class_ids, 3)
        log_prob = objective.log_prob(self.query, *represented)
        np.testing.assert_allclose(log_prob, self.expected(), rtol=1e-5)

    @pytest.mark.parametrize("scale", [1.0, 1e-7, 1e-8, 1e-12])
    @pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
    def test_the_nearest_support_is_the_most_probable(self, scale, dtype):
        """Probabilities of tiny embeddings are equal in float32."""
        z = np.float32(scale) * np.eye(5, dtype="float32")
        objective = trained(dtype=dtype)
        log_prob = objective.log_prob(z, z[::-1], np.arange(5), 5)
        assert log_prob.dtype == dtype
        log_prob = np.array(log_prob, "float64")
        best = np.argmax(log_prob, axis=1)
        np.testing.assert_array_equal(best, [4, 3, 2, 1, 0])
        rtol = 0.05 if dtype == "bfloat16" else 1e-6
        np.testing.assert_allclose(np.exp(log_prob).sum(axis=1), 1, rtol)

    def test_evidence(self):
        ratio = np.exp(self.best(logits(self.query, self.support)))
        np.testing.assert_allclose(
            trained().log_evidence(self.query, self.support, self.class_ids, 3),
            np.log(ratio.mean(axis=1)),
            rtol=1e-4,
            atol=1e-5,
        )

    def test_few_shot_classifier(self):
        encoder = keras.Sequential([keras.Input((3,)), keras.layers.Identity()])
        model = EmbeddingModel(encoder, trained())
        classifier = FewShotClassifier(model).fit(self.support, self.names)
        np.testing.assert_allclose(
            classifier.predict_log_proba(self.query), self.expected(), rtol=1e-4
        )

    def test_class_without_support(self):
        with pytest.raises(ValueError, match="1 of 4 classes has none"):
            trained().log_prob(self.query, self.support, self.class_ids, 4)


def test_gaussians_are_refused():
    from embeddings_tf.layers import GaussianEmbedding

    encoder = keras.Sequential([keras.Input((3,)), GaussianEmbedding(2)])
    with pytest.raises(ValueError, match="Gaussian"):
        EmbeddingModel(encoder, SoftContrastive())
