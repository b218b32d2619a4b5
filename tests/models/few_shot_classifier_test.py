import math

import keras
import numpy as np
import pandas
import pytest
import tensorflow as tf
from scipy import special

from embeddings_tf.layers import GaussianEmbedding
from embeddings_tf.layers import PairDistance
from embeddings_tf.models import EmbeddingModel
from embeddings_tf.models import FewShotClassifier
from embeddings_tf.models import n_digit_encoder
from embeddings_tf.objectives import HedgedInstances
from embeddings_tf.objectives import LearnedDistance
from embeddings_tf.objectives import StochasticPrototypes
from embeddings_tf.ops import prototype_samplers
from embeddings_tf.scoring import Gallery
from embeddings_tf.scoring import embed

NAMES = np.array(["two", "one", "three", "one", "two", "three", "two"])
CLASSES = ["one", "three", "two"]


def points(rows, seed=0):
    return np.random.default_rng(seed).normal(size=(rows, 2)).astype("float32")


@pytest.fixture(scope="module")
def identity():
    """A model whose input is the embedding."""
    return keras.Sequential([keras.Input((2,)), keras.layers.Identity()])


@pytest.fixture(scope="module")
def identity_spe():
    """A model whose input is the packed Gaussian."""
    encoder = keras.Sequential([keras.Input((4,)), keras.layers.Identity()])
    objective = StochasticPrototypes(2, initial_noise_variance=0.1)
    return EmbeddingModel(encoder, objective, gaussian=True)


def packed_points(rows, seed=0):
    variance = np.random.default_rng(seed).uniform(0.1, 1, size=(rows, 2))
    return np.hstack([points(rows, seed), variance]).astype("float32")


class Headed(keras.Model):
    """Its encoder is wider than its output."""

    def __init__(self):
        super().__init__()
        self.encoder = keras.Sequential(
            [keras.Input((2,)), GaussianEmbedding(3)]
        )
        self.head = keras.layers.Dense(2)

    def call(self, inputs):
        return self.head(self.encoder(inputs))


def test_embedded_rows_have_the_width_of_an_own_class():
    model = Headed()
    model(points(1))
    support, query = points(7), points(5, seed=1)
    given = FewShotClassifier(model, embedded=True).fit(support, NAMES)
    # A negative second coordinate is not taken for a negative variance.
    assert (query[:, 1] < 0).any()
    means = np.stack([support[NAMES == name].mean(0) for name in CLASSES])
    distances = ((query[:, None] - means) ** 2).sum(-1)
    expected = np.array(CLASSES)[distances.argmin(-1)]
    np.testing.assert_array_equal(given.predict(query), expected)


class TestPrototypicalNetwork:
    def test_by_loop(self, identity):
        support, query = points(7), points(5, seed=1)
        classifier = FewShotClassifier(identity).fit(support, NAMES)
        assert classifier.classes_.tolist() == CLASSES
        log_prob = classifier.predict_log_proba(query)
        for row in range(5):
            logits = []
            for column, name in enumerate(CLASSES):
                mean = support[NAMES == name].mean(axis=0)
                np.testing.assert_allclose(
                    classifier.prototypes_[column], mean, rtol=1e-5
                )
                logits.append(-((query[row] - mean) ** 2).sum())
            np.testing.assert_allclose(
                log_prob[row], special.log_softmax(logits), rtol=1e-4
            )
            assert classifier.predict(query)[row] == CLASSES[np.argmax(logits)]
        np.testing.assert_allclose(
            classifier.predict_proba(query), np.exp(log_prob), rtol=1e-6
        )

    def test_batching_does_not_change_the_answer(self, identity):
        support, query = points(7), points(11, seed=1)
        expected = FewShotClassifier(identity).fit(support, NAMES)
        for batch_size in (1, 4, 11):
            classifier = FewShotClassifier(identity, batch_size=batch_size)
            classifier.fit(support, NAMES)
            np.testing.assert_allclose(
                classifier.predict_proba(query),
                expected.predict_proba(query),
                rtol=1e-5,
            )

    def test_a_failed_fit_changes_nothing(self, identity):
        classifier = FewShotClassifier(identity).fit(points(7), NAMES)
        expected = classifier.predict(points(5, seed=1))
        with pytest.raises(ValueError, match="finite"):
            classifier.fit(np.full((2, 2), np.nan, "float32"), ["a", "b"])
        assert classifier.classes_.tolist() == CLASSES
        np.testing.assert_array_equal(
            classifier.predict(points(5, seed=1)), expected
        )

    def test_nan_of_bfloat16_is_refused(self):
        layer = keras.layers.Dense(2, dtype="mixed_bfloat16")
        encoder = keras.Sequential([keras.Input((2,)), layer])
        kernel = np.array([[np.nan, 0], [0, 1]])
        layer.kernel.assign(kernel)
        with pytest.raises(ValueError, match="embedding .* not finite"):
            FewShotClassifier(encoder).fit(points(7), NAMES)

    def test_gaussian_encoder_without_the_objective(self):
        """Means are compared, like PrototypicalLoss on means."""
        encoder = n_digit_encoder(2, image_shape=(8, 16, 1))
        x = np.random.default_rng(0).uniform(0, 255, size=(7, 8, 16, 1))
        classifier = FewShotClassifier(encoder).fit(x, NAMES)
        mean = encoder(x).numpy()[:, :2]
        centres = [mean[NAMES == name].mean(axis=0) for name in CLASSES]
        np.testing.assert_allclose(
            classifier.prototypes_, centres, rtol=1e-4, atol=1e-6
        )
        squared = ((mean[:, None] - centres) ** 2).sum(axis=-1)
        np.testing.assert_allclose(
            classifier.predict_proba(x),
            special.softmax(-squared, axis=1),
            rtol=1e-4,
        )


