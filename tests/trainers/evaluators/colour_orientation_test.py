"""Evaluation of colour and orientation, of a network written by hand."""

import dataclasses
import json

import keras
import numpy as np
import pytest

from embeddings_tf.datasets import ColourOrientation
from embeddings_tf.datasets.l_shapes import draw_l_shapes
from embeddings_tf.layers import GaussianEmbedding
from embeddings_tf.models import EmbeddingModel
from embeddings_tf.objectives import StochasticPrototypes
from trainers import train
from trainers.config import load_recipe
from trainers.data import data
from trainers.evaluators import colour_orientation
from trainers.evaluators import evaluator

RECIPE = "colour_orientation_stochastic_prototypes"


@keras.saving.register_keras_serializable(package="tests")
class ByHand(keras.layers.Layer):
    """Colour in dimension 0, orientation in 1, variance from the ink."""

    def call(self, images):
        red, green, blue = keras.ops.unstack(
            keras.ops.cast(images, "float32") / 255, axis=-1
        )
        ink = keras.ops.maximum(red, keras.ops.maximum(green, blue))
        area = keras.ops.sum(ink, axis=(1, 2))
        place = keras.ops.arange(64, dtype="float32") - 31.5
        colour = keras.ops.sum(green - red, axis=(1, 2)) / area
        orientation = keras.ops.sum(ink * place, axis=(1, 2)) / area / 10
        raw = [area / 400 - 5, keras.ops.sum(blue, axis=(1, 2)) / 50 - 5]
        return keras.ops.stack([colour, orientation, *raw], axis=1)


@pytest.fixture
def some(monkeypatch):
    """Small splits, and a model that tells the factors."""
    monkeypatch.setattr(
        data.datasets,
        "load",
        lambda name, split, *_, **__: (
            (x := ColourOrientation(200, {"train": 0, "test": 1}[split], 0.0)),
            x.labels,
        ),
    )
    run = load_recipe(RECIPE)
    wanted = dataclasses.replace(
        run.evaluation, num_support=20, num_samples=10, num_distorted=6
    )
    run = dataclasses.replace(run, evaluation=wanted)
    image = keras.Input((64, 64, 3))
    head = GaussianEmbedding(2, projection=False)
    encoder = keras.Model(image, head(ByHand()(image)))
    model = EmbeddingModel(encoder, StochasticPrototypes(2))
    return run, data.Data(run), model


