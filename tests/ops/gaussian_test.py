import numpy as np
import pytest
import tensorflow as tf
from scipy import stats

from embeddings_tf.objectives import HedgedInstances
from embeddings_tf.objectives import StochasticPrototypes
from embeddings_tf.ops import gaussian

CLASS_IDS = np.array([2, 0, 1, 0, 2, 2, 0], "int32")


def random_rows(dim, seed=0):
    rng = np.random.default_rng(seed)
    mean = rng.normal(size=(len(CLASS_IDS), dim))
    variance = rng.uniform(0.2, 2.0, size=(len(CLASS_IDS), dim))
    return mean.astype("float32"), variance.astype("float32")


def moments_on_grid(density, grid):
    """Mean and variance of an unnormalised density, by summation."""
    density = density / density.sum()
    mean = (density * grid).sum()
    return mean, (density * (grid - mean) ** 2).sum()


class TestPack:
    def test_mean_comes_first(self):
        mean, variance = random_rows(3)
        packed = gaussian.pack(mean, variance)
        np.testing.assert_array_equal(packed[:, :3], mean)
        np.testing.assert_array_equal(packed[:, 3:], variance)
        for actual, expected in zip(
            gaussian.unpack(packed), (mean, variance), strict=True
        ):
            np.testing.assert_array_equal(actual, expected)

    @pytest.mark.parametrize("width", [1, 3])
    def test_odd_width(self, width):
        with pytest.raises(ValueError, match=r"even last axis.*\(2, \d\)"):
            gaussian.unpack(np.ones((2, width), "float32"))

    @pytest.mark.parametrize("packed", [3.0, None, "text", {"a": 1}], ids=repr)
    def test_no_array(self, packed):
        with pytest.raises(ValueError, match="Gaussian.*received"):
            gaussian.unpack(packed)

    @pytest.mark.parametrize("variance", [-np.inf, -1e-40, -1.0, np.nan])
    def test_a_negative_variance_is_not_a_number(self, variance):
        """A small variance would look certain."""
        packed = np.array([[1, 2, 0.5, variance]])
        for unpack in (gaussian.unpack_valid, gaussian.unpack_positive):
            mean, found = unpack(packed)
            np.testing.assert_array_equal(mean, [[1, 2]])
            np.testing.assert_array_equal(found, [[0.5, np.nan]])

    def test_unknown_width(self):
        function = tf.function(
            gaussian.unpack, input_signature=[tf.TensorSpec((None, None))]
        )
        with pytest.raises(ValueError, match="even last axis"):
            function(tf.ones((2, 4)))


@pytest.mark.parametrize("width", [None, 0, 3])
def test_width_of_no_gaussian(width):
    with pytest.raises(ValueError, match=rf"at least 1; .*\(4, {width}\)"):
        gaussian.dim_of("Reader", (4, width))
    assert gaussian.dim_of("Reader", (4, 2)) == 1


@pytest.mark.parametrize(
    "objective", [StochasticPrototypes(1), HedgedInstances()]
)
def test_objectives_refuse_gaussians_without_dimensions(objective):
    with pytest.raises(ValueError, match="a dim of at least 1"):
        objective([0, 0, 1], np.zeros((3, 0), "float32"))


def test_diagonal_normal():
    mean, variance = random_rows(3)
    z = np.zeros(3)
    expected = [
        stats.multivariate_normal(m, np.diag(v)).logpdf(z)
        for m, v in zip(mean, variance, strict=True)
    ]
    actual = gaussian.diagonal_normal(mean, variance).log_prob(z)
    np.testing.assert_allclose(actual, expected, rtol=1e-5)


class TestKLToStandardNormal:
    def test_equals_tfp(self):
        import tensorflow_probability as tfp

        mean, variance = random_rows(3)
        standard = tfp.distributions.MultivariateNormalDiag(np.zeros(3, "f"))
        np.testing.assert_allclose(
            gaussian.kl_to_standard_normal(mean, variance),
            gaussian.diagonal_normal(mean, variance).kl_divergence(standard),
            rtol=1e-5,
        )

    def test_standard_normal(self):
        zeros = np.zeros((2, 3), "float32")
        divergence = gaussian.kl_to_standard_normal(zeros, zeros + 1)
        np.testing.assert_array_equal(divergence, [0, 0])