class TestStochasticPrototypes:
    def test_is_the_objectives_answer(self, identity_spe):
        support, query = packed_points(7), packed_points(5, seed=1)
        classifier = FewShotClassifier(identity_spe, num_samples=50, seed=3)
        classifier.fit(support, NAMES)
        objective = identity_spe.objective
        prototypes = objective.prototypes(
            support, [CLASSES.index(name) for name in NAMES], 3
        )
        np.testing.assert_array_equal(classifier.prototypes_, prototypes)
        expected = objective.log_prob(
            query, prototypes, 50, tf.constant([3, 0])
        )
        log_prob = classifier.predict_log_proba(query)
        np.testing.assert_allclose(log_prob, expected, rtol=1e-5)
        np.testing.assert_allclose(
            classifier.predict_proba(query).sum(axis=1), np.ones(5), rtol=1e-5
        )
        np.testing.assert_array_equal(
            classifier.predict(query),
            np.array(CLASSES)[np.argmax(expected, axis=1)],
        )

    def test_seed(self, identity_spe):
        support, query = packed_points(7), packed_points(5, seed=1)

        def answer(seed):
            classifier = FewShotClassifier(
                identity_spe, num_samples=2, seed=seed
            )
            return classifier.fit(support, NAMES).predict_proba(query)

        np.testing.assert_array_equal(answer(1), answer(1))
        assert (answer(1) != answer(2)).any()

    @pytest.mark.parametrize("batch_size", [1, 4, 11])
    def test_batching_does_not_change_the_answer(
        self, identity_spe, batch_size
    ):
        support, query = packed_points(7), packed_points(11, seed=1)
        together, apart = (
            FewShotClassifier(identity_spe, num_samples=3, batch_size=size)
            .fit(support, NAMES)
            .predict_proba(query)
            for size in (11, batch_size)
        )
        np.testing.assert_allclose(apart, together, rtol=1e-5)

    def test_new_classifiers_do_not_trace_again(self, identity_spe):
        traced, counts = prototype_samplers.log_mean_softmax, []
        for number in range(4):
            classifier = FewShotClassifier(identity_spe, num_samples=2 + number)
            classifier.fit(packed_points(7 + number), [*NAMES, *"abc"[:number]])
            classifier.predict(packed_points(3 + number))
            counts.append(traced.experimental_get_tracing_count())
        assert len(set(counts)) == 1


class TestHuge:
    @pytest.mark.parametrize("scale", [1e15, 1e19, 1e38])
    @pytest.mark.parametrize("kind", ["identity", "identity_spe"])
    def test_finite_answers(self, request, kind, scale):
        model = request.getfixturevalue(kind)
        x = np.array([[1, 0], [0, 1], [-1, -1]]) * scale
        if kind == "identity_spe":
            x = np.hstack([x, np.ones_like(x)])
        x = x.astype("float32")
        classifier = FewShotClassifier(model).fit(x, ["a", "b", "c"])
        assert np.isfinite(classifier.predict_log_proba(x * 0.7)).all()
        np.testing.assert_array_equal(
            classifier.predict_proba(x * 0.7), np.eye(3)
        )


