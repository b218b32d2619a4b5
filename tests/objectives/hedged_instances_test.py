"""Expected values by loops over pairs and samples, in float64."""

import itertools
import time

import keras
import numpy as np
import pytest
import tensorflow as tf
from scipy import special

from embeddings_tf.models import EmbeddingModel
from embeddings_tf.models import FewShotClassifier
from embeddings_tf.objectives import HedgedInstances
from embeddings_tf.ops import gaussian
from tests.objectives.packed import unpack

LABELS = np.array([3, 1, 2, 1, 3, 2, 3, -5])
BETA = 0.01


def random_packed(rows=8, dim=2, seed=0, scale=1.0):
    rng = np.random.default_rng(seed)
    mean = rng.normal(size=(rows, dim))
    variance = rng.uniform(0.1, 1.5, size=(rows, dim))
    return np.concatenate([scale * mean, scale**2 * variance], axis=1).astype(
        "float32"
    )


def points(mean):
    mean = np.asarray(mean, "float32")
    return np.concatenate([mean, np.zeros_like(mean)], axis=-1)


def samples(packed, num_samples, seed):
    """The samples that an objective draws, `(num_samples, rows, dim)`."""
    mean, variance = unpack(packed)
    noise = tf.random.stateless_normal(
        (num_samples, *mean.shape), seed, alg="philox"
    )
    return mean + np.sqrt(variance) * noise.numpy()


def samples_of_both(first, second, num_samples, seed):
    """All rows of a side share `(num_samples, dim)` draws."""
    found = []
    for side, packed in enumerate((first, second)):
        mean, variance = unpack(packed)
        noise = tf.random.stateless_normal(
            (num_samples, mean.shape[1]),
            tf.random.experimental.stateless_fold_in(
                tf.constant([0, seed]), side, alg="philox"
            ),
            alg="philox",
        )
        found.append(mean + np.sqrt(variance) * noise.numpy()[:, None])
    return found


def next_seed(objective):
    """The seed of the next call, which does not change."""
    state = objective.seed_generator.state
    before = state.numpy()
    seed = objective.seed_generator.next()
    state.assign(before)
    return tf.cast(seed, tf.int32)


def probabilities(z_first, z_second, a=1.0, b=0.0):
    """Match probability for each pair of samples of two rows."""
    return np.array(
        [
            special.expit(b - a * np.linalg.norm(z - other))
            for z, other in itertools.product(z_first, z_second)
        ]
    )


def divergence(packed):
    mean, variance = unpack(packed)
    return 0.5 * (mean**2 + variance - np.log(variance) - 1).sum(axis=-1)


def loss_by_loop(labels, packed, z, a, b, beta, average):
    kinds = {True: [], False: []}
    for i, j in itertools.combinations(range(len(labels)), 2):
        p = probabilities(z[:, i], z[:, j], a, b)
        same = labels[i] == labels[j]
        p = p if same else 1 - p
        cost = -np.log(p.mean())
        if average == "loss":
            cost = -np.log(p).mean()
        kinds[same].append(cost)
    halves = [np.mean(costs) for costs in kinds.values() if costs]
    return sum(halves) / 2 + 2 * beta * divergence(packed).mean()


@pytest.mark.parametrize("average", ["probability", "loss"])
@pytest.mark.parametrize(("num_samples", "dim"), [(1, 2), (3, 1), (4, 3)])
def test_value_by_loop(average, num_samples, dim):
    objective = HedgedInstances(num_samples, BETA, average=average, seed=2)
    objective.raw_scale.assign(0.3)
    objective.offset.assign(0.7)
    packed = random_packed(dim=dim)
    z = samples(packed, num_samples, next_seed(objective))
    expected = loss_by_loop(
        LABELS, packed, z, np.log1p(np.exp(0.3)), 0.7, BETA, average
    )
    np.testing.assert_allclose(
        objective(LABELS, packed), np.full(8, expected), rtol=1e-4
    )


@pytest.mark.parametrize("average", ["probability", "loss"])
def test_points_are_the_contrastive_sigmoid(average):
    """Without variance, the samples do not matter."""
    mean = random_packed(seed=4)[:, :2]
    expected = loss_by_loop(
        LABELS, np.ones((8, 4)), mean[None], 1.0, 0.0, 0.0, average
    )
    values = HedgedInstances(5, beta=0, average=average)(LABELS, points(mean))
    np.testing.assert_allclose(values, np.full(8, expected), rtol=1e-5)


