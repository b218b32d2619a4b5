"""How the embeddings of every objective and loss are used."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from scipy import special
from scipy import stats

from embeddings_tf import layers
from embeddings_tf import losses
from embeddings_tf import objectives
from embeddings_tf.models import BetaVAE
from embeddings_tf.models import EmbeddingModel
from embeddings_tf.models import FewShotClassifier
from embeddings_tf.models import has_gaussian_output
from embeddings_tf.models import sprites_decoder
from embeddings_tf.models import sprites_encoder
from embeddings_tf.models.method import Method

CLASS_IDS = np.array([0, 1, 2, 0, 1, 1])
SEED = tf.constant([3, 4])


def rows(count, seed=0):
    """Two columns of points, and two positive columns as variances."""
    rng = np.random.default_rng(seed)
    return np.hstack(
        [rng.normal(size=(count, 2)), rng.uniform(0.1, 1, size=(count, 2))]
    ).astype("float32")


def identity():
    return keras.Sequential([keras.Input((4,)), keras.layers.Identity()])


def joined(objective):
    keras.utils.set_random_seed(0)
    gaussian = getattr(objective, "is_gaussian", False)
    return EmbeddingModel(identity(), objective, gaussian=gaussian)


def compiled(loss):
    model = identity()
    model.compile("adam", loss=loss)
    return model


class OnlyPairs(keras.layers.Layer):
    """Implements only an asymmetric score of pairs."""

    signatures = ("score_pairs",)

    def build(self, y_true_shape, y_pred_shape):
        pass

    def call(self, y_true, y_pred):
        return tf.reduce_sum(y_pred, axis=-1)

    def score_pairs(self, first, second):
        return tf.reduce_sum(first - 2 * second, axis=-1)


MODELS = {
    "prototypes": lambda: joined(objectives.StochasticPrototypes(2)),
    "hedged": lambda: joined(objectives.HedgedInstances(3)),
    "soft contrastive": lambda: joined(objectives.SoftContrastive()),
    "distance": lambda: joined(
        objectives.LearnedDistance(layers.PairDistance((8,), seed=1))
    ),
    "triplet": lambda: compiled(losses.TripletLoss()),
    "triplet in pieces": lambda: joined(losses.TripletLoss()),
    "cosine": lambda: compiled(losses.TripletLoss(distance="cosine")),
    "histogram": lambda: compiled(losses.HistogramLoss()),
    "not compiled": identity,
    "a name": lambda: compiled("mse"),
    "own": lambda: joined(OnlyPairs()),
}


@pytest.mark.parametrize("name", [name for name in MODELS if name != "own"])
def test_pairs_of_two_lengths(name):
    """A single row is not compared with every row of the other set."""
    method = Method(MODELS[name]())
    in_graph = tf.function(
        method.score_pairs,
        input_signature=[tf.TensorSpec([None, 4])] * 2,
        autograph=False,
    )
    assert in_graph(rows(5), rows(5)).shape == (5,)
    for pair in ((rows(1), rows(5)), (rows(5), rows(1)), (rows(3), rows(5))):
        with pytest.raises(ValueError, match="row by row; received"):
            method.score_pairs(*pair)
        with pytest.raises(
            tf.errors.InvalidArgumentError, match="compared row by row"
        ):
            in_graph(*pair)


@pytest.mark.parametrize(
    "method",
    [
        objectives.StochasticPrototypes(2),
        objectives.HedgedInstances(3),
        objectives.SoftContrastive(),
        objectives.LearnedDistance(layers.PairDistance((8,), seed=1)),
        Method(compiled(losses.TripletLoss())),
    ],
    ids=lambda method: type(method).__name__,
)
def test_arguments_have_one_name(method):
    """Objectives take the names of arguments that `Method` has."""
    method.represent(embeddings=rows(3), class_ids=[0, 1, 1], num_classes=2)
    scores = method.score_pairs(first=rows(3), second=rows(3, 1))
    assert scores.shape == (3,)


@pytest.mark.parametrize("score", ["score_pairs", "score_all_pairs"])
def test_pairs_of_two_widths(score):
    method = Method(MODELS["triplet"]())
    with pytest.raises(ValueError, match="the same width"):
        getattr(method, score)(rows(3), rows(3)[:, :1])


@pytest.fixture(params=MODELS)
def method(request):
    return Method(MODELS[request.param]())


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("prototypes", "stochastic_prototypes"),
        ("own", "only_pairs"),
        ("triplet", "triplet_loss"),
        ("triplet in pieces", "triplet_loss"),
        ("not compiled", "not stated"),
        ("a name", "mse"),
    ],
)
def test_name(model, expected):
    assert Method(MODELS[model]()).name == expected


@pytest.mark.parametrize(
    ("loss", "expected"),
    [
        (keras.losses.mean_squared_error, "mean_squared_error"),
        ("MeanSquaredError", "mean_squared_error"),
        (["mse"], "mse"),
        (None, "not stated"),
    ],
)
def test_name_of_a_loss_of_keras(loss, expected):
    assert Method(compiled(loss)).name == expected


@pytest.mark.parametrize(
    "loss",
    [[losses.HistogramLoss()], {"embedding": losses.HistogramLoss()}],
    ids=["list", "dictionary"],
)
def test_the_only_loss_of_a_list_is_the_loss(loss):
    dense = keras.layers.Dense(2, name="embedding")
    model = keras.Sequential([keras.Input((3,)), dense])
    model.compile(loss=loss)
    assert Method(model).distance == "cosine"
    assert Method(model).name == "histogram_loss"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("FStatisticLoss", "f_statistic_loss"),
        ("PLDA", "plda"),
        ("BetaVAE", "beta_vae"),
        ("SGDWithL2", "sgd_with_l2"),
    ],
)
def test_words_of_a_name(name, expected):
    def loss(y_true, y_pred):
        return y_pred

    loss.__name__ = name
    assert Method(compiled(loss)).name == expected


def test_evidence_of_one_support_is_the_score_of_the_pair(method):
    if method.name == "only_pairs":
        pytest.skip("its score says nothing about classes")
    first, second = rows(4), rows(4, 1)
    scores = method.score_pairs(first, second, seed=SEED)
    assert scores.shape == (4,)
    for row in range(4):
        represented = method.represent(second[row : row + 1], [0], 1)
        evidence = method.log_evidence(
            first[row : row + 1], represented, seed=SEED
        )
        np.testing.assert_allclose(evidence, scores[row : row + 1], rtol=1e-5)


def test_scores_of_all_pairs_are_those_of_pairs(method):
    first, second = rows(4), rows(3, 1)
    every = method.score_all_pairs(first, second, seed=SEED)
    assert every.shape == (4, 3)
    for column in range(3):
        others = np.repeat(second[column : column + 1], 4, axis=0)
        np.testing.assert_allclose(
            every[:, column],
            method.score_pairs(first, others, seed=SEED),
            rtol=1e-4,
            atol=1e-5,
        )


def test_evidence_falls_far_from_every_class(method):
    """Although probabilities still sum to 1."""
    if method.name in ("learned_distance", "only_pairs"):
        pytest.skip("an untrained network has no far and near")
    supports = rows(6)
    supports[:, :2] = [[5, 0], [0, 5], [5, 5]] * 2
    far = rows(1)
    far[:, :2] = -50
    represented = method.represent(supports, CLASS_IDS, 3)
    near, unknown = (
        method.log_evidence(query, represented, seed=SEED)[0]
        for query in (supports[:1], far)
    )
    assert near > unknown
    log_prob = method.log_prob(far, represented, 50, SEED)
    assert np.exp(log_prob).sum() == pytest.approx(1, abs=1e-5)


class TestStochasticPrototypes:
    def test_evidence_by_scipy(self):
        model = MODELS["prototypes"]()
        objective = model.objective
        noise = float(objective.noise_variance)
        supports, queries = rows(6), rows(3, 1)
        packed = objective.prototypes(supports, CLASS_IDS, 3).numpy()
        densities = [
            [
                stats.multivariate_normal.logpdf(
                    query[:2],
                    prototype[:2],
                    query[2:] + prototype[2:] + noise,
                )
                for prototype in packed
            ]
            for query in queries
        ]
        np.testing.assert_allclose(
            objective.log_evidence(queries, packed),
            special.logsumexp(densities, axis=1) - np.log(3),
            rtol=1e-4,
        )

    def test_it_is_the_mean_over_samples_of_the_classes_densities(self):
        """The denominator of the probabilities, with many samples."""
        objective = MODELS["prototypes"]().objective
        noise = float(objective.noise_variance)
        packed = objective.prototypes(rows(6), CLASS_IDS, 3).numpy()
        query = rows(1, 1)[0]
        rng = np.random.default_rng(0)
        z = query[:2] + np.sqrt(query[2:]) * rng.normal(size=(200_000, 2))
        density = np.mean(
            [
                stats.multivariate_normal.pdf(z, p[:2], p[2:] + noise)
                for p in packed
            ],
            axis=0,
        )
        np.testing.assert_allclose(
            objective.log_evidence(query[None], packed)[0],
            np.log(density.mean()),
            atol=0.01,
        )

    @pytest.mark.parametrize("scale", [1e15, 1e19, 1e38])
    def test_finite(self, scale):
        objective = MODELS["prototypes"]().objective
        support, query = rows(3), rows(3, 1)
        support[:, :2] *= scale
        query[:, :2] *= -scale
        packed = objective.prototypes(support, [0, 1, 2], 3)
        assert np.isfinite(objective.log_evidence(query, packed)).all()
        assert np.isfinite(objective.score_pairs(query, support)).all()


class TestHedgedInstances:
    def test_evidence_by_loop(self):
        objective = MODELS["hedged"]().objective
        supports, queries = rows(6), rows(3, 1)
        logits = objective.score_all_pairs(queries, supports, seed=SEED).numpy()
        best = [
            [max(row[CLASS_IDS == label]) for label in range(3)]
            for row in logits
        ]
        np.testing.assert_allclose(
            objective.log_evidence(queries, supports, CLASS_IDS, 3, seed=SEED),
            np.log(np.exp(best).mean(axis=1)),
            rtol=1e-4,
            atol=1e-5,
        )

    def test_logits_are_sure_on_both_sides(self):
        """Finite even if a probability rounds to 1 in float64."""
        objective = MODELS["hedged"]().objective
        objective.offset.assign(60.0)
        objective.raw_scale.assign(40.0)
        x = np.array([[0, 0, 1e-8, 1e-8], [9, 0, 1e-8, 1e-8]], "float32")
        np.testing.assert_allclose(
            objective.score_all_pairs(x, x, seed=SEED),
            [[60, 60 - 360], [60 - 360, 60]],
            rtol=1e-3,
        )


class TestLearnedDistance:
    def test_evidence_by_loop(self):
        model = MODELS["distance"]()
        distance = model.objective.distance
        supports, queries = rows(6), rows(3, 1)
        ratio = np.zeros((3, 3))
        for i, query in enumerate(queries):
            for label in range(3):
                own = supports[CLASS_IDS == label]
                ratio[i, label] = np.mean(
                    [distance((query[None], one[None])) for one in own]
                )
        np.testing.assert_allclose(
            model.objective.log_evidence(queries, supports, CLASS_IDS, 3),
            np.log(np.exp(ratio).mean(axis=1)),
            rtol=1e-4,
            atol=1e-5,
        )


class TestPlainLosses:
    def test_squared_distances_by_loop(self):
        method = Method(MODELS["triplet"]())
        supports, queries = rows(6), rows(3, 1)
        scores = [
            [
                -np.sum((q - supports[CLASS_IDS == c].mean(axis=0)) ** 2)
                for c in range(3)
            ]
            for q in queries
        ]
        means = method.represent(supports, CLASS_IDS, 3)
        np.testing.assert_allclose(
            method.log_prob(queries, means),
            special.log_softmax(scores, axis=1),
            rtol=1e-4,
        )
        np.testing.assert_allclose(
            method.log_evidence(queries, means),
            special.logsumexp(scores, axis=1) - np.log(3),
            rtol=1e-4,
        )

    @pytest.mark.parametrize("name", ["cosine", "histogram"])
    def test_losses_of_cosines_ignore_lengths(self, name):
        """A long embedding does not dominate the class mean."""
        model = MODELS[name]()
        support = np.array(
            [[1, 0, 0, 0], [100, 100, 0, 0], [0, 1, 0, 0]], "float32"
        )
        classifier = FewShotClassifier(model).fit(support, ["a", "a", "b"])
        query = np.array([[3, 1, 0, 0], [0.01, 0.02, 0, 0]], "float32")
        assert classifier.predict(query).tolist() == ["a", "b"]
        by_length = FewShotClassifier(identity()).fit(support, ["a", "a", "b"])
        assert by_length.predict(query).tolist() == ["b", "b"]
        assert Method(model).distance == "cosine"

    def test_the_distance_is_saved_with_a_classifier(self, tmp_path):
        model = MODELS["cosine"]()
        support = np.eye(4, dtype="float32")[:2]
        FewShotClassifier(model).fit(support, ["a", "b"]).save(
            tmp_path / "classifier.keras"
        )
        loaded = keras.saving.load_model(tmp_path / "classifier.keras")
        assert Method(loaded.model).distance == "cosine"

    def test_gaussians_are_compared_by_their_means(self):
        encoder = keras.Sequential(
            [keras.Input((4,)), layers.GaussianEmbedding(2)]
        )
        method = Method(encoder)
        first, second = rows(3), rows(3, 1)
        assert method.is_gaussian
        np.testing.assert_allclose(
            method.score_pairs(first, second),
            -((first - second)[:, :2] ** 2).sum(axis=1),
            rtol=1e-5,
        )
        np.testing.assert_array_equal(method.points(first), first[:, :2])


def test_what_each_method_says_of_itself():
    said = {name: Method(make()) for name, make in MODELS.items()}
    assert {n: m.signatures for n, m in said.items()} == {
        "prototypes": ("classify",),
        "hedged": ("classify", "score_pairs"),
        "soft contrastive": ("classify", "score_pairs"),
        "distance": ("score_pairs",),
        "triplet": ("classify",),
        "triplet in pieces": ("classify",),
        "cosine": ("classify",),
        "histogram": ("classify",),
        "not compiled": ("classify",),
        "a name": ("classify",),
        "own": ("score_pairs",),
    }
    assert [n for n, m in said.items() if m.pairs_take_seed] == ["hedged"]
    assert set(said["prototypes"].diagnostics()) == {"noise_variance"}
    assert said["hedged"].diagnostics() == {
        "scale": pytest.approx(1),
        "offset": 0,
    }
    assert said["soft contrastive"].diagnostics() == {
        "scale": pytest.approx(1),
        "offset": 0,
    }
    assert said["triplet"].diagnostics() == {}
    assert list(said["distance"].reusable_layers()) == ["learned distance"]
    assert said["distance"].name == "learned_distance"


def test_an_objective_that_answers_half_is_told_what_is_missing():
    class Half(OnlyPairs):
        def represent(self, embeddings, class_ids, num_classes):
            return embeddings

    method = Method(joined(Half()))
    with pytest.raises(ValueError, match="Half.log_prob.embeddings, .represe"):
        method.log_prob(rows(1), rows(1))


def test_unknown_signatures_are_refused():
    objective = OnlyPairs()
    for wrong in ("classify", ("identify",)):
        objective.signatures = wrong
        with pytest.raises(ValueError, match="'classify' and 'score_pairs'"):
            Method(joined(objective)).signatures  # noqa: B018


def test_a_vae_gives_points_and_makes_images():
    model = BetaVAE(
        sprites_encoder(2, gaussian=True, width=8), sprites_decoder(2, width=8)
    )
    assert not has_gaussian_output(model)
    code = np.zeros((3, 2), "float32")
    logits = model.decoder(code).numpy()
    np.testing.assert_allclose(
        model.decode(code), 255 * special.expit(logits), rtol=1e-5
    )


def test_a_last_layer_of_the_user_says_that_it_gives_gaussians():
    class Mine(keras.layers.Layer):
        gaussian = True

        def call(self, x):
            return tf.abs(x)

    encoder = keras.Sequential([keras.Input((4,)), Mine()])
    assert has_gaussian_output(encoder)
    objective = objectives.StochasticPrototypes(2)
    assert EmbeddingModel(encoder, objective).gaussian