def objectives(name):
    if name == "none":
        return keras.Sequential([keras.Input((4,)), keras.layers.Dense(4)])
    keras.utils.set_random_seed(0)
    is_gaussian = name != "distance"
    head = GaussianEmbedding(2) if is_gaussian else keras.layers.Dense(4)
    objective = {
        "prototypes": StochasticPrototypes(2),
        "hedged": HedgedInstances(2),
        "distance": LearnedDistance(PairDistance((8,))),
    }[name]
    encoder = keras.Sequential([keras.Input((4,)), head])
    return EmbeddingModel(encoder, objective)


class TestSaving:
    @pytest.mark.parametrize(
        "name", ["none", "prototypes", "hedged", "distance"]
    )
    @pytest.mark.parametrize("how", ["method", "keras"])
    def test_same_answers(self, name, how, tmp_path):
        support, query = packed_points(7), packed_points(5, seed=1)
        classifier = FewShotClassifier(
            objectives(name), num_samples=3, seed=4, batch_size=2
        ).fit(support, NAMES)
        path = tmp_path / "classifier.keras"
        if how == "method":
            classifier.save(path)
        else:
            keras.saving.save_model(classifier, path)
        loaded = keras.saving.load_model(path)
        assert isinstance(loaded, FewShotClassifier)
        np.testing.assert_allclose(
            loaded.predict_proba(query),
            classifier.predict_proba(query),
            rtol=1e-6,
        )
        assert loaded.predict(query).tolist() == (
            classifier.predict(query).tolist()
        )
        assert (loaded.num_samples, loaded.seed, loaded.batch_size) == (3, 4, 2)

    @pytest.mark.parametrize(
        "labels", [[7, -2, 10**12], [0.5, 0.1, 2.5], ["b", "a", "hülle"]]
    )
    def test_labels_of_any_kind(self, identity, labels, tmp_path):
        support = 9 * np.array([[0, 0], [1, 1], [2, 2]], "float32")
        classifier = FewShotClassifier(identity).fit(support, labels)
        classifier.save(tmp_path / "classifier.keras")
        loaded = keras.saving.load_model(tmp_path / "classifier.keras")
        assert loaded.classes_.dtype == classifier.classes_.dtype
        assert loaded.predict(support).tolist() == labels

    def test_not_fitted(self, identity, tmp_path):
        FewShotClassifier(identity).save(tmp_path / "classifier.keras")
        loaded = keras.saving.load_model(tmp_path / "classifier.keras")
        with pytest.raises(ValueError, match="call fit.* first"):
            loaded.predict(points(1))
        loaded.fit(points(7), NAMES)
        assert len(loaded.predict(points(2))) == 2

    def test_other_labels_are_refused(self, identity, tmp_path):
        labels = np.array(["2020-01-01", "2021-01-01"], "datetime64[D]")
        classifier = FewShotClassifier(identity).fit(points(2), labels)
        with pytest.raises(ValueError, match="numbers or strings can be saved"):
            classifier.save(tmp_path / "classifier.keras")

    @pytest.mark.parametrize(
        "labels",
        [
            ["a", math.nan],
            np.array(["a", None], object),
            pandas.Series(["a", None]),
            pandas.Series(["a", None], dtype="string"),
        ],
    )
    def test_missing_labels_are_no_class(self, identity, labels):
        """NumPy would turn them into the strings "nan" and "None"."""
        with pytest.raises(ValueError, match="missing values.* in place 1"):
            FewShotClassifier(identity).fit(points(2), labels)
        dates = np.array(["2020-01-01", "NaT"], "datetime64[D]")
        with pytest.raises(ValueError, match="finite numbers"):
            FewShotClassifier(identity).fit(points(2), dates)


class TestLearnedDistance:
    def test_mean_log_likelihood_ratio_by_loop(self):
        model = objectives("distance")
        support, query = packed_points(7), packed_points(5, seed=1)
        classifier = FewShotClassifier(model).fit(support, NAMES)
        distance = model.objective.distance
        expected = np.zeros((5, 3))
        for row, one in enumerate(model(query).numpy()):
            for column, name in enumerate(CLASSES):
                others = model(support[NAMES == name]).numpy()
                ones = np.repeat(one[None], len(others), axis=0)
                expected[row, column] = np.mean(distance((ones, others)))
        np.testing.assert_allclose(
            classifier.predict_log_proba(query),
            special.log_softmax(expected, axis=1),
            rtol=1e-4,
            atol=1e-5,
        )

    def test_differs_from_euclidean_class_means(self):
        """The distance prefers the class with the far mean."""

        class Opposite(PairDistance):
            def all_pairs(self, first, second, training=False):
                return -tf.matmul(first, second, transpose_b=True)

        encoder = keras.Sequential([keras.Input((2,)), keras.layers.Identity()])
        model = EmbeddingModel(encoder, LearnedDistance(Opposite((4,))))
        x = np.array([[1, 0], [-1, 0]], "float32")
        classifier = FewShotClassifier(model).fit(x, ["right", "left"])
        assert classifier.predict(x).tolist() == ["left", "right"]