@pytest.mark.parametrize("dtype", ["float16", "mixed_float16"])
def test_half_precision_sees_far_pairs(dtype):
    packed = random_packed(scale=3).astype("float16")
    expected = HedgedInstances(3, BETA, seed=2)(LABELS, packed.astype("f4"))
    found = HedgedInstances(3, BETA, seed=2, dtype=dtype)(LABELS, packed)
    np.testing.assert_allclose(found, expected, rtol=1e-3)


def test_average_of_loss_is_never_below():
    """Jensen's inequality, sample by sample."""
    values = [
        HedgedInstances(6, 0, average=average, seed=1)(
            LABELS, random_packed(scale=3)
        )[0]
        for average in ("probability", "loss")
    ]
    assert values[0] < values[1]


def test_divergence_equals_tfp():
    import tensorflow_probability as tfp

    packed = random_packed()
    mean, variance = gaussian.unpack(packed)
    normal = tfp.distributions.MultivariateNormalDiag(mean, tf.sqrt(variance))
    standard = tfp.distributions.MultivariateNormalDiag(tf.zeros(2))
    expected = 2 * BETA * tf.reduce_mean(normal.kl_divergence(standard))
    with_it, without = (
        HedgedInstances(2, beta, seed=3)(LABELS, packed)[0]
        for beta in (BETA, 0)
    )
    np.testing.assert_allclose(with_it - without, expected, rtol=1e-4)


@pytest.mark.parametrize("average", ["probability", "loss"])
def test_gradient_by_differences(average):
    """Embeddings, scale and offset, in float64, with fixed noise."""
    objective = HedgedInstances(3, BETA, average=average, dtype="float64")
    objective.offset.assign(0.4)
    labels, packed = LABELS[:5], random_packed(5).astype("float64")

    @tf.function(autograph=False)
    def value_and_gradient(packed, shifts):
        shifts = tf.unstack(shifts)
        objective.seed_generator.state.assign([2, 3])
        weights = objective.trainable_variables
        for weight, shift in zip(weights, shifts, strict=True):
            weight.assign_add(shift)
        with tf.GradientTape() as tape:
            tape.watch(packed)
            value = objective(labels, packed)[0]
        gradient = tape.gradient(value, [packed, *[w.value for w in weights]])
        for weight, shift in zip(weights, shifts, strict=True):
            weight.assign_sub(shift)
        return value, gradient

    def difference(index, shift):
        """Difference of the value when one number changes."""
        values = []
        for sign in (1, -1):
            moved, shifts = packed.copy(), [0.0, 0.0]
            if index == "packed":
                moved = packed + sign * shift
            else:
                shifts[index] = sign * shift
            values.append(
                value_and_gradient(
                    tf.constant(moved), tf.constant(shifts, tf.float64)
                )[0]
            )
        return (values[0] - values[1]) / 2

    step = 1e-5
    _, gradients = value_and_gradient(
        tf.constant(packed), tf.zeros(2, tf.float64)
    )
    for index, gradient in enumerate(gradients[1:]):
        expected = difference(index, step) / step
        np.testing.assert_allclose(gradient, expected, rtol=1e-6)
        assert abs(gradient) > 1e-3
    for row, column in itertools.product(range(5), range(4)):
        shift = np.zeros_like(packed)
        shift[row, column] = step
        np.testing.assert_allclose(
            gradients[0][row, column],
            difference("packed", shift) / step,
            rtol=1e-5,
            atol=1e-9,
        )


def test_far_and_near_have_finite_values_and_gradients():
    """Log-probabilities of numbers that float32 rounds to 0."""
    packed = tf.constant(points([[0, 0], [0, 0], [3e4, 4e4], [3e4, 4e4]]))
    labels = np.array([0, 1, 0, 1])
    objective = HedgedInstances(2)
    with tf.GradientTape() as tape:
        tape.watch(packed)
        value = objective(labels, packed)[0]
    gradients = tape.gradient(value, [packed, *objective.trainable_variables])
    # Of 4 negative pairs, 2 coincide and 2 are far apart.
    pairs = (5e4 + np.log(2) / 2) / 2
    mean_square = (0 + 25e8) / 2
    kl = 0.5 * (mean_square + 2 * (np.log(1e37) - 1))
    np.testing.assert_allclose(value, pairs + 2e-4 * kl, rtol=1e-5)
    for gradient in gradients:
        assert np.isfinite(gradient).all()


def test_close_points_far_from_the_origin():
    mean = 1e4 + np.array([[0.0, 0.0], [0.25, 0.0], [0.0, 0.5]])
    log_p = HedgedInstances().match_log_probability(points(mean), points(mean))
    distance = np.linalg.norm(mean[:, None] - mean, axis=-1)
    np.testing.assert_allclose(
        log_p, np.log(special.expit(-distance)), rtol=1e-5
    )


