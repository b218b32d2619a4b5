"""The ceiling of retrieval if there are equal images."""

import types

import keras
import numpy as np
import pytest

from embeddings_tf import datasets
from embeddings_tf import metrics
from embeddings_tf.layers import GaussianEmbedding
from embeddings_tf.models import EmbeddingModel
from embeddings_tf.objectives import StochasticPrototypes
from trainers.config.evaluation_fields import Retrieval
from trainers.config.evaluation_fields import RetrievalValidation
from trainers.evaluators import retrieval
from trainers.evaluators.retrieval import ceiling


def images(*numbers):
    return np.array(numbers, "uint8").reshape(-1, 1, 1, 1).repeat(3, axis=3)


def test_different_images_have_no_ceiling():
    assert ceiling(images(1, 2, 3, 4), np.array([0, 0, 1, 1])) == 1


def test_images_read_when_asked_for():
    x = images(1, 2, 2, 4).repeat(4, axis=1).repeat(4, axis=2)
    lazy = datasets.Images(x.__getitem__, len(x), size=4)
    assert ceiling(lazy, np.array([0, 0, 1, 1])) == 0.5


def test_recordings_of_several_lengths():
    """Rows 1 and 2 are equal, in different classes; row 3 only begins so."""
    values = np.array([1, 1, 2, 3, 2, 3, 2, 3, 3], "float32")[:, None]
    x = datasets.Utterances(values, [2, 2, 2, 3])
    assert ceiling(x, np.array([0, 0, 1, 1])) == 0.5


def test_a_twin_of_another_class_is_always_nearest():
    # Rows 1 and 2 are nearest to each other, in different classes.
    assert ceiling(images(1, 2, 2, 4), np.array([0, 0, 1, 1])) == 0.5


def test_equal_images_of_both_classes_share_the_chance():
    # Two images of class 0 and one of class 1 are equal. For class 0, one of
    # the two equal neighbours is right; for class 1, none.
    found = ceiling(images(1, 1, 1, 4), np.array([0, 0, 1, 1]))
    assert found == pytest.approx((0.5 + 0.5 + 0 + 1) / 4)


def test_classes_of_one_image_are_no_queries(monkeypatch):
    assert ceiling(images(1, 2, 2), np.array([0, 0, 1])) == 0.5
    # Also for the uncertainty: they have nothing to find.
    rng = np.random.default_rng(0)
    points = rng.normal(size=(40, 2))
    classes = np.array([*np.repeat(range(10), 3), *range(10, 20)])
    values = rng.random(40)
    monkeypatch.setattr(retrieval, "uncertainties", lambda *_: {"head": values})
    model = keras.Sequential([keras.Input((2,)), keras.layers.Identity()])
    found = retrieval._uncertainty(model, None, points, points, classes)
    expected = metrics.recall_auroc(values, points, classes)
    assert found["uncertainty_head"]["recall_auroc"] == pytest.approx(expected)


def test_the_best_encoder_reaches_it():
    # One code per image, next to the codes of its class.
    rng = np.random.default_rng(0)
    x = images(*rng.choice(200, 60, replace=False), *range(200, 220))
    classes = np.arange(80) // 4
    x[0], x[17] = x[40], x[50]  # twins across classes
    best = classes * 1000.0 + x[:, 0, 0, 0]
    best[[0, 40]], best[[17, 50]] = -5000, -9000  # away from other codes
    recall = metrics.recall_at_k(best[:, None], classes)[1]
    assert recall == pytest.approx(ceiling(x, classes)) == 76 / 80