@pytest.mark.slow
def test_what_is_measured(some, monkeypatch):
    monkeypatch.setattr(colour_orientation, "HUE_NOISES", (0.0, 40.0, 80.0))
    monkeypatch.setattr(colour_orientation, "LEGS", (1.0, 0.5))
    run, its_data, model = some
    assert evaluator(run) is colour_orientation
    colour_orientation.check(run, its_data)
    results, figures = colour_orientation.evaluate(run, its_data, model)
    assert set(figures) == {"embedding_test"}
    found = results["test"]
    x, labels = its_data.split("test")
    ideal = [
        2 * (abs(o - 135) < abs(o - 45)) + (abs(h - 135) < abs(h - 45))
        for o, h in zip(
            *((angle + 90) % 360 - 90 for angle in (x.orientation, x.hue)),
            strict=True,
        )
    ]
    assert found["ideal_accuracy"] == np.mean(np.array(ideal) == labels)
    assert found["accuracy"] > 0.85
    assert found["axis"] == {"orientation": 1, "colour": 0}

    # AUC by counting pairs of images.
    codes = model.predict(x[:], verbose=0)[:, :2]
    for name, factor in (
        ("orientation", labels // 2),
        ("colour", labels % 2),
    ):
        for code, auc in zip(
            codes.T, found["single_dimension_auc"][name], strict=True
        ):
            wins = code[factor == 1][:, None] - code[factor == 0][None]
            expected = np.mean(wins > 0) + 0.5 * np.mean(wins == 0)
            assert auc == pytest.approx(max(expected, 1 - expected))

    # The mean variance of each level, image by image.
    for name, levels in (("hue_noise", (0.0, 40.0, 80.0)), ("leg", (1.0, 0.5))):
        curve = found["variance"][name]
        assert curve["levels"] == list(levels)
        distorted = [
            x.distorted(**{name: level}, centred=True) for level in levels
        ]
        each = [[model(x[i : i + 1])[0] for i in range(6)] for x in distorted]
        for factor, axis in found["axis"].items():
            means = np.mean(each, axis=1)[:, 2 + axis]
            np.testing.assert_allclose(curve[factor], means, rtol=1e-4)
            ratio = np.mean(means[1:]) / means[0]
            assert curve["ratio"][factor] == pytest.approx(ratio, rel=1e-4)
            increase = np.mean(means[1:]) - means[0]
            assert curve["increase"][factor] == pytest.approx(
                increase, abs=1e-6
            )
    # Shorter legs have less ink; noisy hues as much, and more blue.
    assert found["variance"]["leg"]["ratio"]["colour"] < 0.7
    noisy = found["variance"]["hue_noise"]["ratio"]
    assert noisy["colour"] == pytest.approx(1, abs=0.02)
    assert noisy["orientation"] > 1.2

    on_grid = results["grid"]
    assert on_grid["degrees"] == [45, 60, 75, 90, 105, 120, 135]
    for row, orientation in enumerate(on_grid["degrees"]):
        for column, hue in enumerate(on_grid["degrees"]):
            packed = model(draw_l_shapes([orientation], [hue]))[0]
            for name, part in (("mean", packed[:2]), ("variance", packed[2:])):
                np.testing.assert_allclose(
                    on_grid[name][row][column], part, rtol=1e-4
                )
    variance = np.array(on_grid["variance"])
    corners = (
        variance[0, 0] + variance[0, 6] + variance[6, 0] + variance[6, 6]
    ) / 4
    for name, sides in (
        ("orientation", variance[3, 0] + variance[3, 6]),
        ("colour", variance[0, 3] + variance[6, 3]),
    ):
        np.testing.assert_allclose(
            on_grid["half_way"][name], sides / 2 / corners, rtol=1e-5
        )

    text = colour_orientation.summary(results)
    assert f"accuracy {100 * found['accuracy']:.2f} %" in text
    assert "colour: dimension 1 (`embedding[:, 0]`), AUC" in text
    assert "hue_noise" in text


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("num_support", 51, "at most 50, the images of a class; received 51"),
        ("num_support", 0, "num_support must be at least 1; received 0"),
        ("num_samples", 0, "num_samples must be at least 1; received 0"),
        ("num_distorted", -1, "num_distorted must be at least 1"),
    ],
)
def test_counts_are_checked(some, field, value, message):
    run, its_data, _ = some
    wanted = dataclasses.replace(run.evaluation, **{field: value})
    run = dataclasses.replace(run, evaluation=wanted)
    with pytest.raises(ValueError, match=message):
        colour_orientation.check(run, its_data)


def test_other_data_are_refused():
    run = load_recipe(RECIPE, ["dataset=mnist"])
    with pytest.raises(ValueError, match="received 'mnist'. Use"):
        colour_orientation.check(run, data.Data(run))


@pytest.mark.slow
def test_the_recipe_trains(tmp_path):
    """Its images are drawn when they are read."""
    workdir = tmp_path / "run"
    words = ["--config", RECIPE, "--workdir", str(workdir)]
    for override in (
        "deterministic=False",
        "steps_per_epoch=2",
        "num_epochs=1",
        "optimizer.learning_rate.decay_steps=2",
        "validation.num_support=10",
        "validation.num_query=10",
        "validation.num_episodes=1",
    ):
        words.append(f"--config.{override}")
    assert train.main(words) == 0
    results = json.loads((workdir / "results.json").read_text())
    assert results["training"]["steps"] == 2
