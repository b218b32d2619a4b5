"""Expected values by loops and by integration on a grid, in float64."""

import functools
import itertools
import time

import keras
import numpy as np
import pytest
import tensorflow as tf
from scipy import special
from scipy import stats

from embeddings_tf.losses import prototypical_loss
from embeddings_tf.objectives import StochasticPrototypes
from tests.objectives.packed import unpack

SAMPLERS = ("intersection", "naive")
EPISODES = {
    "class by class": [5, 5, 5, 5, -1, -1, -1, -1, 9, 9, 9, 9],
    "uneven": [0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 2, 2],
    "interleaved": [3, 1, 2, 1, 3, 2, 2, 1, 3, 3, 1, 2],
    "class without queries": [4, 4, 4, 7, 4, 7, 8, 8, 8, 4, 8, 8],
}
INTERLEAVED = np.array(EPISODES["interleaved"])


def random_packed(rows=12, dim=2, low=0.1, high=1.5, seed=0):
    rng = np.random.default_rng(seed)
    mean = rng.normal(size=(rows, dim))
    variance = rng.uniform(low, high, size=(rows, dim))
    return np.concatenate([mean, variance], axis=1).astype("float32")


def log_normal(z, mean, variance):
    return stats.norm.logpdf(z, mean, np.sqrt(variance)).sum(axis=-1)


def prototypes_by_loop(packed, noise_variance):
    """Eq. 5 for the supports of one class, term by term."""
    precision = weighted = 0
    for mean, variance in zip(*unpack(packed), strict=True):
        precision += 1 / (variance + noise_variance)
        weighted += mean / (variance + noise_variance)
    return weighted / precision, 1 / precision


def class_log_likelihoods(z, prototypes, noise_variance):
    """ln N(z; mu_c, sigma_c^2 + s^2), one entry per class (Eq. 6)."""
    columns = [
        log_normal(z, mean, variance + noise_variance)
        for mean, variance in zip(*unpack(prototypes), strict=True)
    ]
    return np.stack(columns, axis=-1)


def softmax_at(z, prototypes, noise_variance):
    log_likelihoods = class_log_likelihoods(z, prototypes, noise_variance)
    return special.softmax(log_likelihoods, axis=-1)


def grid_expectation(function, mean, variance):
    """E of `function(z)` for diagonal Gaussian z, by summation on a grid."""
    points = {1: 4001, 2: 301}[len(mean)]
    axes = [
        np.linspace(m - 8 * s, m + 8 * s, points)
        for m, s in zip(mean, np.sqrt(variance), strict=True)
    ]
    z = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, len(mean))
    weights = np.exp(log_normal(z, mean, variance))
    weights /= weights.sum()
    return np.tensordot(weights, function(z), axes=1)


def product(mean, variance, other_mean, other_variance):
    """Eq. 8 with precisions."""
    combined = 1 / (1 / variance + 1 / other_variance)
    return (
        combined * (mean / variance + other_mean / other_variance),
        combined,
    )


class OneQuery:
    """Three classes, two supports each, and one query of the class 1."""

    labels = np.array([0, 1, 2, 2, 1, 0, 1], "int32")
    target = 1

    def __init__(self, dim, query_variance=0.3):
        self.packed = random_packed(7, dim, low=0.4, high=0.9, seed=3)
        self.packed[-1, dim:] = query_variance
        self.objective = StochasticPrototypes(
            2, initial_noise_variance=0.2, seed=5
        )
        self.prototypes = self.objective.prototypes(
            self.packed[:-1], self.labels[:-1], 3
        ).numpy()
        self.noise_variance = float(self.objective.noise_variance)
        (self.mean,), (self.variance,) = unpack(self.packed[-1:])
        class_mean, class_variance = unpack(self.prototypes)
        self.target_mean = class_mean[self.target]
        self.target_variance = class_variance[self.target] + self.noise_variance
        self.product = product(
            self.mean, self.variance, self.target_mean, self.target_variance
        )

    def softmax_at(self, z):
        return softmax_at(z, self.prototypes, self.noise_variance)

    def integral(self):
        """Eq. 7, for all classes."""
        return grid_expectation(self.softmax_at, self.mean, self.variance)

    def estimate_at(self, z):
        """One sample of Eq. 9: importance sampling of Eq. 2."""
        weight = np.exp(
            log_normal(z, self.mean, self.variance)
            - log_normal(z, *self.product)
        )
        return weight * self.softmax_at(z)[..., self.target]


def test_prototypes_by_loop():
    packed = random_packed()
    objective = StochasticPrototypes(3, initial_noise_variance=0.4)
    class_ids = INTERLEAVED - 1
    actual = objective.prototypes(packed, class_ids, 3).numpy()
    for y in range(3):
        expected = prototypes_by_loop(packed[class_ids == y], 0.4)
        np.testing.assert_allclose(
            actual[y], np.concatenate(expected), rtol=1e-5, atol=1e-6
        )


