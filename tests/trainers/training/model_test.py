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

WITHOUT_WEIGHTS = """
import keras
from embeddings_tf.objectives import EmbeddingObjective


class Mean(EmbeddingObjective):
    def build(self, y_true_shape, y_pred_shape):
        pass

    def call(self, y_true, y_pred):
        return keras.ops.mean(y_pred, axis=1)
"""


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
    run = load_recipe("omniglot_retrieval_learned_distance", fields)
    training = dataclasses.replace(run.training, freeze_encoder=freeze_encoder)
    run = dataclasses.replace(run, training=training)
    model = build_model(run)
    encoder, distance = model.encoder, model.objective.distance
    assert encoder.get_layer("network").weights
    assert bool(encoder.get_layer("network").trainable_weights) == trains
    assert bool(encoder.get_layer("embedding").trainable_weights) != (
        freeze_encoder
    )
    assert distance.trainable_weights


def test_a_frozen_encoder_with_nothing_on_top_is_refused(tmp_path):
    code = tmp_path / "own.py"
    code.write_text(WITHOUT_WEIGHTS)
    run = load_recipe(
        "omniglot_retrieval_triplet",
        [
            f"method.name={code}:Mean",
            "freeze_encoder=True",
            "initial_weights=runs/x",
            "monitor=loss",
        ],
    )
    with pytest.raises(ValueError, match="leaves nothing to train"):
        build_model(run)


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


OWN = """
import keras
from embeddings_tf.objectives import EmbeddingObjective


@keras.saving.register_keras_serializable(package="model_test")
class Proxy(EmbeddingObjective):
    def __init__(self, num_classes=None, **kwargs):
        super().__init__(**kwargs)
        self.num_classes = num_classes

    def build(self, y_true_shape, y_pred_shape):
        shape = self.num_classes, y_pred_shape[-1]
        self.proxies = self.add_weight(name="proxies", shape=shape)

    def call(self, y_true, y_pred):
        proxies = keras.ops.take(self.proxies, y_true, axis=0)
        return keras.ops.sum((y_pred - proxies) ** 2, -1)

    def get_config(self):
        return {**super().get_config(), "num_classes": self.num_classes}


class Fixed(Proxy):
    def __init__(self, num_classes=3, **kwargs):
        super().__init__(num_classes, **kwargs)


class Forgetful(Proxy):
    def get_config(self):
        return EmbeddingObjective.get_config(self)
"""


def own_method(folder, name):
    file = folder / "own.py"
    file.write_text(OWN)
    fields = ["encoder.name=features_encoder", "encoder.num_features=4"]
    fields += ["encoder.dim=2", f"method.name={file}:{name}"]
    return load_recipe("omniglot_retrieval_triplet", fields)


@pytest.mark.parametrize(("name", "expected"), [("Proxy", 5), ("Fixed", 3)])
def test_an_own_objective_gets_the_number_of_classes(name, expected, tmp_path):
    run = own_method(tmp_path, name)
    model = build_model(run, num_classes=5)
    x = np.zeros((4, 4), "float32")
    model.fit(x, np.array([0, 0, 2, 2]), verbose=0)
    assert model.objective.proxies.shape == (expected, 2)
    model.save(tmp_path / "model.keras")
    again = keras.saving.load_model(tmp_path / "model.keras")
    assert again.objective.proxies.shape == (expected, 2)
    assert "num_classes" not in run.method.arguments


def test_an_objective_that_forgets_the_number_of_classes(tmp_path):
    with pytest.raises(ValueError, match="leaves out num_classes"):
        build_model(own_method(tmp_path, "Forgetful"), num_classes=5)


@pytest.mark.slow
def test_a_learned_distance_without_a_classifier_is_restored(tmp_path):
    fields = ["auxiliary=None", "projection=None", "seed=1"]
    run = load_recipe(
        "mnist_learned_distance", [f"objective.{field}" for field in fields]
    )
    model = build_model(run, num_classes=5)
    assert model.objective.classifier is None
    shape = model.encoder.input_shape[1:]
    x = np.random.default_rng(0).normal(size=(4, *shape)).astype("float32")
    model.fit(x, np.array([0, 0, 1, 1]), verbose=0)
    model.save(tmp_path / "model.keras")
    again = keras.saving.load_model(tmp_path / "model.keras")
    for a, b in zip(model.weights, again.weights, strict=True):
        np.testing.assert_array_equal(a, b)
