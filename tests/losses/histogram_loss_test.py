import numpy as np
import pytest
import tensorflow as tf

from embeddings_tf.losses import HistogramLoss
from embeddings_tf.losses import histogram_loss
from tests.losses.random_points import points

BATCHES = {
    "class by class": [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3],
    "uneven and mixed": [5, -2, 5, 5, 7, -2, 5, 7, 5, 9, 9, 5],
    "with singletons": [1, 2, 3, 1, 4, 2, 5, 1, 6, 7, 8, 1],
}


def pairs_by_loop(labels, z):
    """Cosines of positive and of negative pairs."""
    z = np.asarray(z, "float64")
    unit = [row / np.sqrt(row @ row) for row in z]
    positives, negatives = [], []
    for i in range(len(labels)):
        for j in range(i):
            same = labels[i] == labels[j]
            (positives if same else negatives).append(unit[i] @ unit[j])
    return positives, negatives


def histogram_by_loop(similarities, num_nodes):
    """Shares each similarity between its two nearest nodes."""
    step = 2 / (num_nodes - 1)
    histogram = np.zeros(num_nodes)
    for r in range(num_nodes):
        for s in similarities:
            distance = abs(min(max(s, -1), 1) - (-1 + r * step))
            histogram[r] += max(0, 1 - distance / step)
    return histogram / max(1, len(similarities))


def loss_by_loop(labels, z, num_nodes=201):
    of_positives, of_negatives = (
        histogram_by_loop(similarities, num_nodes)
        for similarities in pairs_by_loop(labels, z)
    )
    return sum(
        of_negatives[r] * of_positives[q]
        for r in range(num_nodes)
        for q in range(r + 1)
    )


@pytest.mark.parametrize("labels", BATCHES.values(), ids=BATCHES)
@pytest.mark.parametrize("num_nodes", [2, 11, 201])
def test_by_loop(labels, num_nodes):
    z = points()
    expected = loss_by_loop(labels, z, num_nodes)
    values = histogram_loss(labels, z, num_nodes)
    np.testing.assert_allclose(values, np.full(12, expected), rtol=1e-4)
    loss = HistogramLoss(num_nodes)
    np.testing.assert_allclose(loss(labels, z), expected, rtol=1e-4)


def test_is_the_probability_that_a_negative_pair_is_more_similar():
    labels = np.repeat(np.arange(5), 20)
    z = points(100, dim=8, seed=1) + 0.5 * np.eye(8)[labels]
    positives, negatives = map(np.array, pairs_by_loop(labels, z))
    expected = np.mean(negatives[:, None] >= positives)
    value = float(HistogramLoss()(labels, z))
    assert value == pytest.approx(expected, abs=0.01)


@pytest.mark.every_nth(5)
@pytest.mark.parametrize("num_nodes", [11, 201])
@pytest.mark.parametrize("labels", BATCHES.values(), ids=BATCHES)
def test_gradient_by_differences(labels, num_nodes):
    """Away from the nodes, where the slope jumps."""
    z = points(seed=2)
    step = 2 / (num_nodes - 1)
    places = (np.concatenate(pairs_by_loop(labels, z)) + 1) / step
    assert np.abs(places - np.round(places)).min() > 1e-4

    variable = tf.Variable(z)
    with tf.GradientTape() as tape:
        mean = tf.reduce_mean(histogram_loss(labels, variable, num_nodes))
    expected = np.zeros(z.shape)
    for place in np.ndindex(z.shape):
        change = np.zeros(z.shape)
        change[place] = 1e-7
        above = loss_by_loop(labels, z + change, num_nodes)
        below = loss_by_loop(labels, z - change, num_nodes)
        expected[place] = (above - below) / 2e-7
    np.testing.assert_allclose(
        tape.gradient(mean, variable), expected, rtol=2e-3, atol=1e-5
    )