class TestLogProb:
    @pytest.mark.parametrize("dim", [1, 2])
    def test_against_integration(self, dim):
        problem = OneQuery(dim, query_variance=0.8)
        queries = random_packed(3, dim, seed=8)
        num_samples = 2000
        estimate = tf.exp(
            tf.function(problem.objective.log_prob, autograph=False)(
                queries, problem.prototypes, num_samples, tf.constant([1, 2])
            )
        )
        for row, mean, variance in zip(estimate, *unpack(queries), strict=True):
            expected, square = (
                grid_expectation(
                    lambda z, power=power: problem.softmax_at(z) ** power,
                    mean,
                    variance,
                )
                for power in (1, 2)
            )
            error = np.sqrt((square - expected**2) / num_samples)
            assert (error > 1e-4).all()
            assert (np.abs(row - expected) < 4 * error).all()

    def test_xla_after_a_graph_of_open_shapes(self):
        """XLA takes the samples in a loop that export traced before."""
        objective = StochasticPrototypes(2)
        queries, supports = random_packed(5), random_packed(4, seed=1)

        def log_prob(queries, supports):
            prototypes = objective.prototypes(supports, [0, 0, 1, 1], 2)
            return objective.log_prob(queries, prototypes, 20, (0, 0))

        rows = tf.TensorSpec((None, 4))
        traced = tf.function(
            log_prob, input_signature=[rows, rows], autograph=False
        )
        expected = traced(queries, supports)
        compiled = tf.function(log_prob, jit_compile=True, autograph=False)
        np.testing.assert_allclose(
            compiled(queries, supports), expected, atol=1e-5
        )

    @pytest.mark.parametrize("num_samples", [1, 3])
    def test_same_noise(self, num_samples):
        """An average of softmaxes at the samples, in NumPy."""
        problem = OneQuery(2)
        queries = random_packed(5, seed=9)
        seed = tf.constant([7, 8])
        actual = problem.objective.log_prob(
            queries, problem.prototypes, num_samples, seed
        )
        mean, variance = unpack(queries)
        # One set of draws for all queries.
        noise = tf.random.stateless_normal(
            (num_samples, 2), seed, alg="philox"
        ).numpy()
        softmaxes = [
            problem.softmax_at(mean + np.sqrt(variance) * draw)
            for draw in noise
        ]
        np.testing.assert_allclose(
            actual, np.log(np.mean(softmaxes, axis=0)), rtol=1e-4, atol=1e-5
        )

    @pytest.mark.parametrize("sampler", SAMPLERS)
    def test_classes_sum_to_one(self, sampler):
        problem = OneQuery(2)
        queries = random_packed(5, high=40, seed=9)
        log_prob = problem.objective.log_prob(
            queries, problem.prototypes, 7, sampler=sampler
        )
        np.testing.assert_allclose(
            tf.reduce_sum(tf.exp(log_prob), axis=1), np.ones(5), rtol=1e-5
        )

    def test_adds_the_noise_variance(self):
        """A certain query between a certain and an uncertain class, by hand."""
        objective = StochasticPrototypes(1, initial_noise_variance=0.5)
        log_prob = objective.log_prob([[0.0, 1e-12]], [[1, 0.5], [2, 1.5]])
        odds = np.sqrt(2 / 1) * np.exp(-1 / 2 + 4 / 4)
        np.testing.assert_allclose(
            tf.exp(log_prob), [[odds / (1 + odds), 1 / (1 + odds)]], rtol=1e-4
        )

    @pytest.mark.parametrize("sampler", SAMPLERS)
    def test_seed(self, sampler):
        problem = OneQuery(2)
        queries = random_packed(5, seed=9)

        def probability(seed):
            return problem.objective.log_prob(
                queries, problem.prototypes, 2, seed, sampler=sampler
            ).numpy()

        for same in (3, np.int64(3), tf.constant([0, 3])):
            np.testing.assert_array_equal(probability(same), probability(3))
        assert (probability(4) != probability(3)).any()
        assert (probability(None) != probability(None)).any()

    @pytest.mark.parametrize("sampler", SAMPLERS)
    @pytest.mark.parametrize("compiled", [False, True])
    def test_does_not_depend_on_the_other_queries(self, compiled, sampler):
        """Neither their order nor their number nor the position matters."""
        problem = OneQuery(2)
        queries = random_packed(9, seed=9)
        log_prob = functools.partial(
            problem.objective.log_prob, sampler=sampler
        )
        if compiled:
            log_prob = tf.function(log_prob, autograph=False)

        def answer(rows):
            return log_prob(queries[rows], problem.prototypes, 11, 5).numpy()

        together = answer(np.arange(9))
        np.testing.assert_allclose(
            answer(np.arange(9)[::-1])[::-1], together, rtol=1e-6
        )
        for row in range(9):
            np.testing.assert_allclose(
                answer([row])[0], together[row], rtol=1e-6
            )

    @pytest.mark.parametrize("sampler", SAMPLERS)
    def test_eager_as_compiled(self, sampler):
        problem, seed = OneQuery(2), tf.constant([3, 4])
        arguments = random_packed(5, seed=9), problem.prototypes
        log_prob = functools.partial(
            problem.objective.log_prob, sampler=sampler
        )
        np.testing.assert_array_equal(
            log_prob(*arguments, 300, seed),
            tf.function(log_prob)(*arguments, 300, seed),
        )

    @pytest.mark.slow
    @pytest.mark.parametrize("sampler", SAMPLERS)
    def test_under_xla(self, sampler):
        """XLA draws other numbers; the average agrees."""
        problem = OneQuery(2)
        arguments = random_packed(5, high=0.2, seed=9), problem.prototypes
        log_prob = functools.partial(
            problem.objective.log_prob, sampler=sampler
        )
        compiled = tf.function(log_prob, jit_compile=True)
        np.testing.assert_allclose(
            np.exp(compiled(*arguments, 100_000, tf.constant([3, 4]))),
            np.exp(log_prob(*arguments, 100_000, 0)),
            atol=0.01,
        )

    @pytest.mark.parametrize("sampler", SAMPLERS)
    def test_blocks_of_samples_do_not_change_the_answer(self, sampler):
        """A block contains 9 of the samples, or all of them."""
        problem = OneQuery(2)
        few, num_samples = random_packed(3, seed=9), 23
        padding = np.tile(random_packed(1, seed=1), (38_000, 1))
        many = np.concatenate([few, padding])
        prototypes = problem.prototypes
        assert 9 < 2**21 / many[:, :2].size / len(prototypes) < 10
        log_prob = functools.partial(
            problem.objective.log_prob, sampler=sampler
        )
        np.testing.assert_allclose(
            log_prob(many, prototypes, num_samples, 1)[:3],
            log_prob(few, prototypes, num_samples, 1),
            rtol=1e-6,
        )

    def test_many_samples_called_eagerly(self):
        """20,000 samples took minutes when run one by one."""
        problem, queries = OneQuery(2), random_packed(50, seed=9)
        started = time.monotonic()
        problem.objective.log_prob(queries, problem.prototypes, 20_000, 0)
        assert time.monotonic() - started < 30

    @pytest.mark.parametrize("sampler", SAMPLERS)
    @pytest.mark.parametrize("scale", [1e15, 1e19, 1e30, 3e38])
    def test_huge_embeddings(self, scale, sampler):
        """The nearest class by distance over variance, in float64."""
        objective = StochasticPrototypes(1, initial_noise_variance=0.5)
        mean = np.float32(scale) * np.float32([[0.9], [-0.8], [0.1]])
        queries = np.hstack([mean, np.ones_like(mean)])
        classes = np.float32([[scale, 0.5], [-scale, 1.5]])
        log_prob = objective.log_prob(queries, classes, 5, 0, sampler=sampler)
        distance = np.float64(mean) - np.float64(classes[:, 0])
        nearest = np.argmin(distance**2 / (classes[:, 1] + 0.5), axis=1)
        assert np.isfinite(log_prob).all()
        np.testing.assert_array_equal(tf.exp(log_prob), np.eye(2)[nearest])

    @pytest.mark.parametrize("sampler", SAMPLERS)
    def test_extreme_variances(self, sampler):
        """Queries and classes of variance 1e-8 to 1e8: finite, sum to 1."""
        scales = np.array([1e-8, 1e-3, 1, 1e3, 1e8])
        mean = np.linspace(-3, 3, 5)[:, None]
        packed = np.hstack([mean, scales[:, None]]).astype("float32")
        objective = StochasticPrototypes(1)
        log_prob = objective.log_prob(packed, packed, 5, sampler=sampler)
        assert np.isfinite(log_prob).all()
        np.testing.assert_allclose(
            tf.reduce_sum(tf.exp(log_prob), axis=1), np.ones(5), rtol=1e-5
        )

    @pytest.mark.parametrize("num_samples", [1, 4])
    def test_weighted_samples_of_intersections(self, num_samples):
        """Importance sampling of Eq. 7 in NumPy, density by density."""
        problem, seed = OneQuery(2), tf.constant([7, 8])
        queries = random_packed(3, seed=9)
        actual = problem.objective.log_prob(
            queries,
            problem.prototypes,
            num_samples,
            seed,
            sampler="intersection",
        )
        noise = tf.random.stateless_normal(
            (num_samples, 2), seed, alg="philox"
        ).numpy()
        first = tf.random.stateless_uniform(
            (),
            tf.random.experimental.stateless_fold_in(seed, 1, alg="philox"),
            dtype=tf.float64,
            alg="philox",
        )
        classes = [
            (m, v + problem.noise_variance)
            for m, v in zip(*unpack(problem.prototypes), strict=True)
        ]
        for row, m, v in zip(actual, *unpack(queries), strict=True):
            mass = np.exp([log_normal(m, mc, vc + v) for mc, vc in classes])
            upper = np.cumsum(mass / mass.sum())
            products = [product(m, v, *moments) for moments in classes]
            total = 0
            for number in range(num_samples):
                chosen = np.searchsorted(upper, (number + first) / num_samples)
                mean, variance = products[chosen]
                z = mean + np.sqrt(variance) * noise[number]
                proposal = sum(
                    part * np.exp(log_normal(z, *moments))
                    for part, moments in zip(mass, products, strict=True)
                )
                weight = np.exp(log_normal(z, m, v)) / proposal
                total = total + weight * problem.softmax_at(z)
            np.testing.assert_allclose(
                row, np.log(total / total.sum()), rtol=1e-4, atol=1e-5
            )

    @pytest.mark.parametrize("dim", [1, 2])
    def test_samplers_have_one_limit(self, dim):
        """Queries narrower than classes, whose weights have a variance."""
        problem = OneQuery(dim)
        queries = random_packed(4, dim, low=0.05, high=0.2, seed=8)
        naive, weighted = (
            np.exp(
                problem.objective.log_prob(
                    queries, problem.prototypes, 50_000, 1, sampler=sampler
                )
            )
            for sampler in ("naive", "intersection")
        )
        assert naive.max() - naive.min() > 0.3
        np.testing.assert_allclose(weighted, naive, atol=0.005)

    def test_sampler(self):
        with pytest.raises(ValueError, match="`sampler` must be one of"):
            StochasticPrototypes(1).log_prob(
                [[0.0, 1]], [[0.0, 1]], sampler="importance"
            )

    def test_num_samples(self):
        with pytest.raises(ValueError, match="`num_samples` must be"):
            StochasticPrototypes(1).log_prob([[0.0, 1]], [[0.0, 1]], 0)


