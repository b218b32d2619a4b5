"""A step of `EmbeddingModel` in pieces equals a step on the whole batch."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from embeddings_tf.layers import GaussianEmbedding
from embeddings_tf.losses import TripletLoss
from embeddings_tf.models import EmbeddingModel
from embeddings_tf.objectives import StochasticPrototypes

NUM_ROWS, NUM_FEATURES = 13, 6
X = np.random.default_rng(0).normal(size=(NUM_ROWS, NUM_FEATURES))
X = X.astype("float32")
LABELS = np.arange(NUM_ROWS) % 3


def new_model(piece_size, *hidden, objective=None, optimizer=None, **options):
    """A model with the same initial weights for all piece sizes."""
    keras.utils.set_random_seed(0)
    if objective is None:
        objective = StochasticPrototypes(2, seed=1)
    head = GaussianEmbedding(2)
    if isinstance(objective, keras.losses.Loss):
        head = keras.layers.Dense(4)
    encoder = keras.Sequential([keras.Input((NUM_FEATURES,)), *hidden, head])
    model = EmbeddingModel(encoder, objective, piece_size=piece_size)
    # The pieces are compiled, what they are compared with is not.
    options = {"run_eagerly": piece_size is None, **options}
    model.compile(optimizer or keras.optimizers.SGD(0.1), **options)
    return model


def dense_layers(**options):
    return [
        keras.layers.Dense(
            8,
            activation="tanh",
            kernel_initializer=keras.initializers.GlorotUniform(seed=0),
            **options,
        )
    ]


def trained(model, num_steps=3, y=LABELS):
    losses = [model.train_on_batch(X, y) for _ in range(num_steps)]
    return losses, model.get_weights()


def assert_equal_training(one, other, atol=1e-5):
    np.testing.assert_allclose(one[0], other[0], rtol=1e-5)
    for a, b in zip(one[1], other[1], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=atol)


class TestEquality:
    @pytest.mark.slow
    @pytest.mark.parametrize("piece_size", [5, 20])
    def test_regularisers_of_weights_and_activations_count_once(
        self, piece_size
    ):
        def model(piece_size):
            return new_model(
                piece_size,
                *dense_layers(
                    kernel_regularizer="l2", activity_regularizer="l1"
                ),
            )

        whole = model(None)
        whole(X, training=True)
        assert len(whole.losses) == 2 and min(whole.losses) > 0.01
        assert_equal_training(trained(model(piece_size)), trained(whole))

    @pytest.mark.slow
    def test_fit_with_metrics_and_a_last_batch_of_fewer_rows(self):
        def norm(y_true, y_pred):
            return tf.norm(y_pred, axis=-1)

        histories = []
        for piece_size in (None, 4):
            model = new_model(
                piece_size,
                *dense_layers(),
                objective=TripletLoss(),
                metrics=[norm],
            )
            history = model.fit(
                X, LABELS, batch_size=9, epochs=2, shuffle=False, verbose=0
            )
            logged = {"loss", "norm", "teachable_rows"}
            assert set(history.history) == logged
            histories.append([*history.history.values()])
        np.testing.assert_allclose(*histories, rtol=1e-5)

    @pytest.mark.slow
    def test_a_plain_loss_trains_as_with_compile(self):
        model = new_model(None, *dense_layers(), objective=TripletLoss())
        plain = keras.models.clone_model(model.encoder)
        plain.set_weights(model.encoder.get_weights())
        plain.compile(keras.optimizers.SGD(0.1), loss=TripletLoss())
        assert_equal_training(trained(model), trained(plain))
        weight = np.linspace(0, 2, NUM_ROWS)
        np.testing.assert_allclose(
            model.test_on_batch(X, LABELS, sample_weight=weight),
            plain.test_on_batch(X, LABELS, sample_weight=weight),
            rtol=1e-5,
        )

    def test_frozen_layers_stay(self):
        results = []
        for piece_size in (None, 5):
            (frozen,) = dense_layers(trainable=False)
            model = new_model(piece_size, frozen, run_eagerly=True)
            before = frozen.get_weights()
            results.append(trained(model))
            for a, b in zip(before, frozen.get_weights(), strict=True):
                np.testing.assert_array_equal(a, b)
        assert_equal_training(*results)

    @pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16"])
    def test_mixed_precision(self, policy):
        """The head and the sums over pieces are float32."""
        keras.config.set_dtype_policy(policy)
        try:
            expected, got = (
                trained(
                    new_model(piece_size, *dense_layers(), run_eagerly=True)
                )
                for piece_size in (None, 5)
            )
            if policy == "mixed_float16":
                assert isinstance(
                    new_model(5).optimizer, keras.optimizers.LossScaleOptimizer
                )
        finally:
            keras.config.set_dtype_policy("float32")
        np.testing.assert_allclose(got[0], expected[0], rtol=0.01)
        for a, b in zip(got[1], expected[1], strict=True):
            np.testing.assert_allclose(a, b, atol=0.01)

    @pytest.mark.slow
    def test_two_replicas(self, strategy):
        with strategy.scope():
            two = new_model(4, *dense_layers())
        one = new_model(None, *dense_layers())
        before = one.get_weights()
        for model in (one, two):
            # Six rows on each replica, in pieces of 4 and 2.
            model.fit(X[:12], LABELS[:12], batch_size=12, epochs=2, verbose=0)
        for a, b, start in zip(
            one.get_weights(), two.get_weights(), before, strict=True
        ):
            np.testing.assert_allclose(b, a, atol=1e-5)
            assert np.max(np.abs(a - start)) > 1e-4


class TestState:
    @pytest.mark.slow
    def test_noise_is_the_same_in_both_passes(self):
        """The update is the gradient with the noise of the first pass."""
        dropout = keras.layers.Dropout(0.5, seed=3)
        model = new_model(5, *dense_layers(), dropout)
        state = dropout.seed_generator.state
        samples = model.objective.seed_generator.state
        before, before_samples = state.numpy(), samples.numpy()
        weights = model.encoder.trainable_variables
        with tf.GradientTape() as tape:
            embeddings = tf.concat(
                [
                    model.encoder(X[first : first + 5], training=True)
                    for first in (0, 5, 10)
                ],
                axis=0,
            )
            value = model.objective(LABELS, embeddings)[0]
        after = state.numpy()
        gradients = tape.gradient(value, [v.value for v in weights])
        expected = [
            v.numpy() - 0.1 * g for v, g in zip(weights, gradients, strict=True)
        ]
        state.assign(before)
        samples.assign(before_samples)
        loss = model.train_on_batch(X, LABELS)
        np.testing.assert_allclose(loss, value, rtol=1e-5)
        for got, wanted in zip(weights, expected, strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-6)
        # Drawn once per piece, and not again for the gradient.
        np.testing.assert_array_equal(state, after)
        assert np.any(after != before)

    @pytest.mark.slow
    def test_batch_normalisation_is_updated_once_per_piece(self):
        layer = keras.layers.BatchNormalization(momentum=0.5)
        model = new_model(5, layer)
        model.train_on_batch(X, LABELS)
        expected = np.zeros(NUM_FEATURES)
        for first in (0, 5, 10):
            expected = expected / 2 + X[first : first + 5].mean(0) / 2
        np.testing.assert_allclose(layer.moving_mean, expected, rtol=1e-4)

    def test_noise_of_nobody_is_refused(self):
        class Noise(keras.layers.Layer):
            def call(self, inputs):
                return inputs + keras.random.normal(tf.shape(inputs))

        with pytest.raises(ValueError, match="SeedGenerator"):
            new_model(5, Noise()).train_on_batch(X, LABELS)

    @pytest.mark.slow
    def test_saving(self, tmp_path):
        model = new_model(5, *dense_layers(), objective=TripletLoss())
        model.train_on_batch(X, LABELS)
        model.save(tmp_path / "model.keras")
        loaded = keras.saving.load_model(tmp_path / "model.keras")
        assert loaded.piece_size == 5
        assert isinstance(loaded.objective, TripletLoss)
        assert_equal_training(trained(loaded), trained(model))

    @pytest.mark.slow
    def test_encoders_of_several_inputs(self):
        def model(piece_size):
            keras.utils.set_random_seed(0)
            inputs = {
                name: keras.Input((width,), name=name)
                for name, width in (("a", 2), ("b", 4))
            }
            x = keras.layers.Concatenate()([inputs["a"], inputs["b"]])
            encoder = keras.Model(inputs, GaussianEmbedding(2)(x))
            model = EmbeddingModel(
                encoder, StochasticPrototypes(2, seed=1), piece_size=piece_size
            )
            model.compile(keras.optimizers.SGD(0.1))
            return model

        x = {"a": X[:, :2], "b": X[:, 2:]}
        losses = []
        for piece_size in (None, 5):
            one = model(piece_size)
            losses.append([one.train_on_batch(x, LABELS) for _ in range(3)])
        np.testing.assert_allclose(*losses, rtol=1e-5)


@pytest.mark.parametrize("piece_size", [0, -1, 2.5, "8"])
def test_piece_size_is_a_number_of_rows(piece_size):
    with pytest.raises(ValueError, match="piece_size"):
        new_model(piece_size)


def test_batch_normalisation_over_replicas_is_refused(strategy):
    layer = keras.layers.BatchNormalization(synchronized=True)
    with strategy.scope():
        model = new_model(5, layer)
        with pytest.raises(ValueError, match="normalises the batch of all"):
            model.fit(X[:12], LABELS[:12], batch_size=12, verbose=0)


@pytest.mark.slow
@pytest.mark.parametrize("piece_size", [5, 20])
def test_sparse_inputs(piece_size):
    x = np.where(X > 0, X, 0)
    found = []
    for size, is_sparse in ((None, False), (piece_size, True)):
        keras.utils.set_random_seed(0)
        inputs = keras.Input((NUM_FEATURES,), sparse=is_sparse)
        model = EmbeddingModel(
            keras.Sequential([inputs, keras.layers.Dense(4)]),
            TripletLoss(),
            piece_size=size,
        )
        model.compile(keras.optimizers.SGD(0.1))
        data = tf.sparse.from_dense(x) if is_sparse else x
        losses = [model.train_on_batch(data, LABELS) for _ in range(2)]
        found.append((losses, model.get_weights()))
    assert_equal_training(*found)
