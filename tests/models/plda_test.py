import numpy as np
import pytest
import tensorflow as tf
from scipy import stats
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from embeddings_tf.models import PLDA
from tests.broken_headers import break_headers

MEAN = np.array([5.0, -1.0, 0.5])
BETWEEN = np.array([[4.0, 1.0, 0.0], [1.0, 2.0, 0.5], [0.0, 0.5, 0.3]])
WITHIN = np.array([[1.0, -0.4, 0.2], [-0.4, 0.8, 0.0], [0.2, 0.0, 0.6]])


def data(num_classes=30, most=6, seed=0):
    """Classes of 1 to `most` examples, in mixed order."""
    rng = np.random.default_rng(seed)
    counts = 1 + np.arange(num_classes) % most
    labels = rng.permutation(np.repeat(np.arange(num_classes) * 3, counts))
    classes = rng.multivariate_normal(MEAN, BETWEEN, 3 * num_classes)
    noise = rng.multivariate_normal(np.zeros(3), WITHIN, len(labels))
    return classes[labels] + noise, labels


def plain(**arguments):
    return PLDA(center=False, length_normalize=False, **arguments)


def joint_covariance(plda, count):
    """Covariance of `count` examples of one class, stacked."""
    return np.kron(np.ones((count, count)), plda.between_covariance) + np.kron(
        np.eye(count), plda.within_covariance
    )


def log_density(plda, *examples):
    """Log density of examples of one class, as one stacked Gaussian."""
    return stats.multivariate_normal.logpdf(
        np.concatenate(examples),
        np.tile(plda.mean, len(examples)),
        joint_covariance(plda, len(examples)),
    )


class TestScore:
    def test_against_joint_densities(self):
        plda = plain().fit(*data())
        enroll, test = data(seed=1)[0][:4], data(seed=2)[0][:5]
        expected = [
            [
                log_density(plda, a, b)
                - log_density(plda, a)
                - log_density(plda, b)
                for b in test
            ]
            for a in enroll
        ]
        scores = plda.score(enroll, test)
        assert scores.shape == (4, 5) and scores.dtype == np.float64
        np.testing.assert_allclose(scores, expected, rtol=1e-9, atol=1e-9)
        pairs = plda.score_pairs(enroll, test[:4])
        np.testing.assert_allclose(pairs, np.diag(expected), atol=1e-9)
        np.testing.assert_allclose(
            plda.score(test, enroll), scores.T, atol=1e-9
        )

    def test_several_enrolled_against_joint_densities(self):
        plda = plain().fit(*data())
        enroll, test = data(seed=1)[0][:6], data(seed=2)[0][:3]
        labels = np.array([9, 2, 9, 4, 9, 2])
        expected = [
            [
                log_density(plda, *enroll[labels == label], b)
                - log_density(plda, *enroll[labels == label])
                - log_density(plda, b)
                for b in test
            ]
            for label in (2, 4, 9)
        ]
        scores = plda.score(enroll, test, enroll_labels=labels)
        np.testing.assert_allclose(scores, expected, rtol=1e-9, atol=1e-9)

    def test_centring_and_length(self):
        """Equals the scores of a plain model on prepared embeddings."""
        x, labels = data()
        test = data(seed=1)[0]

        def prepare(z):
            z = z - x.mean(axis=0)
            return z / np.linalg.norm(z, axis=1, keepdims=True) * np.sqrt(3)

        expected = (
            plain()
            .fit(prepare(x), labels)
            .score(prepare(test[:5]), prepare(test[5:9]))
        )
        scores = PLDA().fit(x, labels).score(test[:5], test[5:9])
        np.testing.assert_allclose(scores, expected, rtol=1e-6, atol=1e-6)

    def test_tensors_and_the_mean_as_a_test(self):
        x, labels = data()
        plda = PLDA().fit(tf.constant(x), tf.constant(labels))
        scores = plda.score(tf.constant(x[:2]), tf.constant(plda.offset[None]))
        assert np.isfinite(scores).all()  # length 0 stays 0

    def test_does_not_depend_on_coordinates(self):
        x, labels = data()
        turn = np.array([[1e-4, 3.0, 0.0], [0.0, 1e5, 2.0], [1e-4, 0.0, 1.0]])
        scores = plain().fit(x, labels).score(x[:4], x[4:9])
        turned = plain().fit(x @ turn, labels)
        turned = turned.score(x[:4] @ turn, x[4:9] @ turn)
        np.testing.assert_allclose(turned, scores, atol=1e-4)