def naive_noise(seed, num_samples, shape):
    for index in range(num_samples):
        yield tf.random.stateless_normal(
            shape,
            tf.random.experimental.stateless_fold_in(seed, index, alg="philox"),
            alg="philox",
        ).numpy()


def intersection_noise(seed, num_samples, shape):
    return tf.random.stateless_normal(
        (num_samples, *shape), seed, alg="philox"
    ).numpy()


def next_seed(objective):
    """The seed that the next call of the objective will draw with."""
    state = objective.seed_generator.state
    return tf.cast(tf.convert_to_tensor(state), tf.int32)


class TestIntersectionEstimate:
    @pytest.mark.parametrize("dim", [1, 2])
    def test_one_sample(self, dim):
        """One sample is the importance-weighted softmax of the target."""
        problem = OneQuery(dim)
        for _ in range(5):
            seed = next_seed(problem.objective)
            value = problem.objective(problem.labels, problem.packed)[0]
            mean, variance = problem.product
            (noise,) = intersection_noise(seed, 1, (dim,))
            z = mean + np.sqrt(variance) * noise
            np.testing.assert_allclose(
                value, -np.log(problem.estimate_at(z)), rtol=1e-4, atol=1e-5
            )

    @pytest.mark.slow
    @pytest.mark.parametrize("dim", [1, 2])
    def test_unbiased(self, dim):
        """The mean over seeds equals the integral and the naive sampler."""
        problem = OneQuery(dim)
        # The variance of the estimate is finite here, per dimension.
        _, class_variance = unpack(problem.prototypes)
        widest = class_variance.max(axis=0) + problem.noise_variance
        assert (
            1 / problem.target_variance + 1 / problem.variance > 2 / widest
        ).all()

        expected = problem.integral()[problem.target]
        # Eqs. 7 and 9 agree, by summation.
        mean, square = (
            grid_expectation(
                lambda z, power=power: problem.estimate_at(z) ** power,
                *problem.product,
            )
            for power in (1, 2)
        )
        assert mean == pytest.approx(expected, rel=1e-6)

        seeds = 1500
        step = tf.function(problem.objective, autograph=False)
        labels = tf.constant(problem.labels)
        packed = tf.constant(problem.packed)
        losses = [step(labels, packed)[0].numpy() for _ in range(seeds)]
        estimates = np.exp(-np.array(losses, "float64"))
        error = np.sqrt((square - mean**2) / seeds)
        assert error < 0.05 * expected
        assert abs(estimates.mean() - expected) < 4 * error

        # The naive sampler agrees.
        samples = 2000
        second_moment = grid_expectation(
            lambda z: problem.softmax_at(z)[:, problem.target] ** 2,
            problem.mean,
            problem.variance,
        )
        naive = tf.exp(
            tf.function(problem.objective.log_prob, autograph=False)(
                problem.packed[-1:], problem.prototypes, samples, [3, 4]
            )
        )[0, problem.target]
        naive_error = np.sqrt((second_moment - expected**2) / samples)
        difference = abs(estimates.mean() - naive)
        assert difference < 4 * np.hypot(error, naive_error)

    def test_more_samples_are_averaged(self):
        """Averages probabilities within one call."""
        problem = OneQuery(2)
        objective = StochasticPrototypes(
            2, num_samples=4000, initial_noise_variance=0.2, seed=1
        )
        probability = np.exp(-objective(problem.labels, problem.packed)[0])
        mean, square = (
            grid_expectation(
                lambda z, power=power: problem.estimate_at(z) ** power,
                *problem.product,
            )
            for power in (1, 2)
        )
        error = np.sqrt((square - mean**2) / 4000)
        assert abs(probability - mean) < 4 * error