def test_gradient_carries_the_weight_of_the_value():
    z = tf.Variable(points())
    labels = BATCHES["class by class"]
    with tf.GradientTape(persistent=True) as tape:
        value = histogram_loss(labels, z)[0]
        weighted = 3 * value
    np.testing.assert_allclose(
        tape.gradient(weighted, z), 3 * tape.gradient(value, z), 1e-5, 1e-6
    )


def test_similarities_of_plus_and_minus_one_are_counted():
    """On a line all cosines are 1 or -1: the first and the last node."""
    z = np.array([[2.0], [0.1], [-3.0], [-0.7]], "float32")
    np.testing.assert_allclose(histogram_loss([0, 0, 1, 1], z), [0] * 4)
    # Positive pairs: two of -1. Negative pairs: two of 1, two of -1.
    np.testing.assert_allclose(histogram_loss([0, 1, 0, 1], z), [1] * 4)
    # Positive pairs: 1 and -1, -1. Negative pairs: -1 and 1, -1.
    values = histogram_loss([0, 0, 0, 1], z)
    np.testing.assert_allclose(values, [2 / 3 * 2 / 3 + 1 / 3] * 4, rtol=1e-6)


def test_sums_over_many_pairs():
    """Half of a million negative pairs is at -0.8, the other half at 1."""
    z = np.tile(np.float32([[1, 0], [-0.8, 0.6]]), (500, 1))
    labels = np.repeat(np.arange(500), 2)
    # With two nodes, a cosine of -0.8 gives the second a tenth of its weight.
    negative = (0.1 + 1) / 2
    expected = (1 - negative) * (1 - 0.1) + negative
    value = histogram_loss(labels, z, num_nodes=2)[0]
    assert value.numpy() == pytest.approx(expected, rel=1e-6)


def test_degenerate_batches():
    z = points()
    labels = BATCHES["with singletons"]
    with_zeros = np.where(np.arange(12)[:, None] == 3, 0, z)
    for case, (ids, embeddings, expected) in {
        "one class": (np.zeros(12), z, 0),
        "singletons": (np.arange(12), z, 0),
        "one row": ([1], z[:1], 0),
        "all points coincide": (labels, np.repeat(z[:1], 12, 0), 1),
        "zeros": (labels, 0 * z, 1),
        "a row of zeros": (labels, with_zeros, None),
        "tiny": (labels, z * np.float32(1e-18), loss_by_loop(labels, z)),
        "huge": (labels, z * np.float32(1e18), loss_by_loop(labels, z)),
    }.items():
        variable = tf.Variable(embeddings)
        with tf.GradientTape() as tape:
            values = histogram_loss(ids, variable)
        gradient = tape.gradient(values, variable)
        assert np.isfinite(values).all(), case
        assert np.isfinite(gradient).all(), case
        if expected is not None:
            np.testing.assert_allclose(values, expected, 1e-4, err_msg=case)
        if expected == 0:
            np.testing.assert_array_equal(gradient, 0 * embeddings, case)


def test_nan_is_not_hidden():
    z = points()
    z[3, 1] = np.nan
    assert np.isnan(histogram_loss(BATCHES["class by class"], z)).all()


@pytest.mark.parametrize("num_nodes", [1, 0, -5, 2.5, "201", None])
def test_errors(num_nodes):
    message = f"`num_nodes` must be an integer.*received {num_nodes!r}"
    with pytest.raises(ValueError, match=message):
        HistogramLoss(num_nodes)
    with pytest.raises(ValueError, match=message):
        histogram_loss([0, 0, 1], points(3), num_nodes)


def test_no_second_derivative():
    z = tf.constant(np.random.default_rng(0).normal(size=(6, 3)), tf.float32)
    with tf.GradientTape() as outer:
        outer.watch(z)
        with tf.GradientTape() as inner:
            inner.watch(z)
            value = histogram_loss([0, 0, 1, 1, 2, 2], z)[0]
        gradient = inner.gradient(value, z)
    with pytest.raises(LookupError, match="histogram_loss is differentiable"):
        outer.gradient(gradient, z)