class TestFit:
    def test_recovers_covariances(self):
        x, labels = data(num_classes=6000)
        plda = plain().fit(x, labels)
        # Standard errors are about 4 * sqrt(2 / 6000) = 0.07 or less.
        np.testing.assert_allclose(plda.between_covariance, BETWEEN, atol=0.35)
        np.testing.assert_allclose(plda.within_covariance, WITHIN, atol=0.06)
        np.testing.assert_allclose(plda.mean, MEAN, atol=0.15)

    def test_equal_counts_have_a_closed_form(self):
        """With n examples per class, it is the analysis of variance."""
        x, _ = data(num_classes=120, most=1)
        rng = np.random.default_rng(3)
        n = 4
        x = np.repeat(x, n, axis=0) + rng.normal(size=(n * 120, 3))
        labels = np.repeat(np.arange(120), n)
        plda = plain(max_iterations=2000, tolerance=0).fit(x, labels)
        means = x.reshape(120, n, 3).mean(axis=1)
        residuals = x - means[labels]
        within = residuals.T @ residuals / (120 * (n - 1))
        between = np.cov(means.T, bias=True) - within / n
        np.testing.assert_allclose(plda.within_covariance, within, atol=1e-4)
        np.testing.assert_allclose(plda.between_covariance, between, atol=1e-4)
        np.testing.assert_allclose(plda.mean, x.mean(axis=0), atol=1e-6)

    def test_likelihood(self):
        """The density of the data, which never falls and reaches a maximum."""
        x, labels = data()
        plda = plain(max_iterations=500, tolerance=1e-12).fit(x, labels)
        course = plda.log_likelihoods
        assert len(course) > 5 and np.all(np.diff(course) >= -1e-12)
        density = sum(
            log_density(plda, *x[labels == label]) for label in set(labels)
        )
        assert course[-1] == pytest.approx(density / len(x), abs=1e-9)
        rng = np.random.default_rng(0)
        best = (plda.mean, plda.between_covariance, plda.within_covariance)
        for _ in range(20):
            noise = 0.02 * rng.normal(size=(3, 3))
            nudge = np.eye(3) + noise
            plda.mean = best[0] + noise[0]
            plda.between_covariance = nudge @ best[1] @ nudge.T
            plda.within_covariance = nudge.T @ best[2] @ nudge
            other = sum(
                log_density(plda, *x[labels == label]) for label in set(labels)
            )
            assert other < density

    def test_max_iterations(self):
        plda = plain(max_iterations=3, tolerance=0).fit(*data())
        assert len(plda.log_likelihoods) == 4

    def test_lda_against_scikit_learn(self):
        x, labels = data()
        several = np.bincount(labels)[labels] > 1  # avoids their warning
        x, labels = x[several], labels[several]
        plda = PLDA(2, length_normalize=False).fit(x, labels)
        theirs = LinearDiscriminantAnalysis(solver="eigen").fit(x, labels)
        expected = theirs.scalings_[:, :2]
        expected *= np.sign(np.sum(expected * plda.projection, axis=0))
        np.testing.assert_allclose(plda.projection, expected, atol=1e-9)

    def test_full_lda_loses_nothing(self):
        x, labels = data()
        scores = [
            PLDA(num_dims, length_normalize=False, tolerance=1e-12)
            .fit(x, labels)
            .score(x[:5], x[5:9])
            for num_dims in (None, 3)
        ]
        np.testing.assert_allclose(*scores, atol=1e-4)