def loss_by_loop(labels, packed, num_support, noise_variance, noise, sampler):
    """Walks over classes, queries and samples; noise (samples, queries, D)."""
    ids, prototypes = [], []
    is_query = np.zeros(len(labels), bool)
    for label in dict.fromkeys(labels.tolist()):
        rows = np.flatnonzero(labels == label)
        is_query[rows[num_support:]] = True
        support = packed[rows[:num_support]]
        posterior = prototypes_by_loop(support, noise_variance)
        ids.append(label)
        prototypes.append(np.concatenate(posterior))
    class_mean, class_variance = unpack(prototypes)
    losses = []
    for number, row in enumerate(np.flatnonzero(is_query)):
        target = ids.index(labels[row])
        (mean,), (variance,) = unpack(packed[[row]])
        target_mean = class_mean[target]
        target_variance = class_variance[target] + noise_variance
        estimates = []
        for sample_noise in noise[:, number]:
            if sampler == "naive":
                z = mean + np.sqrt(variance) * sample_noise
                softmax = softmax_at(z, prototypes, noise_variance)
                estimates.append(softmax[target])
                continue
            z_mean, z_variance = product(
                mean, variance, target_mean, target_variance
            )
            z = z_mean + np.sqrt(z_variance) * sample_noise
            evidence = class_log_likelihoods(z, prototypes, noise_variance)
            overlap = log_normal(mean, target_mean, target_variance + variance)
            estimates.append(np.exp(overlap - special.logsumexp(evidence)))
        losses.append(-np.log(np.mean(estimates)))
    return np.mean(losses)


