"""Recipes of data that is not here: each builds its model without it."""

import keras
import numpy as np
import pytest

from trainers import model as model_module
from trainers.config import load_recipe
from trainers.config import recipe_names
from trainers.model import build_model

SETS = (
    "cars196_",
    "cifar_fs_",
    "cub200_learned",
    "imagenet_",
    "mini_imagenet_",
    "products_",
    "voxceleb_",
)
RECIPES = [name for name in recipe_names() if name.startswith(SETS)]
LABELS = np.array([0, 0, 1, 1])


@pytest.fixture(autouse=True)
def no_data(monkeypatch):
    """Labels of seven classes, and a stand-in for the pretrained network."""

    def small(include_top, weights, input_shape, pooling, name):
        assert (include_top, weights, pooling) == (False, "imagenet", "avg")
        return keras.Sequential(
            [
                keras.Input(input_shape),
                keras.layers.AveragePooling2D(56),
                keras.layers.Flatten(),
            ],
            name=name,
        )

    monkeypatch.setattr(keras.applications, "ResNet50", small)
    monkeypatch.setattr(
        model_module, "load", lambda *_: (None, np.arange(70) % 7)
    )


def test_which_recipes_there_are():
    assert len(RECIPES) == 14


@pytest.mark.parametrize("name", RECIPES)
def test_builds_without_data(name):
    config = load_recipe(name)
    model = build_model(config)
    encoder = getattr(model, "encoder", model)
    sides = [size or 20 for size in encoder.input_shape[1:]]
    x = np.random.default_rng(0).uniform(0, 255, (4, *sides))
    embeddings = encoder(x.astype("float32"), training=False)
    objective = getattr(model, "objective", None) or model.loss
    loss = np.asarray(objective(LABELS, embeddings))
    assert np.isfinite(loss).all() and loss.min() >= 0
    if name.endswith("without_auxiliary"):
        assert "auxiliary" not in config.objective
    elif "objective" in config:
        assert model.objective.num_classes == 7
    # What the schedule starts from and what it comes to.
    schedule = model.optimizer._learning_rate
    rates = [float(schedule(step)) for step in (0, 1_000, 2_000, 5_000)]
    assert min(rates) >= 0 and max(rates) > 0
    # Keras takes decay off beside the momentum: shrunk as much per step as
    # through it, in the long run.
    momentum = config.optimizer.momentum
    published = {"voxceleb": 1e-3, "mini": 1e-3, "cifar": 1e-3}.get(
        name.split("_")[0], 1e-4
    )
    if name.endswith("triplet"):
        published = 1e-4
    assert config.optimizer.weight_decay * (1 - momentum) == pytest.approx(
        published
    )


def test_depth_is_an_argument():
    config = load_recipe(
        "imagenet_learned_distance",
        ["objective.distance.hidden_units=(256,)"],
    )
    distance = build_model(config).objective.distance
    assert distance.hidden_units == [256]