class TestLabels:
    @pytest.mark.parametrize(
        "labels", [[7, -2, 7, 10**12], [0.5, 1.5, 0.5, 2.5], list("babc")]
    )
    def test_of_any_kind(self, identity, labels):
        support = 9 * np.array([[0, 0], [1, 1], [0, 0], [2, 2]], "float32")
        classifier = FewShotClassifier(identity).fit(support, labels)
        assert classifier.predict(support).tolist() == labels

    def test_one_class(self, identity):
        classifier = FewShotClassifier(identity).fit(points(2), ["a", "a"])
        np.testing.assert_array_equal(
            classifier.predict_proba(points(3)), np.ones((3, 1))
        )

    def test_no_queries(self, identity):
        classifier = FewShotClassifier(identity).fit(points(7), NAMES)
        assert classifier.predict_proba(points(0)).shape == (0, 3)
        assert classifier.predict(points(0)).tolist() == []

    def test_fit_again_forgets(self, identity):
        classifier = FewShotClassifier(identity).fit(points(7), NAMES)
        classifier.fit(points(2), ["x", "y"])
        fresh = FewShotClassifier(identity).fit(points(2), ["x", "y"])
        np.testing.assert_array_equal(
            classifier.predict_proba(points(5)), fresh.predict_proba(points(5))
        )


class TestErrors:
    @pytest.mark.parametrize(
        ("rows", "labels"),
        [(3, ["a", "b"]), (0, []), (2, [["a", "b"]]), (1, "a")],
    )
    def test_supports_and_labels(self, identity, rows, labels):
        with pytest.raises(ValueError, match="one label per support"):
            FewShotClassifier(identity).fit(points(rows), labels)

    @pytest.mark.parametrize(
        "labels",
        [
            np.array([0, np.nan, np.nan]),
            np.array([0, 1, np.inf]),
            np.array([0, 1, 1j]),
            [[0], [1, 2], 3],
            [None, "a", "b"],
        ],
        ids=["NaN", "infinity", "complex", "ragged", "None"],
    )
    def test_labels_that_name_no_classes(self, identity, labels):
        """NaN would become a class; other values are not labels."""
        with pytest.raises(ValueError, match="`labels` must be"):
            FewShotClassifier(identity).fit(points(3), labels)

    @pytest.mark.parametrize(
        "labels",
        [
            np.array([0.0, 2.0, 2.0]),
            np.array(["a", "b", "b"], object),
            [True, False, False],
        ],
        ids=["whole floats", "objects of pandas", "booleans"],
    )
    def test_valid_labels(self, identity, labels):
        x = np.array([[0, 0], [8, 9], [9, 8]], "float32")
        classifier = FewShotClassifier(identity).fit(x, labels)
        assert classifier.predict(x).tolist() == list(labels)

    @pytest.mark.parametrize(
        "model", [None, "text", 3, points(3), keras.Sequential], ids=repr
    )
    def test_no_model(self, model):
        with pytest.raises(ValueError, match="`model` must be a Keras model"):
            FewShotClassifier(model)

    @pytest.mark.parametrize(
        "arguments",
        [{"seed": -1}, {"seed": 2**31}, {"seed": 0.5}, {"num_samples": 0}],
        ids=repr,
    )
    def test_arguments(self, identity, arguments):
        with pytest.raises(ValueError, match="must be an integer"):
            FewShotClassifier(identity, **arguments)

    @pytest.mark.parametrize("x", [None, 3.0, "text", np.zeros(())], ids=repr)
    def test_inputs_without_rows(self, identity, x):
        classifier = FewShotClassifier(identity)
        with pytest.raises(ValueError, match="`support` must have one row"):
            classifier.fit(x, NAMES)
        classifier.fit(points(7), NAMES)
        with pytest.raises(ValueError, match="`query` must have one row"):
            classifier.predict(x)

    @pytest.mark.parametrize("shape", [(4,), (7, 3), (7, 2, 2)])
    def test_inputs_of_another_shape(self, identity, shape):
        classifier = FewShotClassifier(identity)
        x, message = np.zeros(shape, "float32"), r"\(None, 2\); received shape"
        with pytest.raises(ValueError, match=f"`support` must .*{message}"):
            classifier.fit(x, ["a", *"bcdefg"][: len(x)])
        classifier.fit(points(7), NAMES)
        with pytest.raises(ValueError, match=f"`query` must .*{message}"):
            classifier.predict(x)
        assert classifier.predict(points(7)[:0]).shape == (0,)

    def test_a_last_axis_of_one_may_be_missing(self):
        images = np.random.default_rng(0).uniform(size=(7, 4, 2))
        answers = []
        for x in (images, images[..., None]):
            encoder = keras.Sequential(
                [keras.Input((4, 2, 1)), keras.layers.Flatten()]
            )
            classifier = FewShotClassifier(encoder).fit(x, NAMES)
            answers.append(classifier.predict_proba(x))
        np.testing.assert_array_equal(*answers)

    def test_unfitted(self, identity):
        for name in ("predict", "predict_proba", "predict_log_proba"):
            with pytest.raises(ValueError, match="call fit.* first"):
                getattr(FewShotClassifier(identity), name)(points(1))

    @pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
    def test_bad_pixels(self, value):
        """ReLU and pooling would give them a finite embedding."""
        encoder = n_digit_encoder(2, image_shape=(8, 16, 1))
        x = np.full((7, 8, 16, 1), 100, "float32")
        classifier = FewShotClassifier(encoder, batch_size=2).fit(x, NAMES)
        x[5, 2, 3] = value
        for use in (
            lambda: classifier.fit(x, NAMES),
            lambda: classifier.predict(x),
        ):
            with pytest.raises(ValueError, match="Input 5 is not finite"):
                use()

    def test_broken_model(self):
        """The embedding of a finite input is not finite."""
        encoder = keras.Sequential(
            [keras.Input((2,)), keras.layers.Rescaling(1e38)]
        )
        support = points(7)
        support[4] = 1e3
        with pytest.raises(ValueError, match="input 4 is not .*, although the"):
            FewShotClassifier(encoder, batch_size=3).fit(support, NAMES)

    def test_whole_numbers_are_inputs(self, identity):
        classifier = FewShotClassifier(identity)
        classifier.fit(np.array([[0, 0], [9, 9]], "uint8"), ["low", "high"])
        query = np.array([[1, 1], [8, 8]], "uint8")
        assert classifier.predict(query).tolist() == ["low", "high"]