class TestCall:
    @pytest.mark.parametrize("labels", EPISODES.values(), ids=EPISODES)
    @pytest.mark.parametrize("num_samples", [1, 4])
    @pytest.mark.parametrize("sampler", SAMPLERS)
    def test_by_loop(self, sampler, num_samples, labels):
        labels, packed = np.array(labels), random_packed()
        num_support = 2
        objective = StochasticPrototypes(num_support, sampler, num_samples)
        objective.build(labels.shape, packed.shape)
        counts = np.unique(labels, return_counts=True)[1]
        shape = (np.maximum(counts - num_support, 0).sum(), 2)
        draw = naive_noise if sampler == "naive" else intersection_noise
        noise = np.stack(list(draw(next_seed(objective), num_samples, shape)))
        expected = loss_by_loop(
            labels,
            packed,
            num_support,
            float(objective.noise_variance),
            noise,
            sampler,
        )
        values = objective(labels, packed)
        np.testing.assert_allclose(
            values, np.full(12, expected), rtol=1e-4, atol=1e-5
        )

    @pytest.mark.parametrize("sampler", SAMPLERS)
    def test_new_noise_on_every_call(self, sampler):
        objective = StochasticPrototypes(2, sampler, seed=1)
        arguments = INTERLEAVED, random_packed()
        first, second = (objective(*arguments)[0] for _ in range(2))
        assert first != second
        again = StochasticPrototypes(2, sampler, seed=1)
        assert again(*arguments)[0] == first

    @pytest.mark.parametrize("sampler", SAMPLERS)
    def test_gradient_by_differences(self, sampler):
        """Embeddings and noise variance, in float64, with fixed noise."""
        objective = StochasticPrototypes(2, sampler, 3, dtype="float64")
        packed = tf.constant(random_packed(), tf.float64)
        objective.build((12,), packed.shape)
        raw = objective.raw_noise_variance

        @tf.function
        def value_and_gradient(packed, shift):
            objective.seed_generator.state.assign([2, 3])
            raw.assign_add(shift)
            with tf.GradientTape() as tape:
                tape.watch(packed)
                value = objective(INTERLEAVED, packed)[0]
            gradient = tape.gradient(value, [packed, raw.value])
            raw.assign_sub(shift)
            return value, *gradient

        zero, step = tf.constant([0.0, 1e-5], tf.float64)
        _, by_packed, by_raw = value_and_gradient(packed, zero)
        up, down = (
            value_and_gradient(packed, shift)[0] for shift in (step, -step)
        )
        np.testing.assert_allclose(by_raw, (up - down) / (2 * step), rtol=1e-5)
        assert abs(by_raw) > 1e-4
        for row, column in itertools.product(range(12), range(4)):
            shift = np.zeros(packed.shape)
            shift[row, column] = step
            up, down = (
                value_and_gradient(packed + sign * shift, zero)[0]
                for sign in (1, -1)
            )
            np.testing.assert_allclose(
                by_packed[row, column],
                (up - down) / (2 * step),
                rtol=1e-5,
                atol=1e-8,
            )

    def test_stays_finite_where_the_variance_is_infinite(self):
        """Queries with a variance 1e5 times the variance of the classes."""
        objective = StochasticPrototypes(2, initial_noise_variance=1e-3)
        objective.build((12,), (12, 4))

        @tf.function
        def loss_and_gradients(packed):
            with tf.GradientTape() as tape:
                tape.watch(packed)
                value = objective(INTERLEAVED, packed)[0]
            return value, tape.gradient(
                value, [packed, objective.raw_noise_variance.value]
            )

        rows = [np.flatnonzero(INTERLEAVED == c) for c in (1, 2, 3)]
        support = np.concatenate([row[:2] for row in rows])
        query = np.concatenate([row[2:] for row in rows])
        for seed in range(200):
            packed = random_packed(low=50, high=150, seed=seed)
            packed[support, 2:] *= 1e-8
            noise = float(objective.noise_variance)
            widest = packed[support, 2:].max() + noise + noise
            assert packed[query, 2:].min() > widest
            value, gradients = loss_and_gradients(packed)
            assert np.isfinite(value)
            for gradient in gradients:
                assert np.isfinite(gradient).all()


