"""Losses that compare points refuse the output of `GaussianEmbedding`."""

import keras
import numpy as np
import pytest

from embeddings_tf import losses
from embeddings_tf.layers import GaussianEmbedding

LOSSES = [
    losses.FStatisticLoss(),
    losses.TripletLoss(),
    losses.HistogramLoss(),
    losses.BinomialDevianceLoss(),
    losses.LiftedStructureLoss(),
    losses.ContrastiveLoss(),
    losses.PrototypicalLoss(2),
]
X = np.random.default_rng(0).normal(size=(12, 4)).astype("float32")
LABELS = np.arange(12) % 3


def model(loss, *, nested=False, jit_compile=False):
    layers = [keras.layers.Dense(3), GaussianEmbedding(2)]
    if nested:
        layers = [keras.Sequential(layers)]
    model = keras.Sequential([keras.Input((4,)), *layers])
    model.compile("sgd", loss=loss, jit_compile=jit_compile)
    return model


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
class TestRefused:
    @pytest.mark.parametrize("use", ["fit", "evaluate"])
    def test_in_plain_keras(self, loss, use):
        with pytest.raises(ValueError, match="compares points"):
            getattr(model(loss), use)(X, LABELS, verbose=0)

    def test_called(self, loss):
        with pytest.raises(ValueError, match="compares points"):
            loss(LABELS, GaussianEmbedding(2)(X))


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("jit_compile", [False, True])
def test_nested_and_compiled(nested, jit_compile):
    with pytest.raises(ValueError, match="compares points"):
        model(losses.TripletLoss(), nested=nested, jit_compile=jit_compile).fit(
            X, LABELS, verbose=0
        )


def test_means_are_points():
    mean = GaussianEmbedding(2)(X)[:, :2]
    assert np.isfinite(losses.TripletLoss()(LABELS, mean))