def test_labels_of_tensors_are_text(identity, tmp_path):
    """TensorFlow has text as bytes."""
    classifier = FewShotClassifier(identity)
    classifier.fit(points(7), tf.constant(NAMES.tolist()))
    assert classifier.classes_.tolist() == CLASSES
    classifier.save(tmp_path / "classifier.keras")


def test_several_inputs_are_refused(identity):
    """With the way to use them: embedded=True."""

    class Slices:
        def __len__(self):
            return 7

        def __getitem__(self, rows):
            return {"a": points(7)[rows], "b": points(7)[rows]}

    message = "dictionary with 'a', 'b'. .*embedded=True"
    for x in ({"a": points(7), "b": points(7)}, Slices()):
        with pytest.raises(ValueError, match=message):
            FewShotClassifier(identity).fit(x, NAMES)
        with pytest.raises(ValueError, match=message):
            embed(identity, x)
        with pytest.raises(ValueError, match=message):
            Gallery(identity).enroll(x, NAMES)
    classifier = FewShotClassifier(identity).fit(points(7), NAMES)
    with pytest.raises(ValueError, match=message):
        classifier.predict({"a": points(7), "b": points(7)})


def test_bfloat16_embeddings_are_embeddings(identity):
    """NumPy has no kind of numbers for them."""
    support, query = (tf.cast(points(n), tf.bfloat16).numpy() for n in (7, 5))
    found, expected = (
        FewShotClassifier(identity, embedded=True)
        .fit(x, NAMES)
        .predict_proba(y)
        for x, y in (
            (support, query),
            (support.astype("float32"), query.astype("float32")),
        )
    )
    np.testing.assert_array_equal(found, expected)
    Gallery(identity, embedded=True).enroll(support, NAMES)


