import numpy as np
import pandas
import pytest
import tensorflow as tf
from scipy import stats
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import mutual_info_score
from sklearn.metrics import roc_auc_score
from sklearn.multiclass import OneVsRestClassifier

from embeddings_tf.metrics import best_rotation
from embeddings_tf.metrics import chance_information
from embeddings_tf.metrics import explicitness
from embeddings_tf.metrics import explicitness_by_value
from embeddings_tf.metrics import modularity
from embeddings_tf.metrics import mutual_information
from embeddings_tf.metrics import single_dimension_auc
from embeddings_tf.metrics import single_dimension_auc_by_value


def grid(n=2000, values=5, noise=0.1, seed=0):
    """Factors and a 2-D code whose axes are the factors."""
    rng = np.random.default_rng(seed)
    factors = rng.integers(0, values, (n, 2))
    return factors + noise * rng.normal(size=(n, 2)), factors


def rotate(codes, degrees):
    """Rotates counter-clockwise, as complex numbers."""
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
        # Outliers leave almost all examples in one or two uniform bins.
        assert value[0, 0] > mutual_information(codes, factors, 10)[0, 0]

    def test_best_and_chance(self):
        codes, factors = grid(n=20_000)
        value = mutual_information(codes, factors)
        entropy = [stats.entropy(np.bincount(column)) for column in factors.T]
        np.testing.assert_allclose(np.diag(value), entropy, rtol=1e-2)
        assert value[0, 0] <= entropy[0] + 1e-12
        # The bias for independent codes: (bins - 1)(values - 1) / 2n, here as
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
        """Applies the authors' threshold term by term."""
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


def null_information(codes, factors, orders):
    """Information on permuted factors, `(orders, dims, num_factors)`."""
    return np.stack(
        [mutual_information(codes, factors[order]) for order in orders]
    )


