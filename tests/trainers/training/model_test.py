"""The model of a run."""

import dataclasses
import types

import keras
import numpy as np
import pytest

from tests.models.networks import write_networks
from trainers.config import load_recipe
from trainers.training.model import build_model
from trainers.training.model import untrained_model


@pytest.mark.parametrize(
    ("rate", "freeze_encoder", "trains"),
    [(0, False, False), (0.1, False, True), (0.1, True, False)],
)
def test_a_frozen_network_stays_frozen(rate, freeze_encoder, trains, tmp_path):
    fields = [
        "encoder.name=backbone_encoder",
        f"encoder.backbone={write_networks(tmp_path)}:network",
        "encoder.dim=3",
        "encoder.weights=None",
        "encoder.image_shape=(9, 9, 3)",
        f"encoder.learning_rate_factor={rate}",
    ]
    run = load_recipe("omniglot_retrieval_triplet", fields)
    training = dataclasses.replace(run.training, freeze_encoder=freeze_encoder)
    run = dataclasses.replace(run, training=training)
    model = build_model(run)
    assert model.get_layer("network").weights
    assert bool(model.get_layer("network").trainable_weights) == trains
    assert bool(model.get_layer("embedding").trainable_weights) != (
        freeze_encoder
    )


@pytest.mark.parametrize("precision", ["float32", "mixed_bfloat16"])
@pytest.mark.parametrize("piece_size", [0, 40])
def test_an_untrained_model_standardises_features(precision, piece_size):
    """One column is in another unit; distances are not only of this column."""
    fields = [
        "encoder.name=features_encoder",
        "encoder.num_features=3",
        "encoder.dim=2",
        f"precision={precision}",
        f"piece_size={piece_size}",
    ]
    run = load_recipe("omniglot_retrieval_triplet", fields)
    x = np.random.default_rng(0).normal(size=(40, 3)) * [1, 1e6, 1]
    x = x.astype("float32")
    trained = build_model(run)
    for _ in range(50):
        trained(x, training=True)
    data = types.SimpleNamespace(num_classes=5)
    found = untrained_model(run, data, trained)
    keras.utils.set_random_seed(run.training.seed)
    fresh = build_model(run)
    scaled = (x - x.mean(axis=0)) / x.std(axis=0)
    expected = fresh.predict(scaled, verbose=0)
    tolerance = 1e-2 if precision == "float32" else 5e-2
    np.testing.assert_allclose(
        found.predict(x, verbose=0), expected, atol=tolerance
    )
