import keras
import numpy as np
import pytest

from embeddings_tf.layers import PairDistance
from embeddings_tf.models import EmbeddingModel
from embeddings_tf.models import x_vector_encoder
from embeddings_tf.models import x_vector_projection
from embeddings_tf.objectives import LearnedDistance


def test_number_of_weights():
    projection = x_vector_projection()
    projection.build((None, 512))
    assert projection.output_shape == (None, 256)
    assert projection.count_params() == (512 * 512 + 4 * 512 + (512 + 1) * 256)


def test_output_may_be_negative():
    x = np.random.default_rng(0).normal(size=(50, 6)).astype("float32")
    assert np.any(x_vector_projection(3)(x) < 0)


def test_initial_weights():
    projection = x_vector_projection(3)
    projection.build((None, 6))
    for layer, features in (
        (projection.layers[0], 6),
        (projection.layers[-1], 512),
    ):
        limit = 1 / np.sqrt(features)
        assert 0.98 * limit < np.abs(layer.kernel).max() <= limit
    assert not np.any(projection.layers[-1].bias)


@pytest.mark.slow
def test_trains_with_the_encoder_and_is_saved(tmp_path):
    objective = LearnedDistance(
        PairDistance((8,)),
        num_classes=3,
        auxiliary="additive_margin",
        projection=x_vector_projection(5),
    )
    encoder = x_vector_encoder(7, num_coefficients=4)
    model = EmbeddingModel(encoder, objective)
    model.compile(keras.optimizers.SGD(0.1))
    rng = np.random.default_rng(0)
    x = rng.normal(size=(6, 12, 4)).astype("float32")
    x[::2, 9:] = 0
    labels = np.repeat(np.arange(3), 2)
    before = [w.numpy() for w in model.trainable_weights]
    history = model.fit(x, labels, batch_size=6, verbose=0)
    assert np.isfinite(history.history["loss"]).all()
    for weight, old in zip(model.trainable_weights, before, strict=True):
        assert np.isfinite(weight).all(), weight.path
        assert np.any(weight.numpy() != old), weight.path
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    embeddings = model.predict(x, verbose=0)
    assert embeddings.shape == (6, 7)
    np.testing.assert_allclose(
        loaded.predict(x, verbose=0), embeddings, rtol=1e-5, atol=1e-7
    )
    np.testing.assert_allclose(
        loaded.objective.projection(embeddings),
        objective.projection(embeddings),
        rtol=1e-5,
        atol=1e-7,
    )


def test_float32_under_mixed_precision():
    policy = keras.config.dtype_policy()
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        projection = x_vector_projection(3)
        assert projection(np.ones((2, 6), "float32")).dtype == "float32"
    finally:
        keras.config.set_dtype_policy(policy)
