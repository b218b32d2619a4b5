import keras
import numpy as np
import pytest

from embeddings_tf.layers import DimensionDropout
from embeddings_tf.losses import FStatisticLoss
from embeddings_tf.models import EmbeddingModel
from embeddings_tf.models import prepare_for_replicas
from trainers.training.plain_copy import random_state

LABELS = np.repeat(np.arange(4), 6)


def images(rows=24, seed=0):
    return np.random.default_rng(seed).normal(size=(rows, 8)).astype("float32")


def encoder(rate=0.4, seed=5):
    dense = keras.layers.Dense(10, kernel_initializer="glorot_uniform")
    return keras.Sequential(
        [keras.Input((8,)), dense, DimensionDropout(rate, seed=seed)]
    )


def test_rows_drop_the_same_dimensions():
    layer, x = DimensionDropout(0.25, seed=0), images() + 10
    kept = []
    for _ in range(200):
        y = layer(x, training=True).numpy()
        is_kept = y[0] != 0
        expected = np.where(is_kept, x / 0.75, 0)
        np.testing.assert_allclose(y, expected, rtol=1e-6)
        kept.append(is_kept)
    # 1,600 draws; the tolerance is five standard deviations.
    assert abs(np.mean(kept) - 0.75) < 5 * np.sqrt(0.75 * 0.25 / 1600)
    assert len({tuple(row) for row in kept}) > 50


def test_without_training_nothing_happens():
    x = images()
    np.testing.assert_array_equal(DimensionDropout(0.9)(x), x)
    np.testing.assert_array_equal(DimensionDropout(0)(x, training=True), x)
    model = encoder()
    np.testing.assert_array_equal(model(x), model.layers[0](x))


def test_dropped_dimensions_have_no_gradient():
    model, x = encoder(), images()
    model.compile(keras.optimizers.SGD(1.0), FStatisticLoss(num_dims=2))
    before = model.layers[0].get_weights()[0]
    reference = DimensionDropout(0.4, seed=5)
    is_kept = reference(np.ones((1, 10), "float32"), training=True)[0] != 0
    model.train_on_batch(x, LABELS)
    change = np.abs(model.layers[0].get_weights()[0] - before).max(0)
    assert 0 < np.sum(is_kept) < 10
    np.testing.assert_array_equal(change[~is_kept], 0)
    assert change.max() > 1e-4


@pytest.mark.slow
def test_replicas_leave_out_the_same(strategy):
    """Two replicas take the same steps as one; the second is uneven."""
    x, labels = images(47), np.concatenate([LABELS, LABELS[:-1]])

    def train():
        model = prepare_for_replicas(encoder())
        model.compile(keras.optimizers.SGD(0.1), FStatisticLoss(num_dims=2))
        model.layers[0].set_weights(weights)
        model.fit(x, labels, batch_size=24, shuffle=False, verbose=0)
        return model.layers[0].get_weights()[0]  # the offset cannot change

    weights = encoder().layers[0].get_weights()
    alone = train()
    with strategy.scope():
        together = train()
    assert np.max(np.abs(alone - weights[0])) > 1e-3
    np.testing.assert_allclose(together, alone, atol=1e-6)


def test_a_loaded_model_goes_on_with_its_draws(tmp_path):
    """Only the state of the draws is set, which Keras does not save."""
    x = images()
    model = encoder(seed=None)
    model(x, training=True)
    model.save(tmp_path / "encoder.keras")
    loaded = keras.saving.load_model(tmp_path / "encoder.keras")
    state, loaded_state = random_state(model), random_state(loaded)
    assert len(state) == len(loaded_state) == 1
    loaded_state[0].assign(state[0])
    for _ in range(3):
        np.testing.assert_array_equal(
            loaded(x, training=True), model(x, training=True)
        )


@pytest.mark.parametrize("rate", [-0.1, 1, 1.5, np.nan, "0.5"])
def test_a_rate_is_a_probability_below_one(rate):
    with pytest.raises(ValueError, match="`rate` must be"):
        DimensionDropout(rate)


def test_pieces_are_refused():
    model = EmbeddingModel(encoder(), FStatisticLoss(), piece_size=5)
    model.compile("sgd")
    with pytest.raises(ValueError, match="in a whole batch"):
        model.fit(images(), LABELS, batch_size=24, verbose=0)
    model = EmbeddingModel(encoder(rate=0), FStatisticLoss(), piece_size=5)
    model.compile("sgd")
    model.fit(images(), LABELS, batch_size=24, verbose=0)