class TestPrototypicalNetworkLimit:
    """Certain queries, and classes with equal isotropic variances."""

    def limit(self, labels, num_support, sampler="intersection"):
        """Class variance `sigma_y^2 + s^2 = 1 / 2` and query variance 0."""
        noise_variance = 0.1
        support_variance = num_support * (0.5 - noise_variance)
        support_variance -= noise_variance
        packed = random_packed(len(labels), dim=3)
        packed[:, 3:] = 1e-12
        for label in set(labels.tolist()):
            rows = np.flatnonzero(labels == label)[:num_support]
            packed[rows, 3:] = support_variance
        objective = StochasticPrototypes(
            num_support, sampler, initial_noise_variance=noise_variance
        )
        return packed, objective

    def test_log_prob(self):
        labels = np.repeat([0, 1, 2], 4)
        packed, objective = self.limit(labels, 2)
        support = np.arange(12) % 4 < 2
        prototypes = objective.prototypes(packed[support], labels[support], 3)
        log_prob = objective.log_prob(packed[~support], prototypes, 3)
        means = packed[support, :3].reshape(3, 2, 3).mean(axis=1)
        queries = packed[~support, :3]
        squared = ((queries[:, None] - means) ** 2).sum(axis=-1)
        np.testing.assert_allclose(
            log_prob, special.log_softmax(-squared, axis=1), atol=1e-4
        )

    @pytest.mark.parametrize("sampler", SAMPLERS)
    @pytest.mark.parametrize("num_support", [1, 2])
    def test_loss(self, sampler, num_support):
        packed, objective = self.limit(INTERLEAVED, num_support, sampler)
        np.testing.assert_allclose(
            objective(INTERLEAVED, packed),
            prototypical_loss(INTERLEAVED, packed[:, :3], num_support),
            rtol=1e-4,
        )