class TestBeyondChance:
    """Information of codes beyond the information on permuted factors."""

    @pytest.mark.every_nth(3)
    @pytest.mark.parametrize(
        "values", [(2, 30), (2, 4, 3, 6, 2, 2, 2), (2, 2), (2, 100)]
    )
    @pytest.mark.parametrize("seed", range(5))
    def test_random_codes_tell_nothing(self, values, seed):
        rng = np.random.default_rng(seed)
        factors = np.stack([rng.integers(0, v, 400) for v in values], 1)
        codes = rng.normal(size=(400, 8))
        corrected = mutual_information(
            codes, factors, correction="permutation", seed=seed
        )
        assert corrected.tolist() == np.zeros((8, len(values))).tolist()
        assert modularity(codes, factors, correction="permutation") == 0
        # The published measures favour factors with many values.
        assert mutual_information(codes, factors).min() > 0.003
        if max(values) >= 30:
            assert modularity(codes, factors) > 0.98

    def test_miller_and_madow_would_leave_random_codes_modular(self):
        """Why only permutation is offered: sparse tables have empty cells."""
        rng = np.random.default_rng(0)
        factors = np.stack([rng.integers(0, v, 400) for v in (2, 30)], 1)
        codes = rng.normal(size=(400, 8))
        plain = mutual_information(codes, factors)
        left = np.zeros_like(plain)
        for i, j in np.ndindex(left.shape):
            table = np.histogram2d(codes[:, i], factors[:, j], (20, 30))[0]
            filled = np.count_nonzero(table)
            rows, columns = (
                np.count_nonzero(table.any(axis=a)) for a in (1, 0)
            )
            excess = (filled - rows - columns + 1) / (2 * 400)
            left[i, j] = max(0, plain[i, j] - excess)
        assert left.mean() > 0.3 * plain.mean()
        best = left.max(axis=1)
        # For two factors, modularity is 1 - (smaller / larger)^2.
        assert np.mean(1 - (left.min(axis=1) / best) ** 2) > 0.98

    def test_against_the_formula(self):
        """One order of the rows for all dimensions and factors."""
        rng = np.random.default_rng(3)
        factors = rng.integers(0, 4, (500, 3))
        codes = np.stack([factors[:, 0], factors[:, 1]], 1) * 0.8
        codes = np.concatenate([codes, np.zeros((500, 2))], axis=1)
        codes = codes + rng.normal(size=(500, 4))
        drawn = np.random.default_rng(11)
        orders = [drawn.permutation(500) for _ in range(40)]
        null = null_information(codes, factors, orders)
        chance, spread = null.mean(axis=0), null.std(axis=0, ddof=1)
        np.testing.assert_allclose(
            chance_information(codes, factors, num_permutations=40, seed=11),
            chance,
        )
        largest = ((null - chance) / spread).max(axis=(1, 2))
        bound = largest.mean() + 7 * largest.std(ddof=1)
        found = mutual_information(codes, factors)
        tells = ((found - chance) / spread > bound).any(axis=1)
        assert tells.tolist() == [True, True, False, False]
        expected = np.where(tells[:, None], np.maximum(found - chance, 0), 0)
        options = {"correction": "permutation", "num_permutations": 40}
        np.testing.assert_allclose(
            mutual_information(codes, factors, **options, seed=11), expected
        )
        ratio = expected[:2] / expected[:2].max(axis=1, keepdims=True)
        scores = 1 - (np.sum(ratio**2, axis=1) - 1) / (3 - 1)
        assert modularity(codes, factors, **options, seed=11) == pytest.approx(
            np.average(scores, weights=expected[:2].sum(axis=1))
        )
        assert modularity(codes, factors, **options, seed=12) != modularity(
            codes, factors, **options, seed=11
        )

    def test_codes_that_are_the_factors(self):
        factors = factorial(10)
        codes = one_hot(factors)
        assert modularity(
            codes, factors, correction="permutation"
        ) == pytest.approx(1, abs=1e-3)

    def test_dimensions_without_information_have_weight_0(self):
        rng = np.random.default_rng(0)
        codes, factors = grid(1000, noise=0.3)
        padded = np.concatenate(
            [codes, rng.normal(size=(1000, 20)), np.ones((1000, 1))], axis=1
        )
        corrected = mutual_information(
            padded, factors, correction="permutation"
        )
        assert corrected[2:].max() == 0
        value = modularity(padded, factors, correction="permutation")
        assert value == pytest.approx(
            modularity(codes, factors, correction="permutation"), abs=1e-3
        )
        assert value > 0.99 > modularity(padded, factors)

    def test_mixtures_stay_mixtures(self):
        """Every dimension has equal information about both factors."""
        factors = np.stack(np.unravel_index(np.arange(25), (5, 5)), axis=1)
        factors = np.tile(factors, (40, 1))
        both = factors[:, :1] * 5 + factors[:, 1:]
        assert modularity(
            both, factors, 25, correction="permutation"
        ) == pytest.approx(0, abs=1e-2)

    def test_chance_is_the_bias(self):
        """2 n I of independent codes has a chi-square distribution."""
        rng = np.random.default_rng(0)
        codes, factors = (
            rng.uniform(size=(5000, 1)),
            rng.integers(0, 4, (5000, 1)),
        )
        bias = 19 * 3 / (2 * 5000)
        chance = chance_information(codes, factors, num_permutations=400)
        error = np.sqrt(2 * 19 * 3) / (2 * 5000) / np.sqrt(400)
        assert abs(chance.item() - bias) < 5 * error

    def test_all_bins_differ(self):
        """Every order has the same information: nothing exceeds chance."""
        codes = np.arange(16.0)[:, None]
        factors = np.stack([np.arange(16) % 2, np.arange(16) // 8], axis=1)
        found = mutual_information(codes, factors, 16, correction="permutation")
        assert found.tolist() == [[0, 0]]
        assert mutual_information(codes, factors, 16).min() > 0.69

    @pytest.mark.parametrize(
        "measure", [mutual_information, modularity, chance_information]
    )
    def test_options(self, measure):
        codes, factors = grid(50)
        options = {}
        if measure is not chance_information:
            options["correction"] = "permutation"
            with pytest.raises(ValueError, match="None, 'permutation'"):
                measure(codes, factors, correction="miller_madow")
        with pytest.raises(ValueError, match="at least 20.*received 19"):
            measure(codes, factors, num_permutations=19, **options)
        with pytest.raises(ValueError, match="`seed` must be an integer"):
            measure(codes, factors, seed=-1, **options)
        with pytest.raises(ValueError, match="`bins` must be at most"):
            measure(codes, factors, bins=10**9, **options)


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

    def test_factors_of_pandas(self):
        factors = np.stack(np.unravel_index(np.arange(25), (5, 5)), axis=1)
        frame = pandas.DataFrame(factors, columns=["a", "b"])
        assert modularity(factors, frame) == modularity(factors, factors)

    def test_a_factor_with_one_value_changes_nothing(self):
        factors = np.stack(np.unravel_index(np.arange(25), (5, 5)), axis=1)
        both = factors[:, :1] * 5 + factors[:, 1:]
        more = np.concatenate([factors, np.full((25, 1), 3)], axis=1)
        assert modularity(both, more, 25) == pytest.approx(0)
        assert modularity(factors, more) == pytest.approx(1)
        with pytest.raises(ValueError, match="different values.*received 1"):
            modularity(both, more[:, 1:])

    def test_dead_dimensions_count_as_0(self):
        factors = np.stack(np.unravel_index(np.arange(25), (5, 5)), axis=1)
        dead = np.ones((25, 1))
        assert modularity(dead, factors) == 0
        codes = np.concatenate([factors, dead, dead], axis=1)
        assert modularity(codes, factors) == pytest.approx(0.5)

    def test_needs_two_factors(self):
        with pytest.raises(ValueError, match="at least 2 columns"):
            modularity(np.zeros((4, 2)), np.zeros((4, 1), int))


def factorial(repeats=4, values=(2, 3, 4)):
    """Every combination of the values of three factors."""
    combinations = np.indices(values).reshape(len(values), -1).T
    return np.tile(combinations, (repeats, 1))


def one_hot(factors):
    return np.concatenate(
        [column[:, None] == np.unique(column) for column in factors.T], axis=1
    ).astype(float)


def noisy(n=400, seed=0):
    """Two factors of 3 and 2 values, and a noisy code of both."""
    rng = np.random.default_rng(seed)
    factors = np.stack([rng.integers(4, 7, n), rng.integers(-1, 1, n)], 1)
    signal = one_hot(np.concatenate([factors, [[4, -1], [5, 0], [6, 0]]]))[:n]
    codes = signal @ rng.normal(size=(5, 4)) + rng.normal(size=(n, 4))
    return codes * [1, 100, 0.01, 1] + [0, 500, 0, -3], factors


def pairs_in_order(score, is_value):
    """The area as the share of ordered pairs; ties count half."""
    with_value, without = score[is_value], score[~is_value]
    difference = with_value[:, None] - without
    return np.mean((difference > 0) + 0.5 * (difference == 0))


class TestExplicitness:
    def test_paper_against_scikit_learn(self):
        """The authors' code with the current scikit-learn."""
        codes, factors = noisy()
        codes[:, 1:3] = codes[:, 1:3] * [0.01, 100]  # helps the optimiser
        expected = []
        for factor in factors.T:
            model = OneVsRestClassifier(
                LogisticRegression(C=1e10, tol=1e-8, max_iter=10_000)
            ).fit(codes, factor)
            probabilities = model.predict_proba(codes)
            expected += [
                roc_auc_score(factor == value, probabilities[:, column])
                for column, value in enumerate(model.classes_)
            ]
        found = explicitness_by_value(codes, factors)
        assert found["factor"].tolist() == [0, 0, 0, 1, 1]
        assert found["value"].tolist() == [4, 5, 6, -1, 0]
        np.testing.assert_allclose(found["auc"], expected, atol=1e-4)
        assert np.all(found["auc"] < 0.99)
        value = explicitness(codes, factors)
        assert isinstance(value, float)
        assert value == pytest.approx(np.mean(expected), abs=1e-4)

    def test_disentanglement_lib_against_scikit_learn(self):
        """Fitted on the first half, scored on both halves."""
        codes, factors = noisy()
        half = slice(0, 200), slice(200, 400)
        mean, stddev = codes[half[0]].mean(axis=0), codes[half[0]].std(axis=0)
        standard = (codes - mean) / stddev
        expected = np.zeros((2, 2))
        for column, factor in enumerate(factors.T):
            model = OneVsRestClassifier(
                LogisticRegression(solver="liblinear", tol=1e-8)
            ).fit(standard[half[0]], factor[half[0]])
            for row, part in enumerate(half):
                probabilities = model.predict_proba(standard[part])
                if probabilities.shape[1] == 2:
                    probabilities = probabilities[:, 1]
                expected[row, column] = roc_auc_score(
                    one_hot(factor[part][:, None])
                    if probabilities.ndim == 2
                    else factor[part],
                    probabilities,
                )
        fit = codes[half[0]], factors[half[0]], "disentanglement_lib"
        assert explicitness(*fit) == pytest.approx(expected[0].mean(), abs=1e-4)
        assert explicitness(
            *fit, test_codes=codes[half[1]], test_factors=factors[half[1]]
        ) == pytest.approx(expected[1].mean(), abs=1e-4)
        # The means over values and over factors differ.
        found = explicitness_by_value(*fit)
        by_factor = [found["auc"][found["factor"] == f].mean() for f in (0, 1)]
        assert explicitness(*fit) == pytest.approx(np.mean(by_factor))
        assert explicitness(*fit) != pytest.approx(np.mean(found["auc"]))

    @pytest.mark.parametrize("variant", ["paper", "disentanglement_lib"])
    def test_fits_stop_where_scikit_learn_stops(self, variant, monkeypatch):
        """The default tolerance and number of iterations, which are faster."""
        fitted = []

        class Spy(LogisticRegression):
            def fit(self, *arguments):
                fitted.append(self.get_params())
                return super().fit(*arguments)

        monkeypatch.setattr("sklearn.linear_model.LogisticRegression", Spy)
        explicitness(*noisy(), variant)
        default = LogisticRegression().get_params()
        assert len(fitted) == 4
        for params in fitted:
            for name in ("tol", "max_iter"):
                assert params[name] == default[name]

    def test_a_tighter_tolerance_hardly_changes_the_result(self):
        codes, factors = noisy(1000)
        standard = (codes - codes.mean(axis=0)) / codes.std(axis=0)
        found = explicitness_by_value(codes, factors)
        for value, auc in zip((-1, 0), found["auc"][-2:], strict=True):
            model = LogisticRegression(
                C=1e10, solver="liblinear", tol=1e-10, max_iter=10_000
            ).fit(standard, factors[:, 1] == value)
            expected = pairs_in_order(
                model.decision_function(standard), factors[:, 1] == value
            )
            assert auc == pytest.approx(expected, abs=1e-5)

    def test_regularisation_depends_on_the_variant(self):
        """With few examples, strong and weak regularisation differ."""
        codes, factors = noisy()
        others = {"test_codes": codes[80:], "test_factors": factors[80:]}
        codes, factors = codes[:80], factors[:80]
        aucs = {}
        for variant, c in (("paper", 1e10), ("disentanglement_lib", 1.0)):
            found = explicitness_by_value(codes, factors, variant, **others)
            aucs[variant] = found["auc"]
            standard = (codes - codes.mean(axis=0)) / codes.std(axis=0)
            scored = (others["test_codes"] - codes.mean(0)) / codes.std(axis=0)
            for row, (column, value) in enumerate([(1, -1), (1, 0)], start=3):
                model = LogisticRegression(
                    C=c, solver="liblinear", tol=1e-8, max_iter=1000
                ).fit(standard, factors[:, column] == value)
                expected = pairs_in_order(
                    model.decision_function(scored),
                    others["test_factors"][:, column] == value,
                )
                assert aucs[variant][row] == pytest.approx(expected, abs=1e-4)
        assert np.any(
            np.abs(aucs["paper"] - aucs["disentanglement_lib"]) > 1e-3
        )

    def test_paper_variant_recognises_small_differences(self):
        """A difference of a thousandth of the dimensions is recognised."""
        rng = np.random.default_rng(0)
        factors = rng.integers(0, 2, (400, 1))
        signal = factors[:, 0] + rng.normal(size=400)
        common = 1000 * rng.normal(size=400)
        codes = np.stack([common, common + signal], axis=1)
        known = pairs_in_order(signal, factors[:, 0] == 1)
        assert explicitness(codes, factors) == pytest.approx(known, abs=0.01)
        assert known > 0.7
        assert explicitness(codes, factors, "disentanglement_lib") < 0.6

    @pytest.mark.parametrize("variant", ["paper", "disentanglement_lib"])
    def test_best_and_worst(self, variant):
        factors = factorial()
        best = one_hot(factors)
        mixed = best @ np.random.default_rng(0).normal(size=(9, 9))
        for codes in (best, mixed, 1e6 * mixed + 1e6, 1e-6 * mixed):
            assert explicitness(codes, factors, variant) == pytest.approx(1)
        assert explicitness(np.full((96, 3), 0.1), factors, variant) == 0.5

    def test_units_do_not_matter(self):
        codes, factors = noisy()
        for scale in (1e-8, 1e8):
            np.testing.assert_allclose(
                explicitness_by_value(codes * scale + 2, factors)["auc"],
                explicitness_by_value(codes, factors)["auc"],
                atol=1e-3,
            )

    def test_a_factor_that_is_missing(self):
        """The code describes only the first factor; others score chance."""
        factors = factorial()
        found = explicitness_by_value(one_hot(factors[:, :1]), factors)
        np.testing.assert_allclose(found["auc"], [1.0] * 2 + [0.5] * 7)

    def test_a_middle_value_is_recognised_by_elimination(self):
        """No line separates the middle value, but the others are improbable."""
        ordered = factorial()[:, 1:2]
        assert explicitness(ordered, ordered) == 1
        is_between = ordered == 1
        found = explicitness_by_value(ordered, is_between.astype(int))
        np.testing.assert_allclose(found["auc"], 0.5)

    def test_chance_level_needs_test_examples(self):
        rng = np.random.default_rng(0)
        codes, test_codes = rng.normal(size=(2, 300, 10))
        factors, test_factors = rng.integers(0, 2, (2, 300, 3))
        flattered = explicitness(codes, factors)
        value = explicitness(
            codes, factors, test_codes=test_codes, test_factors=test_factors
        )
        # A standard error of an area is sqrt(1 / (3 n)) here, of three in all.
        assert abs(value - 0.5) < 4 / np.sqrt(3 * 300 * 3)
        assert flattered > 0.55

    def test_certain_scores_do_not_run_together(self):
        """Far beyond probabilities that round to 0 and 1."""
        codes = np.array([[-3e4], [-1e4], [-1.0], [1.0], [1e4], [3e4]] * 3)
        factors = np.array([[0], [0], [0], [1], [1], [1]] * 3)
        tests = np.array([[1e9], [2e9], [3e9], [4e9]])
        found = explicitness_by_value(
            codes,
            factors,
            test_codes=tests,
            test_factors=np.array([[0], [1], [1], [1]]),
        )
        assert found["auc"].tolist() == [1, 1]

    def test_left_out(self):
        codes, factors = noisy()
        constant = np.full((400, 1), 8)
        found = explicitness_by_value(
            codes, np.concatenate([constant, factors], axis=1)
        )
        assert found["factor"].tolist() == [1, 1, 1, 2, 2]
        np.testing.assert_array_equal(
            found["auc"], explicitness_by_value(codes, factors)["auc"]
        )
        # Fitted: 4, 5, 6. Scored: 4, 6 and one that is unknown.
        test_codes, test_factors = codes[:50], factors[:50, :1].copy()
        test_factors[test_factors == 5] = 9
        for variant in ("paper", "disentanglement_lib"):
            tests = {"test_codes": test_codes, "test_factors": test_factors}
            found = explicitness_by_value(
                codes, factors[:, :1], variant, **tests
            )
            assert found["value"].tolist() == [4, 6]
            assert explicitness(
                codes, factors[:, :1], variant, **tests
            ) == pytest.approx(np.mean(found["auc"]))
        with pytest.raises(ValueError, match="2 columns that are constant"):
            explicitness(codes, factors * 0)
        with pytest.raises(ValueError, match="not in the scored examples"):
            explicitness(
                codes, factors, test_codes=codes, test_factors=factors * 0
            )

    def test_constant_dimensions_change_nothing(self):
        codes, factors = noisy()
        padded = np.concatenate([codes, np.full((400, 2), [0.3, 0.5])], axis=1)
        np.testing.assert_allclose(
            explicitness_by_value(padded, factors)["auc"],
            explicitness_by_value(codes, factors)["auc"],
            atol=1e-3,
        )

    def test_more_dimensions_than_examples(self):
        rng = np.random.default_rng(0)
        codes, factors = rng.normal(size=(30, 50)), rng.integers(0, 3, (30, 1))
        assert explicitness(codes, factors) == 1

    def test_test_codes_of_another_scale(self):
        codes, factors = noisy(50)
        with pytest.raises(ValueError, match="`test_codes` must have the sca"):
            explicitness(
                np.ldexp(codes, -1000),
                factors,
                test_codes=codes,
                test_factors=factors,
            )

    def test_errors(self):
        codes, factors = noisy(50)
        with pytest.raises(ValueError, match="'paper', 'disentanglement_lib'"):
            explicitness(codes, factors, "dci")
        with pytest.raises(ValueError, match="must be passed together"):
            explicitness(codes, factors, test_codes=codes)
        for name, change, message in [
            ("test_codes", codes[:, :2], "`codes` and `test_codes`.*4 and 2"),
            ("test_factors", factors[:, :1], "`test_factors`.*2 and 1"),
            ("test_codes", codes[:9], "9 rows of `test_codes`"),
            ("test_codes", codes * np.nan, "`test_codes` must be finite"),
            ("test_factors", factors * 1.0, "`test_factors` must be integers"),
        ]:
            tests = {"test_codes": codes, "test_factors": factors}
            with pytest.raises(ValueError, match=message):
                explicitness(codes, factors, **{**tests, name: change})


class TestSingleDimensionAUC:
    def test_against_pairs(self):
        codes, factors = noisy(150)
        codes = np.round(codes, 1)  # with ties
        expected = []
        for column, value in [(0, 4), (0, 5), (0, 6), (1, 0)]:
            is_value = factors[:, column] == value
            areas = [pairs_in_order(code, is_value) for code in codes.T]
            for code, area in zip(codes.T, areas, strict=True):
                assert area == pytest.approx(roc_auc_score(is_value, code))
            areas = np.maximum(areas, 1 - np.array(areas))
            expected.append((column, value, areas.argmax(), areas.max()))
        found = single_dimension_auc_by_value(codes, factors)
        assert list(found) == ["factor", "value", "dimension", "auc"]
        for name, column in zip(
            found, zip(*expected, strict=True), strict=True
        ):
            np.testing.assert_allclose(found[name], column, err_msg=name)
        value = single_dimension_auc(codes, factors)
        assert isinstance(value, float)
        assert value == pytest.approx(np.mean([row[3] for row in expected]))

    def test_seventeen_values_of_sprites(self):
        factors = factorial(1, (2, 4, 3, 6, 2, 2, 2))
        found = single_dimension_auc_by_value(factors, factors)
        assert len(found["auc"]) == 17

    def test_best_and_worst(self):
        factors = factorial()
        best = one_hot(factors)
        for codes in (best, -best, best**3 * 1e9 - 5):
            assert single_dimension_auc(codes, factors) == 1
        assert single_dimension_auc(np.full((96, 3), 0.1), factors) == 0.5
        # By order, the lowest and the highest value are recognised. The middle
        # of three is not, and a third of the two between four.
        found = single_dimension_auc_by_value(factors, factors)
        np.testing.assert_allclose(
            found["auc"], [1, 1, 0.5, 1, 1, 2 / 3, 2 / 3, 1]
        )
        # No dimension recognises the middle of three: the first is returned.
        assert found["dimension"].tolist() == [0, 1, 0, 1, 2, 2, 2, 2]

    def test_chance_grows_with_dimensions(self):
        rng = np.random.default_rng(0)
        codes, factors = (
            rng.normal(size=(300, 40)),
            rng.integers(0, 3, (300, 2)),
        )
        one, all_of_them = (
            single_dimension_auc(part, factors)
            for part in (codes[:, :1], codes)
        )
        assert 0.5 < one < all_of_them < 0.65

    def test_constant_dimension_and_constant_factor(self):
        codes, factors = noisy()
        codes[:, 0] = 3.3
        factors = np.concatenate([np.full((400, 1), 8), factors], axis=1)
        found = single_dimension_auc_by_value(codes, factors)
        assert found["factor"].tolist() == [1, 1, 1, 2]
        assert np.all(found["dimension"] > 0)
        with pytest.raises(ValueError, match="1 columns that are constant"):
            single_dimension_auc(codes, factors[:, :1])

    def test_large_integers_are_in_order(self):
        """float64 would merge them."""
        codes = 2**53 + np.arange(8)[:, None]
        factors = np.arange(8)[:, None] // 4
        assert single_dimension_auc(codes, factors) == 1

    def test_other_codes_of_the_values_change_nothing(self):
        codes, factors = noisy()
        assert single_dimension_auc(codes, -factors) == pytest.approx(
            single_dimension_auc(codes, factors)
        )


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

    def test_rounding_does_not_choose_among_equal_angles(self):
        rng = np.random.default_rng(1)
        for _ in range(20):
            factors = rng.integers(0, 2, (37, 2))
            assert best_rotation(1.0 * factors, factors)["angle"] == 0

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
        for step in (0, -3, 46, 1e-9, "a", np.nan):
            with pytest.raises(ValueError, match=f"received '?{step}"):
                best_rotation(codes, factors, step=step)


class TestErrors:
    @pytest.mark.parametrize(
        "measure",
        [
            mutual_information,
            chance_information,
            modularity,
            best_rotation,
            explicitness,
            explicitness_by_value,
            single_dimension_auc,
            single_dimension_auc_by_value,
        ],
    )
    @pytest.mark.parametrize(
        "codes, factors, message",
        [
            (np.zeros((0, 2)), np.zeros((0, 2), int), "not be empty"),
            (np.zeros(4), np.zeros((4, 2), int), r"\(n, dims\)"),
            (np.zeros((4, 2)), np.zeros(4, int), r"\(n, num_factors\)"),
            (np.zeros((4, 2)), np.zeros((3, 2), int), "3 rows of `factors`"),
            (np.full((4, 2), np.nan), np.zeros((4, 2), int), "finite"),
            (np.zeros((4, 2)), np.zeros((4, 2)), "must be integers"),
            (np.zeros((4, 2)), np.full((4, 2), 0.3), "must be integers"),
            (1j * np.ones((4, 2)), np.zeros((4, 2), int), "real numbers"),
        ],
    )
    def test_arrays(self, measure, codes, factors, message):
        with pytest.raises(ValueError, match=message):
            measure(codes, factors)

    @pytest.mark.parametrize(
        "measure", [mutual_information, modularity, best_rotation]
    )
    def test_options(self, measure):
        codes, factors = grid(50)
        with pytest.raises(ValueError, match="`bins`"):
            measure(codes, factors, bins=0)
        with pytest.raises(ValueError, match="'uniform', 'quantile'"):
            measure(codes, factors, binning="log")
        if measure is not best_rotation:
            with pytest.raises(ValueError, match="`min_probability`"):
                measure(codes, factors, min_probability=1)
