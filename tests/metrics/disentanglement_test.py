import numpy as np
import pytest
import tensorflow as tf
from scipy import stats
from sklearn.metrics import mutual_info_score

from embeddings_tf.metrics import best_rotation
from embeddings_tf.metrics import modularity
from embeddings_tf.metrics import mutual_information


def grid(n=2000, values=5, noise=0.1, seed=0):
    """Factors and a 2-D code whose axes are the factors."""
    rng = np.random.default_rng(seed)
    factors = rng.integers(0, values, (n, 2))
    return factors + noise * rng.normal(size=(n, 2)), factors


def rotate(codes, degrees):
    """Counter-clockwise, as complex numbers."""
    turned = (codes[:, 0] + 1j * codes[:, 1]) * np.exp(
        1j * np.pi * degrees / 180
    )
    return np.stack([turned.real, turned.imag], axis=1)


def expected_information(codes, factors, edges_of):
    """By histograms and sklearn's mutual_info_score, in nats."""
    expected = np.zeros((codes.shape[1], factors.shape[1]))
    for i in range(codes.shape[1]):
        edges = edges_of(codes[:, i])
        for j in range(factors.shape[1]):
            values = np.unique(factors[:, j])
            table = [
                np.histogram(codes[factors[:, j] == value, i], edges)[0]
                for value in values
            ]
            expected[i, j] = mutual_info_score(
                None, None, contingency=np.array(table)
            )
    return expected


class TestMutualInformation:
    @pytest.mark.parametrize("bins", [2, 20, 33])
    def test_uniform_bins_against_histograms(self, bins):
        rng = np.random.default_rng(0)
        codes = rng.normal(size=(700, 3)) ** 3
        factors = rng.integers(-2, 3, (700, 2))
        factors[:, 0] += (codes[:, 1] > 0) * 3
        np.testing.assert_allclose(
            mutual_information(codes, factors, bins),
            expected_information(
                codes, factors, lambda x: np.histogram_bin_edges(x, bins)
            ),
            atol=1e-12,
        )

    def test_quantile_bins_against_histograms(self):
        rng = np.random.default_rng(0)
        codes = rng.standard_cauchy((700, 2))
        factors = np.stack([codes[:, 0] > 0.3, codes[:, 1] > 3], 1).astype(int)
        value = mutual_information(codes, factors, 10, binning="quantile")
        np.testing.assert_allclose(
            value,
            expected_information(
                codes,
                factors,
                lambda x: np.quantile(x, np.linspace(0, 1, 11)),
            ),
            atol=1e-12,
        )
        # Outliers leave nearly everything in one or two uniform bins.
        assert value[0, 0] > mutual_information(codes, factors, 10)[0, 0]

    def test_best_and_chance(self):
        codes, factors = grid(n=20_000)
        value = mutual_information(codes, factors)
        entropy = [stats.entropy(np.bincount(column)) for column in factors.T]
        np.testing.assert_allclose(np.diag(value), entropy, rtol=1e-2)
        assert value[0, 0] <= entropy[0] + 1e-12
        # The bias of independent ones: (bins - 1)(values - 1) / 2n, here as
        # the mean of a chi-square; at most 19 * 4 / 40,000.
        assert 0 <= value[0, 1] < 3 * 19 * 4 / 40_000

    def test_tensors_and_float32(self):
        codes, factors = grid(500)
        codes = codes.astype(np.float32)
        np.testing.assert_array_equal(
            mutual_information(tf.constant(codes), tf.constant(factors)),
            mutual_information(codes, factors),
        )

    def test_constant_dimension_and_constant_factor(self):
        codes, factors = grid(100)
        codes[:, 0] = 3.3
        factors[:, 1] = 8
        for binning in ("uniform", "quantile"):
            value = mutual_information(codes, factors, binning=binning)
            assert value[0].tolist() == [0, 0]
            assert value[1, 1] == 0

    def test_a_single_example(self):
        assert mutual_information([[0.5]], [[1]]).tolist() == [[0.0]]

    def test_rare_cells_can_be_left_out(self):
        """The authors' threshold, term by term."""
        codes = np.array([[0.0]] * 60 + [[1.0]] * 40)
        factors = np.array([[0]] * 58 + [[1]] * 2 + [[0]] * 10 + [[1]] * 30)
        joint = np.array([[0.58, 0.02], [0.10, 0.30]])
        terms = joint * np.log(
            joint / np.outer(joint.sum(axis=1), joint.sum(axis=0))
        )
        for threshold, expected in (
            (0.0, terms.sum()),
            (0.05, terms.sum() - terms[0, 1]),
        ):
            value = mutual_information(
                codes, factors, 2, min_probability=threshold
            )
            assert value[0, 0] == pytest.approx(expected)