class TestMatch:
    first, second = random_packed(4, seed=5), random_packed(3, seed=6)

    def expected(self, num_samples, seed):
        a, b = samples_of_both(self.first, self.second, num_samples, seed)
        return np.array(
            [
                [
                    probabilities(a[:, i], b[:, j]).mean()
                    for j in range(len(self.second))
                ]
                for i in range(len(self.first))
            ]
        )

    def test_by_loop(self):
        log_p = HedgedInstances().match_log_probability(
            self.first, self.second, 5, seed=9
        )
        np.testing.assert_allclose(
            np.exp(log_p), self.expected(5, 9), rtol=1e-5
        )

    def test_row_by_row(self):
        logit = HedgedInstances(3).score_pairs(
            self.first[:3], self.second, seed=[0, 9]
        )
        a, b = samples_of_both(self.first[:3], self.second, 3, 9)
        p = [probabilities(a[:, i], b[:, i]).mean() for i in range(3)]
        np.testing.assert_allclose(logit, special.logit(p), rtol=1e-4)

    def test_seed(self):
        objective = HedgedInstances(2)
        first, second, third = (
            objective.match_log_probability(self.first, self.second, seed=seed)
            for seed in (1, 1, None)
        )
        np.testing.assert_array_equal(first, second)
        assert np.any(first != third)

    @pytest.mark.parametrize("compiled", [False, True])
    def test_does_not_depend_on_the_other_rows(self, compiled):
        """A row's result depends neither on its position nor on other rows."""
        objective = HedgedInstances(3)
        all_pairs, by_row = (
            tf.function(method, autograph=False) if compiled else method
            for method in (
                objective.match_log_probability,
                objective.score_pairs,
            )
        )
        expected = all_pairs(self.first, self.second, seed=4).numpy()
        backwards = all_pairs(self.first[::-1], self.second[::-1], seed=4)
        np.testing.assert_allclose(
            backwards.numpy()[::-1, ::-1], expected, rtol=1e-5
        )
        for i, row in enumerate(self.first):
            for j, other in enumerate(self.second):
                np.testing.assert_allclose(
                    all_pairs(row[None], other[None], seed=4),
                    expected[i : i + 1, j : j + 1],
                    rtol=1e-5,
                )
                logit = by_row(row[None], other[None], seed=4)
                np.testing.assert_allclose(
                    special.expit(logit)[0], np.exp(expected[i, j]), rtol=1e-4
                )

    def test_many_samples_called_eagerly(self):
        started = time.monotonic()
        HedgedInstances(150).match_log_probability(self.first, self.second)
        assert time.monotonic() - started < 30

    @pytest.mark.parametrize("scale", [1e15, 1e19, 1e30, 3e38])
    def test_huge_embeddings(self, scale):
        objective = HedgedInstances(2)
        mean = scale * np.array([[1.0], [-0.5], [0.1]])
        packed = np.hstack([mean, np.ones_like(mean)]).astype("float32")
        log_match = objective.match_log_probability(packed, packed, seed=0)
        logit = objective.score_pairs(packed, packed[::-1], seed=0)
        log_prob = objective.log_prob(
            packed, packed[:2], [0, 1], 2, num_samples=2, seed=0
        )
        for values in (log_match, logit, log_prob):
            assert np.isfinite(values).all()
        np.testing.assert_array_equal(np.argmax(log_prob, axis=1), [0, 1, 1])

    def test_wide_rows_match_themselves_less(self):
        packed = np.array([[0, 0, 1e-4, 1e-4], [0, 0, 9, 9]], "float32")
        sure, unsure = HedgedInstances().score_pairs(packed, packed, seed=0)
        assert unsure < sure < 0.001

    @pytest.mark.parametrize("method", ["match_log_probability", "score_pairs"])
    def test_odd_width(self, method):
        with pytest.raises(ValueError, match="even last axis"):
            getattr(HedgedInstances(), method)(np.ones((2, 3)), self.second)


