import math

import keras
import numpy as np
import pytest

from embeddings_tf.datasets import Utterances
from embeddings_tf.scoring import Gallery
from embeddings_tf.scoring import Typicality

SHAPE = (6, 5, 2)


def images(rows, seed=0):
    """Inputs in a plane of three directions, with noise; classes of ten."""
    directions = np.random.default_rng(9).normal(size=(3, *SHAPE))
    rng = np.random.default_rng(seed)
    inside = np.einsum("nk,k...->n...", rng.normal(size=(rows, 3)), directions)
    return (inside + 0.1 * rng.normal(size=(rows, *SHAPE))).astype("float32")


def noise(rows):
    return np.random.default_rng(5).normal(size=(rows, *SHAPE)).astype("f4")


X = images(400)
LABELS = np.arange(400) // 10


@pytest.fixture(scope="module")
def fitted():
    return Typicality(refused=0.02).fit(X, LABELS)


def by_loop(x, fitted, labels, refused):
    """Scores and threshold by a singular value decomposition of halves."""
    classes = np.random.default_rng(0).permutation(np.unique(labels))
    first = np.isin(labels, classes[: len(classes) // 2])
    flat = fitted.reshape(len(fitted), -1).astype(np.float64)
    mean, deviation = flat[first].mean(0), flat[first].std(0)
    scale = np.sqrt(deviation**2 + 0.3**2 * np.mean(deviation**2))
    z = (flat[first] - mean) / scale
    _, values, rows = np.linalg.svd(z, full_matrices=False)
    share = np.cumsum(values**2) / np.sum(values**2)
    rows = rows[: np.searchsorted(share, 0.9) + 1]

    def score(some):
        z = (some.reshape(len(some), -1).astype(np.float64) - mean) / scale
        return [-np.mean((one - rows.T @ (rows @ one)) ** 2) for one in z]

    errors = np.sort([-s for s in score(fitted[~first])])
    # At most this share of one more exchangeable example is above it.
    allowed = [
        error
        for rank, error in enumerate(errors, 1)
        if 1 - rank / (len(errors) + 1) <= refused
    ]
    return np.array(score(x)), -min(allowed)


def test_score_and_threshold_by_loop(fitted):
    x = np.concatenate([images(7, 3), noise(5)])
    score, threshold = by_loop(x, X, LABELS, 0.02)
    np.testing.assert_allclose(fitted.score_samples(x), score, rtol=1e-4)
    np.testing.assert_allclose(fitted.threshold_, threshold * 1.001, rtol=1e-4)
    assert fitted.report_["num_fitted"] == fitted.report_["num_held_out"] == 200


def test_noise_is_not_typical_and_new_classes_are(fitted):
    assert not fitted.predict(noise(200)).any()
    assert 0.94 < fitted.predict(images(1000, 4)).mean() < 1


def test_refuses_the_share_of_the_held_out_examples(fitted):
    """The threshold is the example of rank ceil(201 * 0.98) = 197 of 200."""
    assert math.ceil(201 * 0.98) == 197
    classes = np.random.default_rng(0).permutation(40)[20:]
    held_out = X[np.isin(LABELS, classes)]
    assert np.sum(~fitted.predict(held_out)) == 3


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_an_input_that_is_not_finite_is_named(fitted, value):
    x = images(3)
    x[1, 2, 3, 1] = value
    with pytest.raises(ValueError, match="Input 1 is not finite"):
        fitted.predict(x)


def test_an_input_beyond_float32_is_named(fitted):
    x = images(3).astype("float64")
    x[2, 2, 3, 1] = 1e39
    with pytest.raises(ValueError, match="Input 2 .*float32. Rescale them"):
        fitted.predict(x)
    with pytest.raises(ValueError, match=r"Input \d+ .*float32. Rescale them"):
        Typicality().fit(np.where(X > 0, 1e39, X.astype("float64")), LABELS)


def test_huge_inputs_are_not_typical(fitted):
    assert not fitted.predict(np.full((1, *SHAPE), 1e30, "f4")).any()


def test_pixels_that_never_vary_do_not_decide_alone():
    """A dark edge: one more bright pixel there is no noise."""
    x = X.copy()
    x[:, 0] = 0
    found = Typicality().fit(x, LABELS)
    one = images(1, 7)
    one[:, 0] = 0
    above = one.copy()
    above[0, 0, 0, 0] = 0.1 * x.std()
    assert found.predict(one).all() and found.predict(above).all()
    above[0, 0] = 10 * x.std()
    assert not found.predict(above).any()


def test_large_inputs_use_evenly_spaced_numbers():
    """Of 120 x 50 numbers, 2048 count; others have no influence."""
    rng = np.random.default_rng(0)
    x = (rng.normal(size=(300, 1, 1)) * np.ones((120, 50))).astype("f4")
    x += rng.normal(size=x.shape) / 10
    found = Typicality().fit(x)
    places = np.linspace(0, 5999, 2048, dtype=int)
    others = x[:2].copy().reshape(2, -1)
    others[:, np.setdiff1d(np.arange(6000), places)] = 1e3
    others = others.reshape(2, 120, 50)
    np.testing.assert_array_equal(
        found.score_samples(others), found.score_samples(x[:2])
    )
    others.reshape(2, -1)[:, places[7]] = 1e3
    assert not found.predict(others).any()


def test_division_depends_only_on_the_seed():
    first, second, other = (
        Typicality(seed=seed).fit(X, LABELS).threshold_ for seed in (1, 1, 2)
    )
    assert first == second != other


def test_dictionary(fitted):
    values = fitted.to_dict()
    again = Typicality.from_dict(values)
    x = np.concatenate([images(4, 8), noise(4)])
    np.testing.assert_array_equal(
        again.score_samples(x), fitted.score_samples(x)
    )
    assert again.threshold_ == fitted.threshold_
    assert again.report_ == fitted.report_
    for change, match in (
        ({"kind": "other"}, "must be a typicality"),
        ({"mean": np.zeros(3)}, "must have a mean"),
        ({"components": np.zeros((2, 3))}, "must have a mean"),
        ({"threshold": "high"}, "threshold"),
        ({"mean": np.nan * values["mean"]}, "finite numbers"),
        ({"scale": 0 * values["scale"]}, "a positive scale"),
        ({"components": np.inf * values["components"]}, "finite numbers"),
        ({"input_shape": [-6, -5, 2]}, "input_shape"),
    ):
        with pytest.raises(ValueError, match=match):
            Typicality.from_dict({**values, **change})


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ((X[:0],), "at least one input"),
        ((X[:100],), "needs 99, in half of the classes"),
        ((X, np.zeros(400, int)), "at least two classes"),
        ((X, LABELS[:9]), "one label per example"),
        ((np.ones((400, 3)),), "must have different examples"),
        ((np.ones((400, 3)),), "PCA must .*; received 200 equal examples"),
        # By the seed 0, class 0 fits the PCA.
        ((X[:40], np.arange(40) > 0), "PCA must .*; received 1 example. Pass"),
        ((np.full((400, 3), "a"),), "must be real numbers"),
        (
            (Utterances(np.zeros((9, 2), "f4"), np.array([4, 5])),),
            "received utterances",
        ),
    ],
)
def test_examples_that_cannot_be_fitted(arguments, match):
    with pytest.raises(ValueError, match=match):
        Typicality().fit(*arguments)