class TestWeightedDivergence:
    @pytest.mark.parametrize("weight", [1e-4, 1.0, 3])
    def test_by_arithmetic(self, weight):
        mean, variance = random_rows(3)
        rows = 0.5 * (mean**2 + variance - 1 - np.log(variance)).sum(axis=1)
        np.testing.assert_allclose(
            gaussian.weighted_divergence(
                tf.constant(mean), tf.constant(variance), weight
            ),
            weight * rows.mean(),
            rtol=1e-5,
        )

    def test_squares_that_leave_float32(self):
        mean, variance = tf.constant([[3e20, 4e20]]), tf.ones((1, 2))
        found = gaussian.weighted_divergence(mean, variance, 1e-4)
        np.testing.assert_allclose(found, 0.5e-4 * 25e40, rtol=1e-5)

    def test_clips_to_float32(self):
        mean, variance = tf.constant([[3e20, 4e20]]), tf.ones((1, 2))
        found = gaussian.weighted_divergence(mean, variance, 1.0)
        assert found.dtype == tf.float32
        assert found == tf.float32.max

    def test_no_rows(self):
        none = tf.zeros((0, 2))
        assert gaussian.weighted_divergence(none, none, 1.0) == 0


class TestPosterior:
    def test_by_loop(self):
        mean, variance = random_rows(2)
        actual_mean, actual_variance = gaussian.posterior(
            mean, variance, CLASS_IDS, 3
        )
        for y in range(3):
            for d in range(2):
                rows = [i for i, c in enumerate(CLASS_IDS) if c == y]
                total = sum(1 / variance[i, d] for i in rows)
                weighted = sum(mean[i, d] / variance[i, d] for i in rows)
                np.testing.assert_allclose(
                    [actual_mean[y, d], actual_variance[y, d]],
                    [weighted / total, 1 / total],
                    rtol=1e-5,
                )

    def test_is_the_product_of_densities(self):
        """Multiplies the densities of the supports on a grid (Eq. 4)."""
        mean, variance = random_rows(1, seed=1)
        actual_mean, actual_variance = gaussian.posterior(
            mean, variance, CLASS_IDS, 3
        )
        grid = np.linspace(-15, 15, 30_001)
        for y in range(3):
            density = np.ones_like(grid)
            for i in np.flatnonzero(CLASS_IDS == y):
                density *= stats.norm.pdf(
                    grid, mean[i, 0], np.sqrt(variance[i, 0])
                )
            expected = moments_on_grid(density, grid)
            np.testing.assert_allclose(
                [actual_mean[y, 0], actual_variance[y, 0]], expected, rtol=1e-4
            )

    def test_equal_variances_give_the_plain_mean(self):
        mean, _ = random_rows(2)
        variance = np.full_like(mean, 0.3)
        actual_mean, actual_variance = gaussian.posterior(
            mean, variance, CLASS_IDS, 3
        )
        for y in range(3):
            rows = CLASS_IDS == y
            np.testing.assert_allclose(
                actual_mean[y], mean[rows].mean(axis=0), rtol=1e-5
            )
            np.testing.assert_allclose(
                actual_variance[y], 0.3 / rows.sum(), rtol=1e-6
            )

    def test_certain_rows_outweigh_uncertain_ones(self):
        mean, _ = random_rows(1)
        variance = np.full_like(mean, 1e8)
        variance[[1, 2, 0]] = 1e-8
        posterior_mean, posterior_variance = gaussian.posterior(
            mean, variance, CLASS_IDS, 3
        )
        np.testing.assert_allclose(
            posterior_mean[:, 0], mean[[1, 2, 0], 0], rtol=1e-6
        )
        np.testing.assert_allclose(posterior_variance, 1e-8, rtol=1e-6)

    @pytest.mark.parametrize("scale", [1e-8, 1e-4, 1e4, 1e8])
    def test_extreme_variances(self, scale):
        """float32 versus the same sums in float64."""
        mean, variance = random_rows(2, seed=2)
        variance = variance * np.float32(scale)
        with tf.GradientTape() as tape:
            inputs = tf.constant(mean), tf.constant(variance)
            tape.watch(inputs)
            actual = gaussian.posterior(*inputs, CLASS_IDS, 3)
            total = tf.add_n([tf.reduce_sum(part) for part in actual])
        expected = gaussian.posterior(
            mean.astype("float64"), variance.astype("float64"), CLASS_IDS, 3
        )
        for part, reference in zip(actual, expected, strict=True):
            np.testing.assert_allclose(part, reference, rtol=2e-5)
        for gradient in tape.gradient(total, inputs):
            assert np.isfinite(gradient).all()

    def test_many_precise_rows_do_not_overflow(self):
        """The plain sum of these precisions exceeds float32."""
        rows = 1000
        variance = np.full((rows, 1), 1e-37, "float32")
        mean, variance = gaussian.posterior(
            np.ones((rows, 1), "float32"), variance, np.zeros(rows, "int32"), 1
        )
        np.testing.assert_allclose(mean, 1, rtol=1e-4)
        assert np.isfinite(variance).all()

    def test_gradient_by_differences(self):
        mean, variance = (
            tf.constant(part, tf.float64) for part in random_rows(2, seed=3)
        )
        weights = np.random.default_rng(4).normal(size=(2, 3, 2))

        def value(mean, variance):
            posterior = gaussian.posterior(mean, variance, CLASS_IDS, 3)
            return tf.reduce_sum(weights * tf.stack(posterior))

        analytic, numeric = tf.test.compute_gradient(
            value, [mean, variance], delta=1e-5
        )
        for one, other in zip(analytic, numeric, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-7)


