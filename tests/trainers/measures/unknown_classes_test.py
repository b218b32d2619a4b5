"""Queries of classes that are not enrolled."""

import types

import keras
import numpy as np
import pytest

from embeddings_tf.models import EmbeddingModel
from embeddings_tf.objectives import StochasticPrototypes
from trainers.measures import unknown_classes
from trainers.measures.occluded import EmbeddedSplit

WANTED = types.SimpleNamespace(
    num_support=2, num_query=3, num_episodes=4, num_samples=20
)


def split_of(embeddings, labels, num_classes):
    return EmbeddedSplit(
        "test", num_classes, labels, labels, embeddings, [], []
    )


def identity(width):
    return keras.Sequential([keras.Input((width,)), keras.layers.Identity()])


def test_classes_far_apart_are_told_apart():
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(6), 8)
    centres = 50.0 * np.eye(6)
    embeddings = centres[labels] + rng.normal(size=(48, 6))
    found = unknown_classes.measure(
        identity(6), split_of(embeddings.astype("float32"), labels, 3), WANTED
    )
    for name in ("log_evidence", "nearest_distance"):
        assert found[name]["auroc"] == 1
        assert found[name]["fpr_at_95_tpr"] == 0
        assert found[name]["episodes"] == 4
    # Probabilities are almost 1 for every query, also between the classes.
    assert found["largest_probability"]["auroc"] < 1
    text = "\n".join(unknown_classes.lines({"test": found}))
    assert "log evidence" in text
    assert "AUROC 1.000" in text


def test_nothing_to_tell_apart():
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(30), 8)
    embeddings = rng.normal(size=(240, 3)).astype("float32")
    found = unknown_classes.measure(
        identity(3),
        split_of(embeddings, labels, 15),
        types.SimpleNamespace(
            num_support=2, num_query=6, num_episodes=20, num_samples=20
        ),
    )
    for row in found.values():
        assert row["auroc"] == pytest.approx(0.5, abs=0.05)
        assert row["fpr_at_95_tpr"] == pytest.approx(0.95, abs=0.05)


@pytest.mark.slow
def test_gaussians():
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(4), 8)
    packed = np.concatenate(
        [20.0 * np.eye(4)[labels], np.ones((32, 4))], axis=1
    )
    packed[:, :4] += rng.normal(size=(32, 4))
    model = EmbeddingModel(
        identity(8), StochasticPrototypes(num_support=2), gaussian=True
    )
    found = unknown_classes.measure(
        model, split_of(packed.astype("float32"), labels, 2), WANTED
    )
    assert found["log_evidence"]["auroc"] == 1
    assert found["nearest_distance"]["auroc"] == 1


def test_no_other_classes():
    labels = np.repeat(np.arange(3), 8)
    embeddings = np.zeros((24, 2), "float32")
    assert (
        unknown_classes.measure(
            identity(2), split_of(embeddings, labels, 3), WANTED
        )
        is None
    )