class TestNoiseVariance:
    @pytest.mark.parametrize("transform", ["softplus", "exp"])
    @pytest.mark.parametrize("num_support", [1, 5, 50])
    @pytest.mark.parametrize("dim", [1, 2, 3, 64])
    def test_default(self, transform, num_support, dim):
        objective = StochasticPrototypes(num_support, noise_transform=transform)
        objective.build((None,), (None, 2 * dim))
        np.testing.assert_allclose(
            objective.noise_variance,
            num_support * 0.01 ** (2 / dim),
            rtol=5e-6,
        )

    @pytest.mark.parametrize("transform", ["softplus", "exp"])
    @pytest.mark.parametrize("start", [1e-6, 0.3, 500.0])
    def test_given(self, transform, start):
        objective = StochasticPrototypes(
            2, initial_noise_variance=start, noise_transform=transform
        )
        objective.build((None,), (None, 4))
        np.testing.assert_allclose(objective.noise_variance, start, rtol=1e-5)

    @pytest.mark.parametrize(
        ("transform", "function"),
        [("softplus", lambda raw: np.log1p(np.exp(raw))), ("exp", np.exp)],
    )
    def test_transform(self, transform, function):
        objective = StochasticPrototypes(1, noise_transform=transform)
        objective.build((None,), (None, 4))
        for raw in (-5.0, 0.0, 2.0):
            objective.raw_noise_variance.assign(raw)
            np.testing.assert_allclose(
                objective.noise_variance, function(raw), rtol=1e-5
            )

    def test_before_dim_is_known(self):
        objective = StochasticPrototypes(2)
        with pytest.raises(ValueError, match="dim, which is not known yet"):
            _ = objective.noise_variance

    @pytest.mark.parametrize(
        "use",
        [
            lambda objective, packed: objective(INTERLEAVED, packed),
            lambda objective, packed: objective.prototypes(packed, [0] * 12, 1),
            lambda objective, packed: objective.log_prob(packed, packed, 1),
        ],
        ids=["call", "prototypes", "log_prob"],
    )
    def test_known_after_use(self, use):
        objective = StochasticPrototypes(2)
        use(objective, random_packed())
        np.testing.assert_allclose(
            objective.noise_variance, 2 * 0.01, rtol=1e-5
        )

    @pytest.mark.parametrize("transform", ["softplus", "exp"])
    @pytest.mark.parametrize("sampler", SAMPLERS)
    def test_is_trained(self, sampler, transform):
        objective = StochasticPrototypes(2, sampler, noise_transform=transform)
        packed = tf.constant(random_packed())
        with tf.GradientTape() as tape:
            value = objective(INTERLEAVED, packed)[0]
        (weight,) = objective.trainable_variables
        (gradient,) = tape.gradient(value, [weight.value])
        assert gradient != 0
        before = float(objective.noise_variance)
        keras.optimizers.SGD(0.1).apply([gradient], [weight])
        assert np.sign(objective.noise_variance - before) == -np.sign(gradient)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"num_support": 0}, "`num_support` must be an integer"),
        ({"num_samples": 0}, "`num_samples` must be an integer"),
        (
            {"sampler": "exact"},
            "`sampler` must be one of 'intersection', 'naive'; received "
            "'exact'",
        ),
        ({"noise_transform": "relu"}, "`noise_transform` must be one of"),
        ({"initial_noise_variance": 0}, "positive and finite; received 0"),
        ({"initial_noise_variance": np.nan}, "received nan"),
        ({"initial_noise_variance": np.inf}, "received inf"),
        ({"initial_noise_variance": 1e38}, r"must be at most 1e\+18"),
        ({"initial_noise_variance": "0.1"}, "received '0.1'"),
        ({"seed": "0"}, "`seed` must be an integer"),
        ({"seed": -1}, "`seed` must be an integer"),
    ],
)
def test_argument_errors(arguments, message):
    with pytest.raises(ValueError, match=message):
        StochasticPrototypes(**{"num_support": 2, **arguments})


@pytest.mark.parametrize("sampler", ["intersection", "naive"])
@pytest.mark.parametrize("row", [0, 3], ids=["support", "query"])
@pytest.mark.parametrize("variance", [-np.inf, -0.01])
def test_a_negative_variance_makes_the_loss_nan(sampler, row, variance):
    """A negative variance must not look like a certain example."""
    packed = random_packed(4)
    labels = np.array([0, 1, 0, 1])
    objective = StochasticPrototypes(1, sampler, seed=0)
    assert np.isfinite(objective(labels, packed)).all()
    packed[row, -1] = variance
    assert np.isnan(objective(labels, packed)).all()


@pytest.mark.parametrize("bad", ["first", "second"])
def test_a_negative_variance_makes_scores_nan(bad):
    """Also if the other variances make the sum positive."""
    objective = StochasticPrototypes(1, initial_noise_variance=1.0)
    first = np.array([[0, 0.25], [1, 0.25]], "float32")
    second = np.array([[0, 0.25], [3, 0.25]], "float32")
    density = stats.norm.logpdf([0, -2], scale=np.sqrt(2.5))
    found = objective.score_pairs(first, second)
    np.testing.assert_allclose(found, density, rtol=1e-5)
    {"first": first, "second": second}[bad][1, 1] = -0.5
    found = objective.score_pairs(first, second)
    np.testing.assert_array_equal(np.isnan(found), [False, True])
    # A class is a part of every probability, a query only of its own.
    rows = [bad == "second", True]
    evidence = objective.log_evidence(first, second)
    np.testing.assert_array_equal(np.isnan(evidence), rows)
    for sampler in SAMPLERS:
        log_prob = objective.log_prob(first, second, seed=0, sampler=sampler)
        np.testing.assert_array_equal(np.isnan(log_prob).all(axis=1), rows)
        np.testing.assert_array_equal(np.isnan(log_prob).any(axis=1), rows)


@pytest.mark.parametrize("sampler", ["naive", "intersection"])
@pytest.mark.parametrize("variance", [0, 1e-8, 1])
def test_the_range_of_finite_values_and_gradients(sampler, variance):
    """The largest embeddings and smallest variance that the docs promise."""
    mean = np.random.default_rng(0).normal(size=(12, 30))
    mean *= 1e15 / np.abs(mean).max()
    packed = np.hstack([mean, np.full_like(mean, variance)])
    packed = tf.constant(packed, tf.float32)
    objective = StochasticPrototypes(
        2, sampler, initial_noise_variance=1e-3, seed=0
    )
    with tf.GradientTape() as tape:
        tape.watch(packed)
        value = objective(np.repeat([0, 1, 2], 4), packed)[0]
    assert np.isfinite(value)
    for gradient in tape.gradient(
        value, [packed, *objective.trainable_variables]
    ):
        assert np.isfinite(gradient).all()