def test_as_many_components_as_numbers():
    """Four independent columns need four components: 3/4 is below 90 %."""
    x = np.random.default_rng(0).normal(size=(400, 4)).astype("f4")
    with pytest.raises(ValueError, match="4 principal .* the 4 numbers"):
        Typicality().fit(x)
    found = Typicality(explained_variance=0.7).fit(x)
    assert found.report_["num_components"] == 3
    assert not found.predict(np.full((1, 4), 99, "f4")).any()


def test_rounding_does_not_decide():
    """Columns that are there three times: the error is 0 up to rounding."""
    x = np.random.default_rng(0).normal(size=(400, 4)).astype("f4")
    x = np.tile(x, 3)
    found = Typicality().fit(x)
    assert found.report_["num_components"] == 4
    np.testing.assert_allclose(found.threshold_, -1e-9 * 1.001)
    assert found.predict(10 * x).all()
    x[:, 0] += 0.01
    assert not found.predict(x).any()


def test_use_before_fit_and_other_shapes(fitted):
    for use in (
        lambda: Typicality().predict(X),
        lambda: Typicality().to_dict(),
    ):
        with pytest.raises(ValueError, match="not fitted yet"):
            use()
    with pytest.raises(ValueError, match="must have the shape"):
        fitted.predict(X[:, :3])