class TestAdapt:
    def test_averages(self):
        x, labels = data()
        other, other_labels = data(seed=5)
        other = other * 2 + 1
        plda = plain().fit(x, labels)
        new = plain().fit(other, other_labels)
        adapted = plda.adapt(other, other_labels, weight=0.25)
        for name in ("between_covariance", "within_covariance"):
            expected = 0.75 * getattr(plda, name) + 0.25 * getattr(new, name)
            np.testing.assert_allclose(getattr(adapted, name), expected)
        np.testing.assert_allclose(adapted.mean, new.mean)
        test = data(seed=1)[0]
        expected = log_density(adapted, test[0], test[1]) - sum(
            log_density(adapted, z) for z in test[:2]
        )
        found = adapted.score(test[:1], test[1:2])[0, 0]
        assert found == pytest.approx(expected, abs=1e-9)
        # The model itself does not change.
        again = plain().fit(x, labels).score(test[:2], test[:3])
        np.testing.assert_array_equal(plda.score(test[:2], test[:3]), again)

    def test_whole_weight_is_the_new_model_after_the_old_lda(self):
        x, labels = data()
        other, other_labels = data(seed=5)
        plda = PLDA(2).fit(x, labels)
        adapted = plda.adapt(other, other_labels, weight=1.0)
        np.testing.assert_array_equal(adapted.projection, plda.projection)
        np.testing.assert_allclose(adapted.offset, other.mean(axis=0))
        new = PLDA().fit(other @ plda.projection, other_labels)
        np.testing.assert_allclose(
            adapted.score(x[:3], x[3:7]),
            new.score(x[:3] @ plda.projection, x[3:7] @ plda.projection),
            atol=1e-9,
        )

    def test_few_classes(self):
        """Two new classes define one direction; the rest is the old model."""
        x, labels = data()
        few = np.flatnonzero(np.isin(labels, (15, 33)))
        adapted = PLDA().fit(x, labels).adapt(x[few], labels[few])
        assert np.isfinite(adapted.score(x, x)).all()
        assert np.linalg.matrix_rank(adapted.between_covariance) == 3

    def test_weight(self):
        x, labels = data()
        with pytest.raises(ValueError, match="received 1.5"):
            PLDA().fit(x, labels).adapt(x, labels, weight=1.5)