@pytest.mark.parametrize("sampler", ["intersection", "naive"])
def test_points_have_finite_gradients(sampler):
    """A variance of exactly 0, of supports and of queries."""
    packed = random_packed(6)
    packed[:, packed.shape[1] // 2 :] = 0
    objective = StochasticPrototypes(1, sampler, num_samples=3, seed=0)
    z = tf.constant(packed)
    with tf.GradientTape() as tape:
        tape.watch(z)
        value = objective(np.array([0, 1, 0, 1, 0, 1]), z)[0]
    assert np.isfinite(value)
    gradient = tape.gradient(value, z).numpy()
    assert np.isfinite(gradient).all() and np.abs(gradient).max() > 0


BAD = {
    "None": None,
    "text": "hostile",
    "a dictionary": {"a": 1},
    "one row": np.ones(4, "float32"),
    "a scalar": np.float32(1),
    "a ragged list": [[1.0, 2.0], [3.0]],
}


@pytest.mark.parametrize("name", BAD)
def test_methods_refuse_invalid_gaussians(name):
    objective, good = StochasticPrototypes(1), random_packed(3)
    for call in (
        lambda bad: objective.prototypes(bad, [0, 1, 2], 3),
        lambda bad: objective.log_prob(bad, good),
        lambda bad: objective.log_prob(good, bad),
    ):
        with pytest.raises(ValueError, match="received"):
            call(BAD[name])


def test_prototypes_of_one_dimension_are_not_compared_with_each():
    objective = StochasticPrototypes(1)
    with pytest.raises(ValueError, match=r"same width.*\(3, 4\).*\(2, 2\)"):
        objective.log_prob(random_packed(3), random_packed(2, dim=1))


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (None, "class ids, integers; received NoneType"),
        (["a", "b", "c"], "class ids, integers; received the type string"),
        ([0.0, 0.3, 0.6], "not whole numbers"),
        ([[0], [1, 2]], "`labels` must be an array"),
        ([2**32, 2**32 + 1, 2**32 + 2], "must lie in .* received 4294967296"),
        ([0, 1], "same number of rows"),
    ],
    ids=["None", "text", "fractions", "ragged", "beyond int32", "fewer"],
)
def test_labels_of_supports(labels, message):
    with pytest.raises(ValueError, match=message):
        StochasticPrototypes(1).prototypes(random_packed(3), labels, 3)


def test_odd_width():
    with pytest.raises(ValueError, match=r"received embeddings of shape \(4,"):
        StochasticPrototypes(1)(np.zeros(4), np.ones((4, 3), "float32"))


def test_class_without_support():
    packed = random_packed(3)
    with pytest.raises(ValueError, match="1 of 3 classes has none"):
        StochasticPrototypes(1).prototypes(packed, [0, 2, 2], 3)
    with pytest.raises(tf.errors.InvalidArgumentError, match="one support"):
        tf.function(StochasticPrototypes(1).prototypes)(packed, [0, 2, 2], 3)


@pytest.mark.parametrize("sampler", ["intersection", "naive"])
def test_beta_adds_the_divergence_of_all_rows(sampler):
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(3), 4)
    mean = rng.normal(size=(12, 2)).astype("float32")
    variance = rng.uniform(0.1, 2.0, size=(12, 2)).astype("float32")
    packed = np.hstack([mean, variance])
    plain, regularised = (
        StochasticPrototypes(2, sampler, beta=beta, seed=0)(labels, packed)
        for beta in (0.0, 0.5)
    )
    divergence = 0.0
    for m, v in zip(mean.ravel(), variance.ravel(), strict=True):
        divergence += (m**2 + v - 1 - np.log(v)) / 2
    expected = plain.numpy() + 0.5 * divergence / 12
    np.testing.assert_allclose(regularised, expected, rtol=1e-5)


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_call_takes_double_precision(sampler):
    found = []
    for dtype in ("float32", "float64"):
        objective = StochasticPrototypes(2, sampler=sampler, seed=3)
        objective.build((None,), (None, 4))
        packed = random_packed().astype(dtype)
        found.append(objective.call(INTERLEAVED, packed))
    # Other noise in the other precision; the posteriors are the same.
    assert np.isfinite(found[1]).all()
    represented = [
        objective.prototypes(random_packed().astype(dtype), INTERLEAVED - 1, 3)
        for dtype in ("float32", "float64")
    ]
    np.testing.assert_allclose(*represented, rtol=1e-5)
