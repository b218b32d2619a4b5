"""The hash that distinguishes models."""

import keras
import numpy as np
import pytest

from embeddings_tf.layers import GaussianEmbedding
from embeddings_tf.layers import PairDistance
from embeddings_tf.losses import TripletLoss
from embeddings_tf.models import EmbeddingModel
from embeddings_tf.objectives import HedgedInstances
from embeddings_tf.objectives import LearnedDistance
from embeddings_tf.objectives import StochasticPrototypes
from embeddings_tf.scoring.fingerprint import fingerprint


def dense(activation="relu", dtype=None, units=3):
    layers = [
        keras.layers.Dense(units, activation, dtype=dtype),
        keras.layers.Dense(2, dtype=dtype),
    ]
    model = keras.Sequential([keras.Input((2,)), *layers])
    for weight in model.weights:
        weight.assign(np.ones(weight.shape))
    return model


def two_branches():
    x = keras.Input((2,))
    sides = keras.layers.Dense(3)(x), keras.layers.Dense(3, "tanh")(x)
    noisy = keras.layers.Dropout(0.1)(keras.layers.Add()(sides))
    return keras.Model(x, GaussianEmbedding(2)(noisy))


@keras.saving.register_keras_serializable(package="fingerprint_test")
class Subclassed(keras.Model):
    """A model with a configuration that says nothing of its layers."""

    def __init__(self, **options):
        super().__init__(**options)
        self.inner = keras.layers.Dense(2)

    def call(self, x):
        return self.inner(x)


def learned_distance():
    objective = LearnedDistance(PairDistance(hidden_units=(4,)))
    return EmbeddingModel(dense(), objective)


MODELS = {
    "sequential": dense,
    "half precision": lambda: dense(dtype="mixed_float16"),
    "functional": two_branches,
    "subclassed": Subclassed,
    "a plain loss": lambda: EmbeddingModel(dense(), TripletLoss()),
    "gaussian": lambda: EmbeddingModel(
        two_branches(), StochasticPrototypes(2), gaussian=True
    ),
    "hedged": lambda: EmbeddingModel(two_branches(), HedgedInstances(4)),
    "learned distance": learned_distance,
}


@pytest.mark.every_nth(3)
@pytest.mark.parametrize("name", MODELS)
def test_a_saved_model_keeps_its_fingerprint(name, tmp_path):
    model = MODELS[name]()
    model(np.ones((1, 2), "float32"))
    if isinstance(model, EmbeddingModel):
        model.compile("adam")
        x = np.random.default_rng(0).normal(size=(8, 2)).astype("float32")
        model.train_on_batch(x, np.repeat([0, 1], 4))
    before = fingerprint(model)
    model.save(tmp_path / "a.keras")
    loaded = keras.saving.load_model(tmp_path / "a.keras")
    assert fingerprint(loaded) == before
    loaded.trainable = False
    assert fingerprint(loaded) == before


def test_equal_weights_in_other_layers_differ():
    """Automatic names count up, and are no difference."""
    found = fingerprint(dense())
    assert fingerprint(dense()) == found
    others = [
        dense("tanh"),
        dense(dtype="mixed_float16"),
        dense(units=4),
        EmbeddingModel(dense(), TripletLoss()),
    ]
    for other in others:
        other(np.ones((1, 2), "float32"))
    assert len({found, *map(fingerprint, others)}) == 5


def test_other_weights_differ():
    """Such as of a model that was trained again."""
    model = dense()
    before = fingerprint(model)
    kernel = model.weights[0].numpy()
    kernel[1, 2] = 2
    model.weights[0].assign(kernel)
    assert fingerprint(model) != before
    model.weights[0].assign(np.ones(kernel.shape))
    assert fingerprint(model) == before


def test_layers_in_another_order_differ():
    def square(*activations):
        layers = [keras.layers.Dense(2, name) for name in activations]
        model = keras.Sequential([keras.Input((2,)), *layers])
        for weight in model.weights:
            weight.assign(np.ones(weight.shape))
        return model

    one, other = square("relu", "tanh"), square("tanh", "relu")
    assert fingerprint(one) != fingerprint(other)


def test_a_layer_without_configuration():
    class Own(keras.layers.Layer):
        def __init__(self, function):
            super().__init__()
            self.function = function

        def call(self, x):
            return self.function(x)

    layer = Own(np.square)
    with pytest.raises(NotImplementedError):
        layer.get_config()
    model = keras.Sequential([keras.Input((2,)), layer])
    assert len(fingerprint(model)) == 16


def test_a_model_that_was_trained_on_replicas():
    """Synchronised batch normalisation embeds as the ordinary one does."""
    model = keras.Sequential(
        [keras.Input((2,)), keras.layers.BatchNormalization()]
    )
    alone = fingerprint(model)
    model.layers[0].synchronized = True
    assert model.layers[0].get_config()["synchronized"] is True
    assert fingerprint(model) == alone