def test_embeddings_whose_squares_overflow_are_refused(identity):
    classifier = FewShotClassifier(identity, embedded=True)
    large = 1e149 * points(7).astype(float)
    fitted = classifier.fit(large, NAMES)
    assert (
        fitted.predict(large).tolist()
        == FewShotClassifier(identity, embedded=True)
        .fit(points(7), NAMES)
        .predict(points(7))
        .tolist()
    )
    with pytest.raises(ValueError, match=r"up to 1e\+150; received .*e\+15"):
        classifier.fit(1e3 * large, NAMES)
    with pytest.raises(ValueError, match=r"up to 1e\+150; received .*e\+15"):
        Gallery(identity, embedded=True).enroll(1e3 * large, NAMES)


@pytest.mark.parametrize("dtype", ["int8", "int64", "float16"])
def test_embeddings_of_another_type_have_the_same_probabilities(dtype):
    """The mean of a class of integers may be a fraction."""
    encoder = keras.Sequential([keras.Input((1,)), keras.layers.Identity()])
    classifier = FewShotClassifier(encoder, embedded=True)
    support = np.array([[0], [1], [9]], dtype)
    classifier.fit(support, ["a", "a", "b"])
    found = classifier.predict_proba(np.array([[5]], dtype))
    expected = special.softmax([[-((5 - 0.5) ** 2), -((5 - 9) ** 2)]], axis=1)
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("scale", [1.0, 1e-4, 1e-15])
def test_the_nearest_class_wins_however_small_embeddings_are(dtype, scale):
    """Probabilities of the classes are equal after rounding."""
    encoder = keras.Sequential(
        [keras.Input((2,), dtype=dtype), keras.layers.Identity(dtype=dtype)]
    )
    x = tf.cast(scale * np.array([[0, 0], [1, 0], [0, 1]]), dtype)
    classifier = FewShotClassifier(encoder).fit(x, ["a", "b", "c"])
    assert classifier.predict(x).tolist() == ["a", "b", "c"]
    np.testing.assert_allclose(classifier.predict_proba(x).sum(1), 1, 1e-6)


@pytest.mark.parametrize("embedded", [False, True])
@pytest.mark.parametrize(
    "objective",
    [StochasticPrototypes(1, initial_noise_variance=1.0), HedgedInstances(4)],
    ids=lambda objective: objective.name,
)
def test_negative_variances_are_refused(objective, embedded):
    """Their probabilities are NaN, and the largest NaN is the first class."""
    encoder = keras.Sequential([keras.Input((2,)), keras.layers.Identity()])
    model = EmbeddingModel(encoder, objective, gaussian=True)
    good = np.array([[0, 0.5], [5, 0]], "float32")
    bad = np.array([[5, 0.5], [5, -0.25]], "float32")
    message = "1 has the negative variance -0.25; .*GaussianEmbedding"
    classifier = FewShotClassifier(model, embedded=embedded)
    classifier.fit(good, ["a", "b"])
    gallery = Gallery(model, embedded=embedded).enroll(good, ["a", "b"])
    for use in (
        lambda: classifier.fit(bad, ["a", "b"]),
        lambda: classifier.predict(bad),
        lambda: classifier.predict_proba(bad),
        lambda: classifier.predict_log_evidence(bad),
        lambda: gallery.enroll(bad, ["a", "b"]),
        lambda: gallery.identify(bad),
        lambda: gallery.calibrate(bad, ["c", "d"]),
        lambda: embed(model, bad) if not embedded else gallery.predict(bad),
    ):
        with pytest.raises(ValueError, match=message):
            use()
    assert gallery.identify(good)["answer"].tolist() == ["a", "b"]


@pytest.mark.parametrize("use", ["fitted", "saved and loaded"])
def test_class_means_between_two_float32_numbers(use, tmp_path):
    """Above 2^24, float32 has the even numbers only."""
    far = 2.0**24
    encoder = keras.Sequential([keras.Input((3,)), keras.layers.Identity()])
    first = far + np.array([2, 4, -1, 0])
    support = np.stack([first, 0 * first, 0 * first], axis=1).astype("float32")
    classifier = FewShotClassifier(encoder, embedded=True)
    classifier.fit(support, [0, 0, 1, 1])
    if use == "saved and loaded":
        classifier.save(tmp_path / "classifier.keras")
        classifier = keras.saving.load_model(tmp_path / "classifier.keras")
    found = classifier.predict_proba(support[:1])
    # The means are at 3 and -1/2, the query at 2.
    expected = special.softmax([-((2 - 3) ** 2), -((2 + 0.5) ** 2)])
    np.testing.assert_allclose(found[0], expected, rtol=1e-5)