class TestProduct:
    def test_by_grid(self):
        """The product of two densities has these moments (Eq. 8)."""
        first, second = random_rows(1, seed=5), random_rows(1, seed=6)
        mean, variance = gaussian.product(first, second)
        grid = np.linspace(-15, 15, 30_001)
        for i in range(len(CLASS_IDS)):
            density = np.ones_like(grid)
            for row_mean, row_variance in (first, second):
                density *= stats.norm.pdf(
                    grid, row_mean[i, 0], np.sqrt(row_variance[i, 0])
                )
            np.testing.assert_allclose(
                [mean[i, 0], variance[i, 0]],
                moments_on_grid(density, grid),
                rtol=1e-4,
            )

    def test_normalising_constant(self):
        """Eq. 8 with its constant, at single points."""
        first, second = random_rows(2, seed=7), random_rows(2, seed=8)
        z = np.random.default_rng(9).normal(size=(len(CLASS_IDS), 2))

        def log_density(mean, variance, at):
            return stats.norm.logpdf(at, mean, np.sqrt(variance)).sum(axis=1)

        left = log_density(*first, z) + log_density(*second, z)
        overlap = log_density(second[0], first[1] + second[1], first[0])
        right = overlap + log_density(*gaussian.product(first, second), z)
        np.testing.assert_allclose(left, right, rtol=1e-5, atol=1e-5)

    @pytest.mark.parametrize("a", [1e-8, 1.0, 1e8])
    @pytest.mark.parametrize("b", [1e-8, 1.0, 1e8])
    def test_extreme_variances(self, a, b):
        mean, variance = gaussian.product(
            (tf.constant([[-1.0]]), tf.constant([[a]])),
            (tf.constant([[3.0]]), tf.constant([[b]])),
        )
        # In float64, from the precisions.
        precision = 1 / a + 1 / b
        np.testing.assert_allclose(variance, [[1 / precision]], rtol=1e-6)
        np.testing.assert_allclose(
            mean, [[(-1 / a + 3 / b) / precision]], rtol=1e-5, atol=1e-6
        )