class TestDegenerate:
    @pytest.mark.parametrize("length_normalize", [False, True])
    def test_constant_dimension_is_ignored(self, length_normalize):
        x, labels = data()
        wide = np.insert(x, 1, 0.1, axis=1).astype(np.float32)
        arguments = dict(length_normalize=length_normalize)
        scores = PLDA(**arguments).fit(wide, labels).score(wide[:5], wide[5:9])
        assert np.isfinite(scores).all()
        if not length_normalize:  # the length counts as one dimension
            x = x.astype(np.float32)
            fewer = PLDA(**arguments).fit(x, labels).score(x[:5], x[5:9])
            np.testing.assert_allclose(scores, fewer, atol=1e-6)

    def test_repeated_dimension_is_ignored(self):
        x, labels = data()
        x = x.astype(np.float32)
        wide = np.concatenate([x, -3 * x[:, :1]], axis=1)
        scores = plain().fit(wide, labels).score(wide[:5], wide[5:9])
        expected = plain().fit(x, labels).score(x[:5], x[5:9])
        np.testing.assert_allclose(scores, expected, atol=1e-3)

    @pytest.mark.parametrize("num_dims", [None, 4])
    def test_more_dimensions_than_examples(self, num_dims):
        rng = np.random.default_rng(0)
        labels = np.repeat(np.arange(5), 3)
        x = 3 * rng.normal(size=(5, 40))[labels] + rng.normal(size=(15, 40))
        plda = PLDA(num_dims).fit(x, labels)
        assert np.all(np.diff(plda.log_likelihoods) >= -1e-9)
        scores = plda.score(x, x)
        assert np.isfinite(scores).all()
        same = labels[:, None] == labels
        assert scores[same].min() > scores[~same].max()

    def test_classes_without_spread(self):
        x = np.repeat(np.random.default_rng(0).normal(size=(6, 3)), 2, axis=0)
        labels = np.repeat(np.arange(6), 2)
        for plda in (plain(), plain(num_dims=2), PLDA()):
            scores = plda.fit(x, labels).score(x, x)
            assert np.isfinite(scores).all()
            same = labels[:, None] == labels
            assert scores[same].min() > 0 > scores[~same].max()

    def test_equal_classes_score_about_zero(self):
        rng = np.random.default_rng(0)
        x = rng.normal(size=(400, 2))
        x = np.concatenate([x, -x])
        labels = np.tile(np.arange(400), 2)  # all class means are 0
        scores = plain(tolerance=0).fit(x, labels).score(x[:9], x[:9])
        np.testing.assert_allclose(scores, 0, atol=1e-9)

    @pytest.mark.parametrize(
        ("x", "labels", "message"),
        [
            (np.eye(4), [2, 2, 2, 2], "4 examples of 1 class"),
            (np.eye(4), [1, 2, 3, 4], "4 examples of 4 classes"),
            (np.ones((4, 2)), [1, 1, 2, 2], "all the same"),
            (np.eye(4), [1, 1, 2], "3 rows of `labels`"),
            (np.eye(4) * np.nan, [1, 1, 2, 2], "must be finite"),
            (np.eye(4) * 1e200, [1, 1, 2, 2], "at most 1e"),
            (np.eye(4), [0.5, 1, 2, 2], "must be integers"),
            (np.ones(4), [1, 1, 2, 2], "shape"),
        ],
    )
    def test_bad_input(self, x, labels, message):
        with pytest.raises(ValueError, match=message):
            PLDA().fit(x, labels)

    @pytest.mark.parametrize("scale", [1e-300, 1e-170, 1e-30, 1e30])
    def test_scale(self, scale):
        x, labels = data()
        if scale < 1e-150:  # squares are 0
            for plda in (PLDA(), plain()):
                with pytest.raises(ValueError, match="all the same"):
                    plda.fit(scale * x, labels)
            with pytest.raises(ValueError, match="here 0"):
                PLDA(2).fit(scale * x, labels)
            return
        for arguments in ({}, {"num_dims": 2}):
            expected = PLDA(**arguments).fit(x, labels).score(x, x)
            scores = PLDA(**arguments).fit(scale * x, labels)
            scores = scores.score(scale * x, scale * x)
            np.testing.assert_allclose(scores, expected, atol=1e-4)

    def test_too_many_dims(self):
        with pytest.raises(ValueError, match="here 1; received num_dims=2"):
            PLDA(2).fit(np.eye(4), [1, 1, 2, 2])

    @pytest.mark.parametrize("center", [True, False])
    @pytest.mark.parametrize(
        ("rank", "num_classes", "expected"),
        [(2, 6, 2), (5, 3, 2), (5, 6, 5), (0, 6, 0)],
    )
    def test_most_dims(self, rank, num_classes, expected, center):
        """The rank of the embeddings, or one less than the classes."""
        rng = np.random.default_rng(0)
        labels = np.arange(30) % num_classes
        x = 1 + rng.normal(size=(30, rank)) @ rng.normal(size=(rank, 5))
        model = PLDA(center=center)
        assert model.most_dims(x, labels) == expected
        if expected:
            PLDA(expected, center=center).fit(x, labels)
        with pytest.raises(ValueError, match=f"here {expected}"):
            PLDA(expected + 1, center=center).fit(x, labels)

    @pytest.mark.parametrize(
        "arguments",
        [{"num_dims": 0}, {"max_iterations": 0}, {"tolerance": -1}],
    )
    def test_bad_arguments(self, arguments):
        with pytest.raises(ValueError, match="received"):
            PLDA(**arguments)

    def test_score_before_fit_and_with_wrong_width(self):
        with pytest.raises(ValueError, match="not fitted yet"):
            PLDA().score(np.eye(3), np.eye(3))
        plda = PLDA().fit(*data())
        with pytest.raises(ValueError, match=r"`test` must have shape \(n, 3"):
            plda.score(np.eye(3), np.eye(4))
        with pytest.raises(ValueError, match="3 rows of `first`"):
            plda.score_pairs(np.eye(3), np.eye(3)[:2])

    def test_a_failed_fit_changes_nothing(self):
        x, labels = data()
        plda = PLDA().fit(x, labels)
        before = plda.score(x[:3], x[:3])
        with pytest.raises(ValueError, match="all the same"):
            plda.fit(np.ones((4, 3)), [1, 1, 2, 2])
        np.testing.assert_array_equal(plda.score(x[:3], x[:3]), before)


