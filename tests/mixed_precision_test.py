"""Half-precision models in use: saved, loaded, exported.

`conformance_test.py` checks that every loss and objective trains under both
policies.
"""

import keras
import numpy as np
import pytest
import tensorflow as tf
from scipy import special

from embeddings_tf import layers
from embeddings_tf import models
from embeddings_tf import objectives
from embeddings_tf import scoring
from embeddings_tf.export import export_saved_model
from embeddings_tf.losses import TripletLoss

SHAPE = (8, 8, 1)
LABELS = np.repeat(np.arange(3), 4).astype("int32")
X = np.random.default_rng(0).uniform(0, 255, (12, *SHAPE)).astype("float32")


@pytest.fixture(params=["mixed_bfloat16", "mixed_float16"])
def policy(request):
    keras.config.set_dtype_policy(request.param)
    yield request.param
    keras.config.set_dtype_policy("float32")


def stochastic_prototypes():
    encoder = models.n_digit_encoder(2, image_shape=SHAPE)
    return models.EmbeddingModel(encoder, objectives.StochasticPrototypes(2))


def triplets_in_pieces():
    """A plain loss as the objective; its `distance` is a name."""
    encoder = models.mnist_encoder(2, image_shape=SHAPE)
    return models.EmbeddingModel(encoder, TripletLoss(), piece_size=5)


def learned_distance():
    encoder = models.mnist_encoder(2, image_shape=SHAPE)
    return models.EmbeddingModel(
        encoder,
        objectives.LearnedDistance(
            layers.PairDistance((8,)),
            num_classes=3,
            auxiliary="additive_margin",
            projection=models.x_vector_projection(4),
        ),
    )


ENCODERS = {
    "n_digit": lambda: models.n_digit_encoder(2, image_shape=SHAPE),
    "mnist": lambda: models.mnist_encoder(2, image_shape=SHAPE),
    "omniglot": lambda: models.omniglot_encoder(2, image_shape=(16, 16, 1)),
    "omniglot, Gaussian": lambda: models.omniglot_encoder(
        2, image_shape=(16, 16, 1), gaussian=True
    ),
    "colours": lambda: models.colour_orientation_encoder(2),
    "speech": lambda: models.x_vector_encoder(
        8, num_coefficients=4, channels=(8,) * 5
    ),
    "photographs": lambda: models.image_encoder(2, image_shape=SHAPE),
    "resnet18": lambda: models.cifar_resnet18_encoder(
        width=4, image_shape=(16, 16, 3)
    ),
}


@pytest.mark.parametrize("name", ENCODERS)
def test_embeddings_are_not_rounded(name):
    """A cast at the end would be too late: half precision has few numbers."""
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        encoder = ENCODERS[name]()
    finally:
        keras.config.set_dtype_policy("float32")
    shape = [size or 40 for size in encoder.input_shape[1:]]
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 255, (6, *shape)).astype("float32")
    embedding = encoder(x)
    assert embedding.dtype == tf.float32
    rounded = tf.cast(tf.cast(embedding, "bfloat16"), "float32")
    exact = np.mean((rounded == embedding) & (embedding != 0))
    assert exact < 0.2


@pytest.mark.slow
@pytest.mark.parametrize(
    "make", [stochastic_prototypes, learned_distance, triplets_in_pieces]
)
def test_saved_and_exported(make, policy, tmp_path):
    model = make()
    model.compile("adam")
    for _ in range(2):
        assert np.isfinite(model.train_on_batch(X, LABELS))
    half = policy.removeprefix("mixed_")
    assert model.encoder.layers[-2].compute_dtype == half
    assert model.encoder.layers[-1].compute_dtype == "float32"
    if make is learned_distance:
        objective = model.objective
        for layer in (objective.distance, objective.classifier):
            assert layer.compute_dtype == "float32"
    assert all(v.dtype == "float32" for v in model.trainable_variables)
    expected = model.predict(X, verbose=0)
    assert expected.dtype == np.float32

    model.save(tmp_path / "model.keras")
    # Loading does not need the policy.
    keras.config.set_dtype_policy("float32")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert type(loaded.optimizer) is type(model.optimizer)
    for one, other in zip(
        loaded.optimizer.variables, model.optimizer.variables, strict=True
    ):
        # The loss scale is one of the variables.
        np.testing.assert_array_equal(one, other)
    np.testing.assert_allclose(loaded.predict(X, verbose=0), expected)
    assert np.isfinite(loaded.train_on_batch(X, LABELS))

    served = tf.saved_model.load(export_saved_model(model, tmp_path / "served"))
    embed = served.signatures["serving_default"](tf.constant(X))
    assert embed["embedding"].dtype == tf.float32
    # TensorFlow may fuse operations on half-precision numbers.
    tolerance = {"rtol": 0.02, "atol": 0.02}
    np.testing.assert_allclose(embed["embedding"], expected[:, :2], **tolerance)
    if make is learned_distance:
        scores = served.signatures["score_pairs"](
            first=tf.constant(X), second=tf.constant(X[::-1].copy())
        )
        wanted = model.objective.distance((expected, expected[::-1]))
        np.testing.assert_allclose(scores["logit"], wanted, **tolerance)
    elif make is stochastic_prototypes:
        variance = embed["variance"]
        np.testing.assert_allclose(variance, expected[:, 2:], **tolerance)


@pytest.mark.slow
def test_embeddings_of_an_encoder_that_ends_in_half_precision(policy, tmp_path):
    """Scores are of the same embeddings in float32, also in the export."""
    encoder = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
    assert encoder.compute_dtype == policy.removeprefix("mixed_")
    x = np.random.default_rng(1).normal(size=(16, 3)).astype("float32")
    expected = np.asarray(tf.cast(encoder(x), tf.float32))
    embeddings = scoring.embed(encoder, x)
    assert embeddings.dtype == np.float32
    np.testing.assert_array_equal(embeddings, expected)

    means = expected[:12].reshape(3, 4, 2).mean(axis=1)
    square = np.sum((expected[12:, None] - means) ** 2, axis=-1)
    gallery = scoring.Gallery(encoder).enroll(
        x[:12], np.repeat(["a", "b", "c"], 4)
    )
    probability = gallery.predict_proba(x[12:])
    np.testing.assert_allclose(
        probability, special.softmax(-square, axis=1), rtol=1e-5
    )
    served = tf.saved_model.load(
        export_saved_model(encoder, tmp_path, gallery=gallery)
    )
    (name,) = served.signatures["identify"].structured_input_signature[1]
    found = served.signatures["identify"](**{name: tf.constant(x[12:])})
    answer = gallery.identify(x[12:])
    for column in ("probability", "score"):
        np.testing.assert_allclose(found[column], answer[column], rtol=1e-5)
