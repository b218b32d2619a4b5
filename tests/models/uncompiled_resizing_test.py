"""Models that resize are trained without XLA, which cannot compile them."""

import keras
import numpy as np
import pytest

from embeddings_tf import losses
from embeddings_tf import models


def omniglot():
    encoder = models.omniglot_encoder(2, image_shape=(30, 30, 1))
    return models.EmbeddingModel(encoder, losses.TripletLoss())


def sprites():
    encoder = models.sprites_encoder(2, gaussian=True, width=4)
    return models.BetaVAE(encoder, models.sprites_decoder(2, width=4))


@pytest.mark.parametrize("make", [omniglot, sprites])
def test_a_request_for_xla_is_declined_with_a_warning(make):
    model = make()
    with pytest.warns(UserWarning, match="jit_compile"):
        model.compile("sgd", jit_compile=True)
    assert not model.jit_compile


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "shape"), [(omniglot, (6, 30, 30, 1)), (sprites, (6, 60, 60, 3))]
)
@pytest.mark.filterwarnings("ignore:Model doesn't support")
def test_they_train_where_keras_would_compile(make, shape, tmp_path):
    make().save(tmp_path / "model.keras")
    model = keras.saving.load_model(tmp_path / "model.keras")
    model.compile("sgd", jit_compile=True)
    x = np.random.default_rng(0).integers(0, 256, shape).astype("uint8")
    loss = model.train_on_batch(x, np.repeat([0, 1], 3))
    assert np.isfinite(loss).all()