def gallery(embedded=False):
    encoder = keras.Sequential(
        [keras.Input(SHAPE), keras.layers.Flatten(), keras.layers.Dense(2)]
    )
    x, labels = images(20, 1), [f"class {n}" for n in np.arange(20) // 10]
    found = Gallery(encoder, embedded=embedded)
    if embedded:
        x = encoder(x).numpy()
    return found.enroll(x, labels)


def test_a_gallery_answers_unknown_if_an_input_is_not_typical(fitted):
    """Without a threshold, only the check refuses."""
    found = gallery()
    x = np.concatenate([images(6, 2), noise(6)])
    typical = fitted.predict(x)
    assert typical[:6].all() and not typical[6:].any()
    assert "unknown" not in found.predict(x)
    found.typicality = fitted
    columns = found.identify(x)
    np.testing.assert_array_equal(columns["typical"], typical)
    np.testing.assert_array_equal(columns["accepted"], typical)
    np.testing.assert_array_equal(columns["answer"] == "unknown", ~typical)
    assert set(columns["class"]) <= {"class 0", "class 1"}
    found.remove_threshold()
    assert "unknown" not in found.predict(x) and found.typicality is None


def test_both_the_threshold_and_the_check_decide(fitted):
    found = gallery()
    others = np.repeat([f"other {n}" for n in range(20)], 2)
    found.calibrate(images(40, 3), others, 0.3)
    x = np.concatenate([images(20, 2), noise(20)])
    above = found.decision_function(x)
    assert 0 < np.mean(above >= 0) < 1
    found.typicality = fitted
    typical = fitted.predict(x)
    expected = (above >= 0) & typical
    np.testing.assert_array_equal(found.identify(x)["accepted"], expected)
    np.testing.assert_array_equal(
        found.decision_function(x),
        np.where(typical, above, np.finfo(float).min),
    )


def test_a_gallery_of_embeddings_needs_the_inputs(fitted):
    found = gallery(embedded=True)
    x = np.concatenate([images(3, 2), noise(3)])
    embeddings = found.model(x).numpy()
    found.typicality = fitted
    np.testing.assert_array_equal(
        found.identify(embeddings, x)["typical"], [True] * 3 + [False] * 3
    )
    with pytest.raises(ValueError, match="`inputs` must be the inputs"):
        found.predict(embeddings)
    with pytest.raises(ValueError, match="one input per embedding, 6"):
        found.predict(embeddings, x[:2])
    found.typicality = "high"
    with pytest.raises(ValueError, match="must be a scoring.Typicality"):
        found.predict(embeddings, x)


def test_the_file_of_a_gallery_has_the_check(fitted, tmp_path):
    found = gallery()
    found.typicality = fitted
    found.save(tmp_path / "g.npz")
    with np.load(tmp_path / "g.npz", allow_pickle=False) as file:
        assert {name for name in file.files if "typicality" in name} == {
            f"typicality_{part}" for part in ("mean", "scale", "components")
        }
    again = Gallery.load(tmp_path / "g.npz", found.model)
    x = np.concatenate([images(3, 2), noise(3)])
    for name, column in found.identify(x).items():
        np.testing.assert_array_equal(again.identify(x)[name], column)
    found.typicality = None
    found.save(tmp_path / "g.npz")
    assert Gallery.load(tmp_path / "g.npz", found.model).typicality is None