def test_the_picture_shows_random_and_wrong_queries(monkeypatch, capsys):
    given = {}

    def draw(queries, found, captions, is_right, **more):
        given.update(queries=queries, captions=captions, right=is_right, **more)

    monkeypatch.setattr(retrieval.viz, "neighbours_figure", draw)
    model = keras.Sequential([keras.Input((1,)), keras.layers.Identity()])
    # Pairs of one class side by side; two examples sit among another class.
    places = np.repeat(np.arange(20.0), 3) + np.tile([0, 0.01, 0.02], 20)
    classes = np.repeat(np.arange(20), 3)
    places[4], places[10] = 15.005, 17.005
    x = images(*range(60))
    names = np.array([f"class {number}" for number in classes])
    embeddings = places[:, None].astype("float32")
    found = retrieval.neighbours(model, x, embeddings, classes, names)
    assert set(found) == {"neighbours"}
    right = np.array(given["right"])
    assert right.shape[1] == retrieval.NEIGHBOURS_DRAWN
    for query, caption, line in zip(
        given["queries"],
        given["query_captions"],
        given["captions"],
        strict=True,
    ):
        row = int(query[0, 0, 0])
        assert caption == names[row]
        distances = np.abs(embeddings[:, 0] - embeddings[row, 0])
        distances[row] = np.inf
        nearest = np.argsort(distances, kind="stable")[:2]
        assert set(line[:2]) == set(names[nearest])
    half = retrieval.QUERIES_DRAWN // 2
    assert not right[half:, 0].any(), "each has a wrong nearest example"
    assert {"class 1", "class 3"} <= set(given["query_captions"][half:]) | set(
        given["query_captions"][:half]
    )
    features = np.zeros((60, 5), "float32")
    assert (
        retrieval.neighbours(model, features, embeddings, classes, names) == {}
    )
    # Larger than a sprite of the projector; the message is about the projector.
    x = np.broadcast_to(np.uint8(0), (60, 1100, 1100, 1))
    assert retrieval.neighbours(model, x, embeddings, classes, names)
    assert "projector" not in capsys.readouterr().out


def test_validation_of_gaussians_of_odd_dimension():
    rng = np.random.default_rng(0)
    x, labels = rng.normal(size=(12, 4)).astype("float32"), np.arange(12) % 3
    encoder = keras.Sequential([keras.Input((4,)), GaussianEmbedding(3)])
    model = EmbeddingModel(encoder, StochasticPrototypes(1))
    run = types.SimpleNamespace(evaluation=Retrieval())
    data = types.SimpleNamespace(split=lambda name: (x, labels))
    held_out = retrieval.validation(run, data, model)
    held_out.set_model(model)
    logs = {}
    held_out.on_epoch_end(0, logs)
    mean, variance = np.split(encoder.predict(x, verbose=0), 2, axis=1)
    distances = np.square(mean[:, None] - mean).sum(axis=2)
    np.fill_diagonal(distances, np.inf)
    recall = (labels[distances.argmin(axis=1)] == labels).mean()
    assert logs["val_recall_at_1"] == pytest.approx(recall)
    own, between = variance.sum(axis=1), mean.var(axis=0).sum()
    share = own.mean() / (own.mean() + between)
    assert logs["val_variance_share"] == pytest.approx(share, rel=1e-5)


def test_validation_by_the_mean_recall_up_to_max_k():
    x = np.array([[0.0], [0.9], [1.2], [5.0]], "float32")
    labels = np.array([0, 0, 1, 1])
    model = keras.Sequential([keras.Input((1,)), keras.layers.Identity()])
    evaluation = Retrieval(validation=RetrievalValidation(max_k=2))
    held_out = retrieval.validation(
        types.SimpleNamespace(evaluation=evaluation),
        types.SimpleNamespace(split=lambda name: (x, labels)),
        model,
    )
    held_out.set_model(model)
    logs = {}
    held_out.on_epoch_end(0, logs)
    # Neighbours: 1 2 3; 2 0 3; 1 0 3; 2 1 0. Own class at ranks 1, 2, 3, 1.
    assert logs["val_recall_at_1"] == pytest.approx(2 / 4)
    assert logs["val_mean_recall"] == pytest.approx((2 / 4 + 3 / 4) / 2)
