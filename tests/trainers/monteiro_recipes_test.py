"""Recipes of data that is not available: each builds its model."""

import keras
import numpy as np
import pytest

from trainers.config import load_recipe
from trainers.config.build import build
from trainers.config.load import recipe_names
from trainers.training.model import build_model

SETS = (
    "cars196_",
    "cifar10_",
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
def no_download(monkeypatch):
    """Replaces the pretrained network by a small one."""

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


def test_which_recipes_there_are():
    assert len(RECIPES) == 20


def of_prefix(*prefixes):
    return [name for name in recipe_names() if name.startswith(prefixes)]


@pytest.mark.parametrize(
    "name",
    of_prefix(
        "omniglot_verification_",
        "tiny_images_",
        "omniglot_retrieval_f_statistic_",
    ),
)
def test_methods_of_new_classes_have_a_value_for_every_example(name):
    run = load_recipe(name)
    method = run.method
    has_classifier = method.arguments.get("auxiliary")
    more = {"num_classes": 2} if has_classifier else {}
    made = build(method, "method", **more)
    embeddings = np.random.default_rng(0).normal(size=(4, 500))
    value = np.asarray(made(LABELS, embeddings.astype("float32")))
    assert np.isfinite(value).all()
    if "beside" in name or "triplet_classifier" in name:
        assert made.train_encoder is False and made.encoder_loss is not None
    if "frozen" in name:
        assert run.training.freeze_encoder and made.encoder_loss is None
        assert run.training.initial_weights == (
            f"runs/{name.replace('frozen', 'beside')}"
        )
    if "joint" in name:
        assert made.train_encoder and made.encoder_loss is not None


@pytest.mark.every_nth(3)
@pytest.mark.parametrize("name", RECIPES)
def test_builds_without_data(name):
    run = load_recipe(name)
    model = build_model(run, num_classes=7)
    encoder = getattr(model, "encoder", model)
    shape = 4, encoder.output_shape[-1]
    embeddings = np.random.default_rng(0).normal(size=shape).astype("float32")
    objective = getattr(model, "objective", None) or model.loss
    loss = np.asarray(objective(LABELS, embeddings))
    assert np.isfinite(loss).all() and loss.min() >= 0
    if name.endswith("without_auxiliary"):
        assert "auxiliary" not in run.method.arguments
    elif run.method.kind == "objective":
        assert model.objective.num_classes == 7
    # The published best values, and the rate at the end of the warm-up.
    rate, momentum, l2 = {
        "cifar": (0.01, 0.9, 1e-3),
        "cifar10": (0.01, 0.9, 1e-3),
        "mini": (0.01, 0.9, 1e-3),
        "voxceleb": (1.5 / 2_000**0.5, 0.95, 1e-3),
        "imagenet": (1e-3, 0.9, 1e-4),
    }.get(name.split("_")[0], (0.3 / 1_000**0.5, 0.9, 1e-4))
    baseline = name.removesuffix("_classifier")
    if baseline in ("cifar_fs_triplet", "mini_imagenet_triplet"):
        rate, l2 = 0.1, 1e-4
    if baseline == "cifar10_triplet":
        l2 = 1e-4
    if baseline != name and name.startswith(("cifar", "mini")):
        assert run.method.arguments["label_smoothing"] == 0.2
        assert run.evaluation.validation.score == "cosine"
    optimizer = model.optimizer
    assert (optimizer.momentum, optimizer.l2) == (momentum, l2)
    if name.startswith(("cifar", "mini")):
        assert float(optimizer.learning_rate) == pytest.approx(rate)
        assert run.training.plateau.patience == 10
    else:
        schedule = optimizer._learning_rate
        largest = max(float(schedule(step)) for step in (0, 999, 1_999))
        assert largest == pytest.approx(rate, rel=1e-5)


def test_depth_is_an_argument():
    run = load_recipe(
        "imagenet_learned_distance",
        ["objective.distance.hidden_units=(256,)"],
    )
    distance = build_model(run, num_classes=7).objective.distance
    assert distance.hidden_units == [256]
