import keras
import numpy as np
import pytest
import tensorflow as tf

from embeddings_tf.layers import AdditiveMargin


def embeddings(rows=6, dim=4, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(rows, dim)).astype("float32")


def logits_by_hand(layer, x, labels=None):
    kernel = layer.kernel.numpy().astype("float64")
    rows = []
    for i, row in enumerate(x.astype("float64")):
        logits = []
        for c, column in enumerate(kernel.T):
            cosine = row @ column
            cosine /= np.linalg.norm(row) * np.linalg.norm(column)
            if labels is not None and labels[i] == c:
                cosine -= layer.margin
            logits.append(layer.scale * cosine)
        rows.append(logits)
    return np.array(rows)


@pytest.mark.parametrize("labels", [None, [0, 2, 1, 1, 2, 0]])
@pytest.mark.parametrize("arguments", [{}, {"scale": 5.0, "margin": 0.0}])
def test_by_hand(labels, arguments):
    layer, x = AdditiveMargin(3, **arguments), embeddings()
    logits = layer(x) if labels is None else layer(x, np.array(labels))
    expected = logits_by_hand(layer, x, labels)
    np.testing.assert_allclose(logits, expected, rtol=1e-5, atol=1e-5)


def test_the_authors_constants():
    layer = AdditiveMargin(3)
    assert (layer.scale, layer.margin) == (30, 0.35)


def test_lengths_do_not_count():
    layer, x = AdditiveMargin(3), embeddings()
    expected = layer(x)
    layer.kernel.assign(3e-9 * layer.kernel)
    for factor in (1e-18, 1e18):
        np.testing.assert_allclose(
            layer(np.float32(factor) * x), expected, rtol=1e-4, atol=1e-5
        )


@pytest.mark.parametrize("weight", [1e-17, 1e-3, 1.0, 1e20])
def test_lengths_of_weights_do_not_count(weight):
    """Three equal weights: the cosine to each axis is 1 / sqrt(3)."""
    initializer = keras.initializers.Constant(weight)
    layer = AdditiveMargin(2, kernel_initializer=initializer)
    with tf.GradientTape() as tape:
        logits = layer(np.eye(3, dtype="float32"))
    expected = np.full((3, 2), 30 / np.sqrt(3))
    np.testing.assert_allclose(logits, expected, rtol=1e-5)
    assert np.isfinite(tape.gradient(logits, layer.kernel)).all()
    half = AdditiveMargin(
        2, kernel_initializer=initializer, dtype="mixed_float16"
    )
    logits = half(np.eye(3, dtype="float32"))
    np.testing.assert_allclose(logits, expected, rtol=2e-3)


def test_zeros_have_no_angle():
    logits = AdditiveMargin(3)(np.zeros((2, 4), "float32"), np.array([1, 2]))
    expected = [[0, -10.5, 0], [0, 0, -10.5]]
    np.testing.assert_allclose(logits, expected, rtol=1e-5)


def test_label_outside_has_no_margin():
    layer, x = AdditiveMargin(3), embeddings(2)
    np.testing.assert_array_equal(layer(x, np.array([3, -1])), layer(x))


@pytest.mark.parametrize("dtype", ["int64", "float32"])
def test_labels_as_keras_hands_them_over(dtype):
    layer, x, labels = AdditiveMargin(3), embeddings(), np.arange(6) % 3
    np.testing.assert_array_equal(
        layer(x, tf.cast(labels[:, None], dtype)), layer(x, labels)
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"num_classes": 0}, "`num_classes` must be an integer"),
        ({"scale": 0.0}, "`scale` must be positive and finite; received 0.0"),
        ({"scale": np.inf}, "`scale` must be positive"),
        ({"margin": -0.1}, "`margin` must be a finite number of at least 0"),
        ({"scale": 1e39}, r"`scale` must be at most 1e\+18; received 1e\+39"),
        ({"margin": 1e39}, r"`margin` must be at most 1e\+18; received 1e\+39"),
        ({"margin": np.nan}, "`margin` must be a finite.*received nan"),
    ],
)
def test_errors(arguments, message):
    with pytest.raises(ValueError, match=message):
        AdditiveMargin(**{"num_classes": 3, **arguments})


def test_embeddings_of_every_frame_are_refused():
    with pytest.raises(ValueError, match="expected ndim=2, found ndim=3"):
        AdditiveMargin(3)(np.ones((2, 5, 4), "float32"))
