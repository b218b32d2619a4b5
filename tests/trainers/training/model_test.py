"""The model of a run."""

import dataclasses

import pytest

from tests.models.networks import write_networks
from trainers.config import load_recipe
from trainers.training.model import build_model


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
        f"encoder.rate={rate}",
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
