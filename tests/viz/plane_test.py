"""Planes by NumPy's singular value decomposition, and as they are."""

import keras
import numpy as np
import pytest

from embeddings_tf import losses
from embeddings_tf.models import EmbeddingModel
from embeddings_tf.models.method import Method
from embeddings_tf.objectives import FullCovariancePrototypes
from embeddings_tf.objectives import StochasticPrototypes
from embeddings_tf.viz.plane import plane


def softplus(x):
    return np.log1p(np.exp(x))


def method(width, objective=None):
    encoder = keras.Sequential([keras.Input((3,)), keras.layers.Dense(width)])
    if objective is None:
        encoder.compile(loss=losses.TripletLoss())
        return Method(encoder)
    is_gaussian = isinstance(objective, StochasticPrototypes)
    return Method(EmbeddingModel(encoder, objective, gaussian=is_gaussian))


def rows(width, num_rows=40):
    scale = np.geomspace(3, 0.3, width)
    x = np.random.default_rng(0).normal(1, scale, (num_rows, width))
    return x.astype("float32")


@pytest.mark.parametrize("is_gaussian", [False, True])
def test_the_plane_of_more_dimensions_has_the_largest_variance(is_gaussian):
    width = 10 if is_gaussian else 5
    objective = StochasticPrototypes(2) if is_gaussian else None
    x = rows(width)
    if is_gaussian:
        x[:, 5:] = np.abs(x[:, 5:]) + 0.1
    found = plane(method(width, objective), x)
    assert found["variance"] is None
    assert found["axis_names"][0] == "principal component 1"
    centred = x[:, :5] - x[:, :5].mean(axis=0)
    *_, directions = np.linalg.svd(centred.astype("float64"))
    expected = centred @ directions[:2].T
    for axis in (0, 1):
        sign = np.sign(np.sum(expected[:, axis] * found["mean"][:, axis]))
        np.testing.assert_allclose(
            sign * found["mean"][:, axis], expected[:, axis], atol=1e-4
        )


def test_two_dimensions_are_drawn_as_they_are():
    x = rows(2)
    found = plane(method(2), x)
    np.testing.assert_array_equal(found["mean"], x)
    assert set(found) == {"mean", "variance"} and found["variance"] is None


def test_two_dimensions_keep_the_variance_of_the_method():
    x = rows(5)
    objective = FullCovariancePrototypes(2)
    found = plane(method(5, objective), x)
    np.testing.assert_allclose(found["mean"], x[:, :2], rtol=1e-6)
    np.testing.assert_allclose(
        found["variance"], softplus(x[:, 2:4]), rtol=1e-5
    )


def test_one_dimension_is_drawn_along_the_horizontal_axis():
    x = rows(1)
    found = plane(method(1), x)
    np.testing.assert_array_equal(found["mean"][:, 0], x[:, 0])
    assert not found["mean"][:, 1].any()
    assert found["axis_names"] == ("dimension 1", "")


def test_the_plane_is_not_mirrored():
    """Each component increases along its largest coordinate."""
    x = rows(5)
    for flipped in (x, x[::-1], x[:20], x[20:]):
        drawn = plane(method(5), flipped)["mean"]
        centred = flipped - flipped.mean(axis=0)
        # Largest scales first: the coordinates of the two components.
        assert np.sum(drawn[:, 0] * centred[:, 0]) > 0
        assert np.sum(drawn[:, 1] * centred[:, 1]) > 0


def test_equal_embeddings_are_one_point():
    """Without a warning: training may have collapsed."""
    found = plane(method(5), np.ones((4, 5), "float32"))
    np.testing.assert_array_equal(found["mean"], np.zeros((4, 2)))