class TestClasses:
    support = random_packed(7, seed=7)
    class_ids = np.array([2, 0, 1, 0, 2, 1, 2])
    names = np.array(["a", "b", "c"])[class_ids]
    query = random_packed(5, seed=8)

    def expected(self, seed, objective):
        log_match = objective.match_log_probability(
            self.query, self.support, seed=seed
        ).numpy()
        best = np.stack(
            [log_match[:, self.class_ids == c].max(axis=1) for c in range(3)],
            axis=1,
        )
        return best - special.logsumexp(best, axis=1, keepdims=True)

    def test_best_support(self):
        objective = HedgedInstances()
        log_prob = objective.log_prob(
            self.query, self.support, self.class_ids, 3, seed=4
        )
        np.testing.assert_allclose(
            log_prob, self.expected(4, objective), rtol=1e-5
        )

    def test_distances_whose_difference_leaves_float32(self):
        supports = points(np.array([[1e8, 0], [1e8, 3e4]]))
        log_prob = HedgedInstances().log_prob(
            points(np.zeros((1, 2))), supports, [0, 1], 2, seed=0
        )
        # The second support is 4.5 further away.
        expected = special.log_softmax([[0, -np.hypot(1e8, 3e4) + 1e8]], axis=1)
        np.testing.assert_allclose(log_prob, expected, rtol=1e-4)

    def test_few_shot_classifier(self):
        encoder = keras.Sequential([keras.Input((4,)), keras.layers.Identity()])
        model = EmbeddingModel(encoder, HedgedInstances(), gaussian=True)
        classifier = FewShotClassifier(model, seed=6)
        classifier.fit(self.support, self.names)
        expected = self.expected([6, 0], model.objective)
        np.testing.assert_allclose(
            classifier.predict_log_proba(self.query), expected, rtol=1e-4
        )
        assert classifier.predict(self.query).tolist() == [
            "abc"[best] for best in expected.argmax(axis=1)
        ]

    def test_class_without_support(self):
        with pytest.raises(ValueError, match="1 of 4 classes has none"):
            HedgedInstances().log_prob(
                self.query, self.support, self.class_ids, 4
            )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"num_samples": 0}, "`num_samples` must be an integer"),
        ({"num_samples": 46_341}, "at most 46340, .*; received 46341"),
        ({"beta": -1}, "`beta` must be a finite number of at least 0"),
        ({"beta": np.nan}, "received nan"),
        ({"average": "mean"}, "`average` must be one of 'probability', 'loss'"),
        ({"beta": 1e38}, r"`beta` must be at most 1e\+18; received 1e\+38"),
        ({"seed": 0.5}, "`seed` must be an integer"),
    ],
)
def test_argument_errors(arguments, message):
    with pytest.raises(ValueError, match=message):
        HedgedInstances(**arguments)
    if "num_samples" in arguments:
        score = HedgedInstances().match_log_probability
        with pytest.raises(ValueError, match=message):
            score(random_packed(), random_packed(), **arguments)


@pytest.mark.parametrize("average", ["probability", "loss"])
@pytest.mark.parametrize("variance", [-np.inf, -0.01])
def test_a_negative_variance_makes_the_loss_nan(average, variance):
    packed = random_packed()
    objective = HedgedInstances(2, average=average, seed=0)
    assert np.isfinite(objective(LABELS, packed)).all()
    packed[3, -1] = variance
    assert np.isnan(objective(LABELS, packed)).all()


def test_embeddings_whose_squares_leave_float32():
    """The divergence dominates the loss: beta mean ||mean||^2."""
    packed = random_packed()
    packed[:, :2] *= 1e19 / np.abs(packed[:, :2]).max()
    value = HedgedInstances(2, beta=1e-3, seed=0)(LABELS, packed)
    squares = (packed[:, :2].astype("float64") ** 2).sum(axis=1)
    np.testing.assert_allclose(value, 1e-3 * squares.mean(), rtol=1e-5)


def test_a_divergence_that_leaves_float32():
    packed = random_packed()
    packed[:, :2] *= 1e25
    packed = tf.constant(packed)
    with tf.GradientTape() as tape:
        tape.watch(packed)
        value = HedgedInstances(2, beta=1.0, seed=0)(LABELS, packed)
        first = value[0]
    np.testing.assert_array_equal(value, np.finfo("float32").max)
    # The loss has twice the mean of KL over rows; its derivative is the mean.
    expected = 2 * packed[:, :2] / len(packed)
    gradient = tape.gradient(first, packed)[:, :2]
    np.testing.assert_allclose(gradient, expected, rtol=1e-4)


def test_pairs_of_two_lengths():
    objective = HedgedInstances(2)
    with pytest.raises(ValueError, match="row by row; received 8 and 5 rows"):
        objective.score_pairs(random_packed(), random_packed(5))
    with pytest.raises(ValueError, match="the same width"):
        objective.score_pairs(random_packed(), random_packed(dim=1))
    for bad in (None, "text", np.ones(4), 3.0):
        with pytest.raises(ValueError, match="received"):
            objective.score_pairs(bad, random_packed())


def test_odd_width():
    with pytest.raises(ValueError, match=r"received embeddings of shape \(4,"):
        HedgedInstances()(np.zeros(4), np.ones((4, 3), "float32"))
