import math

import numpy as np
import pytest
import tensorflow as tf
from scipy import optimize

from embeddings_tf.losses import ContrastiveLoss
from embeddings_tf.losses import contrastive_loss
from tests.losses.random_points import points

BATCHES = {
    "class by class": [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3],
    "uneven and mixed": [5, -2, 5, 5, 7, -2, 5, 7, 5, 9, 9, 5],
    "with singletons": [1, 2, 3, 1, 4, 2, 5, 1, 6, 7, 8, 1],
}
AVERAGES = ["all", "each_kind"]


def loss_by_loop(labels, z, margin=1.0, average_over="all"):
    z = np.asarray(z, "float64")
    positives, negatives = [], []
    for i in range(len(labels)):
        for j in range(i):
            d = math.sqrt(((z[i] - z[j]) ** 2).sum())
            if labels[i] == labels[j]:
                positives.append(d**2 / 2)
            else:
                negatives.append(max(0, margin - d) ** 2 / 2)
    if average_over == "all":
        return np.mean(positives + negatives) if len(labels) > 1 else 0
    return sum(np.mean(values) for values in (positives, negatives) if values)


@pytest.mark.parametrize("labels", BATCHES.values(), ids=BATCHES)
@pytest.mark.parametrize("average_over", AVERAGES)
@pytest.mark.parametrize("margin", [0, 1, 3])
def test_by_loop(labels, average_over, margin):
    z = points()
    expected = loss_by_loop(labels, z, margin, average_over)
    values = contrastive_loss(labels, z, margin, average_over=average_over)
    np.testing.assert_allclose(values, np.full(12, expected), rtol=1e-5)
    loss = ContrastiveLoss(margin, average_over=average_over)
    np.testing.assert_allclose(loss(labels, z), expected, rtol=1e-5)


@pytest.mark.parametrize("average_over", AVERAGES)
@pytest.mark.parametrize("margin", [1, 3])
def test_gradient_by_differences(average_over, margin):
    labels = BATCHES["uneven and mixed"]
    z = points(seed=1)

    def value(flat):
        return loss_by_loop(labels, flat.reshape(12, 3), margin, average_over)

    variable = tf.Variable(z)
    with tf.GradientTape() as tape:
        mean = tf.reduce_mean(
            contrastive_loss(
                labels, variable, margin, average_over=average_over
            )
        )
    expected = optimize.approx_fprime(z.ravel().astype(float), value, 1e-7)
    np.testing.assert_allclose(
        tape.gradient(mean, variable),
        expected.reshape(12, 3),
        rtol=1e-3,
        atol=1e-5,
    )


def test_arithmetic():
    """Points 0 and 1 of one class, 1.5 of another; the margin is 2."""
    z = np.array([[0.0], [1.0], [1.5]], "float32")
    values = contrastive_loss([0, 0, 1], z, 2)
    np.testing.assert_allclose(values, [(1 + 0.25 + 2.25) / 6] * 3)
    values = contrastive_loss([0, 0, 1], z, 2, average_over="each_kind")
    np.testing.assert_allclose(values, [1 / 2 + (0.25 + 2.25) / 4] * 3)


@pytest.mark.parametrize("average_over", AVERAGES)
def test_degenerate_batches(average_over):
    z = points()
    labels = BATCHES["uneven and mixed"]

    def expected(ids, z):
        return loss_by_loop(ids, z, average_over=average_over)

    same = np.repeat(z[:1], 12, 0)
    for case, (ids, embeddings) in {
        "one class": (np.zeros(12), z),
        "singletons": (np.arange(12), z),
        "one row": ([1], z[:1]),
        "all points coincide": (labels, same),
        "zeros": (labels, 0 * z),
        "tiny": (labels, z * np.float32(1e-18)),
        "huge": (labels, z * np.float32(1e18)),
    }.items():
        variable = tf.Variable(embeddings)
        with tf.GradientTape() as tape:
            values = contrastive_loss(ids, variable, average_over=average_over)
        gradient = tape.gradient(values, variable)
        assert np.isfinite(gradient).all(), case
        value = expected(ids, embeddings)
        np.testing.assert_allclose(values, [value] * len(ids), 1e-5, 0, case)
        if case in ("one row", "zeros"):
            np.testing.assert_array_equal(gradient, 0 * embeddings, case)


def test_coinciding_points_cost_half_the_margin_squared():
    values = contrastive_loss([0, 1], np.ones((2, 3), "float32"), 3)
    np.testing.assert_array_equal(values, [4.5, 4.5])
    values = contrastive_loss([0, 0], np.ones((2, 3), "float32"), 3)
    np.testing.assert_array_equal(values, [0, 0])


def test_nan_is_not_hidden():
    z = points()
    z[3, 1] = np.nan
    for average_over in AVERAGES:
        values = contrastive_loss(
            BATCHES["class by class"], z, average_over=average_over
        )
        assert np.isnan(values).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"margin": -1}, "`margin` must be a finite number of at least 0"),
        ({"margin": 1e38}, r"`margin` must be at most 1e\+18; received 1e\+38"),
        ({"margin": True}, "received True"),
        ({"average_over": "kind"}, "'all', 'each_kind'; received 'kind'"),
    ],
)
def test_errors(arguments, message):
    with pytest.raises(ValueError, match=message):
        ContrastiveLoss(**arguments)
    with pytest.raises(ValueError, match=message):
        contrastive_loss([0, 0, 1], points(3), **arguments)