class TestModularity:
    def test_against_the_formula(self):
        rng = np.random.default_rng(0)
        factors = rng.integers(0, 4, (600, 3))
        codes = factors @ rng.normal(size=(3, 5)) + rng.normal(size=(600, 5))
        information = mutual_information(codes, factors)
        scores = []
        for row in information:
            best = row.argmax()
            template = np.zeros(3)
            template[best] = row[best]
            delta = np.sum((row - template) ** 2) / (row[best] ** 2 * (3 - 1))
            scores.append(1 - delta)
        value = modularity(codes, factors)
        assert value == pytest.approx(np.mean(scores), abs=1e-12)
        assert isinstance(value, float)
        # The base of the logarithm cancels; bins are passed on.
        assert modularity(codes, factors, 5) != value
        assert modularity(codes, factors, binning="quantile") != value
        assert modularity(codes, factors, min_probability=0.01) != value

    def test_best_and_worst(self):
        factors = np.stack(np.unravel_index(np.arange(25), (5, 5)), axis=1)
        factors = np.tile(factors, (8, 1))
        assert modularity(factors, factors) == pytest.approx(1)
        both = factors[:, :1] * 5 + factors[:, 1:]
        assert modularity(both, factors, 25) == pytest.approx(0)

    def test_dead_dimensions_count_as_0(self):
        factors = np.stack(np.unravel_index(np.arange(25), (5, 5)), axis=1)
        dead = np.ones((25, 1))
        assert modularity(dead, factors) == 0
        codes = np.concatenate([factors, dead, dead], axis=1)
        assert modularity(codes, factors) == pytest.approx(0.5)

    def test_needs_two_factors(self):
        with pytest.raises(ValueError, match="at least 2 columns"):
            modularity(np.zeros((4, 2)), np.zeros((4, 1), int))


class TestBestRotation:
    @pytest.mark.parametrize("degrees", [-42, -30, -3, 0, 12, 45, 81, 90, 180])
    @pytest.mark.parametrize("binning", ["uniform", "quantile"])
    def test_undoes_a_rotation(self, degrees, binning):
        codes, factors = grid(noise=0.3)
        result = best_rotation(rotate(codes, degrees), factors, binning=binning)
        assert -45 <= result["angle"] < 45
        # Up to swapping and mirroring axes, and one step.
        off = (result["angle"] + degrees + 45) % 90 - 45
        assert abs(off) <= 3
        information = mutual_information(
            rotate(codes, degrees + result["angle"]), factors, binning=binning
        )
        np.testing.assert_allclose(
            result["mutual_information"], information, atol=0.02
        )

    def test_is_the_best_of_all_angles(self):
        codes, factors = grid(300, noise=0.5)
        turned = rotate(codes, 20)
        sums = {}
        for angle in range(-45, 45, 5):
            m = mutual_information(rotate(turned, angle), factors, 10)
            sums[angle] = max(m[0, 0] + m[1, 1], m[0, 1] + m[1, 0])
        result = best_rotation(turned, factors, 10, step=5)
        assert result["angle"] == max(sums, key=sums.get)
        assert result["aligned_sum"] == pytest.approx(max(sums.values()))
        assert result["unrotated_aligned_sum"] == pytest.approx(sums[0])
        np.testing.assert_allclose(
            result["unrotated_mutual_information"],
            mutual_information(turned, factors, 10),
        )
        assert isinstance(result["aligned_sum"], float)

    def test_swapped_axes_are_aligned(self):
        codes, factors = grid(noise=0.05)
        result = best_rotation(codes[:, ::-1], factors)
        m = result["unrotated_mutual_information"]
        assert result["unrotated_aligned_sum"] == pytest.approx(
            m[0, 1] + m[1, 0]
        )
        assert result["aligned_sum"] > 0.9 * 2 * np.log(5)

    def test_collapsed_code(self):
        _, factors = grid(50)
        result = best_rotation(np.zeros((50, 2)), factors)
        assert result["angle"] == 0
        assert result["aligned_sum"] == 0

    def test_errors(self):
        codes, factors = grid(50)
        with pytest.raises(ValueError, match="2 columns each"):
            best_rotation(codes[:, :1], factors)
        with pytest.raises(ValueError, match="2 columns each"):
            best_rotation(codes, factors[:, :1])
        for step in (0, -3, 46):
            with pytest.raises(ValueError, match=f"received {step}"):
                best_rotation(codes, factors, step=step)


@pytest.mark.parametrize(
    "measure", [mutual_information, modularity, best_rotation]
)
class TestErrors:
    @pytest.mark.parametrize(
        "codes, factors, message",
        [
            (np.zeros((0, 2)), np.zeros((0, 2), int), "not be empty"),
            (np.zeros(4), np.zeros((4, 2), int), r"\(n, dims\)"),
            (np.zeros((4, 2)), np.zeros(4, int), r"\(n, num_factors\)"),
            (np.zeros((4, 2)), np.zeros((3, 2), int), "3 rows of `factors`"),
            (np.full((4, 2), np.nan), np.zeros((4, 2), int), "finite"),
            (np.zeros((4, 2)), np.zeros((4, 2)), "must be integers"),
        ],
    )
    def test_arrays(self, measure, codes, factors, message):
        with pytest.raises(ValueError, match=message):
            measure(codes, factors)

    def test_options(self, measure):
        codes, factors = grid(50)
        with pytest.raises(ValueError, match="`bins`"):
            measure(codes, factors, bins=0)
        with pytest.raises(ValueError, match="'uniform', 'quantile'"):
            measure(codes, factors, binning="log")
        if measure is not best_rotation:
            with pytest.raises(ValueError, match="`min_probability`"):
                measure(codes, factors, min_probability=1)