class TestFile:
    @pytest.mark.parametrize("num_dims", [None, 2])
    def test_round_trip(self, num_dims, tmp_path):
        x, labels = data()
        plda = PLDA(num_dims, max_iterations=7, tolerance=0).fit(x, labels)
        path = tmp_path / "model.plda"
        path.write_text("an older file")
        plda.save(path)
        assert list(tmp_path.iterdir()) == [path]
        copy = PLDA.load(path)
        np.testing.assert_array_equal(copy.score(x, x), plda.score(x, x))
        assert copy.log_likelihoods == plda.log_likelihoods
        assert (copy.num_dims, copy.max_iterations) == (num_dims, 7)
        assert (copy.center, copy.length_normalize) == (True, True)
        copy.fit(x, labels)
        np.testing.assert_array_equal(copy.score(x, x), plda.score(x, x))

    def test_unfitted_leaves_no_file(self, tmp_path):
        with pytest.raises(ValueError, match="not fitted yet"):
            PLDA().save(tmp_path / "model.npz")
        assert not list(tmp_path.iterdir())

    def test_broken_files(self, tmp_path):
        path = tmp_path / "model.npz"
        with pytest.raises(FileNotFoundError):
            PLDA.load(path)
        PLDA().fit(*data()).save(path)
        whole = path.read_bytes()
        with np.load(path) as archive:
            content = dict(archive)
        method = whole.index(b"PK\x01\x02") + 10  # an unknown compression
        unknown = whole[:method] + b"\x63" + whole[method + 1 :]
        for spoilt in (
            lambda: path.write_bytes(b""),
            lambda: path.write_bytes(unknown),
            lambda: path.write_bytes(whole[: len(whole) // 2]),
            lambda: (path.write_bytes(whole), break_headers(path)),
            lambda: np.savez(path, mean=np.ones(3)),
            lambda: np.savez(path, **(content | {"mean": np.ones(2)})),
            lambda: np.savez(path, **(content | {"mean": np.ones(3) * np.nan})),
            # An array of objects would be a pickle.
            lambda: np.savez(path, **(content | {"mean": np.array([{}] * 3)})),
        ):
            spoilt()
            with pytest.raises(OSError, match="written by PLDA.save"):
                PLDA.load(path)


def test_embeddings_far_beyond_the_fit_are_refused():
    """Squares would overflow, and their differences would be NaN."""
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(5), 4)
    x = rng.normal(size=(20, 2)) + 3 * rng.normal(size=(5, 2))[labels]
    model = PLDA(length_normalize=False).fit(1e-60 * x, labels)
    for score in (model.score, model.score_pairs):
        with pytest.raises(
            ValueError, match=r"`\w+` must have the scale of th"
        ):
            score(1e-60 * x, 1e99 * x)
        with pytest.raises(
            ValueError, match=r"`\w+` must have the scale of th"
        ):
            score(1e99 * x, 1e-60 * x)
        assert np.isfinite(score(1e30 * x, 1e30 * x)).all()
