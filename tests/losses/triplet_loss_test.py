import itertools

import numpy as np
import pytest
import tensorflow as tf
from scipy import optimize
from sklearn.metrics import pairwise_distances

from embeddings_tf.losses import TripletLoss
from embeddings_tf.losses import triplet_loss
from tests.losses.random_points import points

DISTANCES = {
    "squared_l2": lambda a, b: ((a - b) ** 2).sum(),
    "l2": lambda a, b: np.sqrt(((a - b) ** 2).sum()),
    "cosine": lambda a, b: 1 - a @ b / np.sqrt((a @ a) * (b @ b)),
}
BATCHES = {
    "class by class": [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3],
    "uneven and mixed": [5, -2, 5, 5, 7, -2, 5, 7, 5, 9, 9, 5],
    "with singletons": [1, 2, 3, 1, 4, 2, 5, 1, 6, 7, 8, 1],
    "two classes": [0, 1, 1, 0, 1, 0, 1, 1, 1, 1, 0, 1],
}
VARIANTS = list(
    itertools.product(["all", "hard", "semi_hard"], ["all", "active"])
)


def hinges_by_loop(labels, d, margin, mining):
    """Loops over anchors, positives and negatives."""
    hinges = []
    for a, label in enumerate(labels):
        rows = [row for row in range(len(labels)) if row != a]
        positives = [d[a, row] for row in rows if labels[row] == label]
        negatives = [d[a, row] for row in rows if labels[row] != label]
        if not positives or not negatives:
            continue
        if mining == "hard":
            hinges.append(margin + max(positives) - min(negatives))
        elif mining == "semi_hard":
            for p in positives:
                beyond = [n for n in negatives if n > p]
                n = min(beyond) if beyond else max(negatives)
                hinges.append(margin + p - n)
        else:
            hinges += [margin + p - n for p in positives for n in negatives]
    return np.maximum(0, hinges)


def loss_by_loop(labels, z, margin, mining, distance, average_over):
    z = np.asarray(z, "float64")
    between = DISTANCES[distance]
    d = np.array([[between(a, b) for b in z] for a in z])
    hinges = hinges_by_loop(labels, d, margin, mining)
    if average_over == "active":
        hinges = hinges[hinges > 0]
    return hinges.mean() if len(hinges) else 0.0


@pytest.mark.parametrize("labels", BATCHES.values(), ids=BATCHES)
@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize(("mining", "average_over"), VARIANTS)
def test_by_loop(labels, distance, mining, average_over):
    z = points()
    for margin in (0, 0.1, 3):
        expected = loss_by_loop(
            labels, z, margin, mining, distance, average_over
        )
        options = {"average_over": average_over}
        arguments = (margin, mining, distance)
        values = triplet_loss(labels, z, *arguments, **options)
        np.testing.assert_allclose(
            values, np.full(12, expected), rtol=1e-5, atol=1e-7
        )
        loss = TripletLoss(*arguments, **options)
        np.testing.assert_allclose(loss(labels, z), expected, 1e-5, 1e-7)


@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize(("mining", "average_over"), VARIANTS)
def test_gradient_by_differences(distance, mining, average_over):
    labels = BATCHES["uneven and mixed"]
    z = points(seed=1)
    arguments = (0.1, mining, distance)

    def value(flat):
        z = flat.reshape(12, 3)
        return loss_by_loop(labels, z, *arguments, average_over)

    with tf.GradientTape() as tape:
        variable = tf.Variable(z)
        values = triplet_loss(
            labels, variable, *arguments, average_over=average_over
        )
        mean = tf.reduce_mean(values)
    expected = optimize.approx_fprime(z.ravel().astype(float), value, 1e-7)
    np.testing.assert_allclose(
        tape.gradient(mean, variable),
        expected.reshape(12, 3),
        rtol=1e-3,
        atol=1e-5,
    )


@pytest.mark.parametrize("sizes", [(31, 2, 9), (33, 34), (70, 1, 1, 5)])
def test_more_positives_than_few(sizes):
    """Rows with few positives and with many are sorted differently."""
    labels = np.repeat(np.arange(len(sizes)), sizes)
    z = points(len(labels), seed=2)
    expected = loss_by_loop(labels, z, 0.1, "all", "squared_l2", "all")
    np.testing.assert_allclose(triplet_loss(labels, z)[0], expected, 1e-5)


def test_ties():
    """Equal bounds, and negatives exactly at a bound, on a grid."""
    rng = np.random.default_rng(3)
    labels = rng.integers(0, 4, 40)
    z = rng.integers(0, 3, (40, 2)).astype("float32")
    for margin, distance in itertools.product((0, 1), ("squared_l2", "l2")):
        for mining, average_over in VARIANTS:
            arguments = (margin, mining, distance)
            values = triplet_loss(
                labels, z, *arguments, average_over=average_over
            )
            expected = loss_by_loop(labels, z, *arguments, average_over)
            np.testing.assert_allclose(values[0], expected, 1e-5)


def test_arithmetic():
    """Points 0 and 1 of a class, 3 of another: 1 + 1 - 9 and 1 + 1 - 4."""
    z = np.array([[0.0], [1.0], [3.0]], "float32")
    labels = [0, 0, 1]
    np.testing.assert_allclose(triplet_loss(labels, z, 4), [0.5] * 3)
    np.testing.assert_allclose(triplet_loss(labels, z, 9), [3.5] * 3)
    values = triplet_loss(labels, z, 4, average_over="active")
    np.testing.assert_allclose(values, [1.0] * 3)
    values = triplet_loss(labels, z, 4, distance="l2")
    np.testing.assert_allclose(values, [(2 + 3) / 2] * 3)


@pytest.mark.slow
@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("per_class", [5, 40])
@pytest.mark.parametrize("average_over", ["all", "active"])
def test_large_distances_that_are_equal(per_class, average_over, compiled):
    """All hinges are the margin, however large the distances."""
    labels = np.repeat(np.arange(6), per_class)
    z = 1000 * np.eye(len(labels), dtype="float32")
    value = tf.function(
        triplet_loss, autograph=False, jit_compile=True if compiled else None
    )
    values = value(labels, z, average_over=average_over)
    np.testing.assert_allclose(values[0], 0.1, rtol=1e-5)


@pytest.mark.parametrize("distance", ["squared_l2", "l2"])
def test_a_huge_row_keeps_loss_and_gradient_of_ordinary_rows(distance):
    """It is in no active triplet."""
    z = points(13)
    z[12] = 1e8
    labels = [*BATCHES["class by class"], 4]
    expected = loss_by_loop(labels, z, 0.1, "all", distance, "all")
    embeddings = tf.constant(z)
    with tf.GradientTape() as tape:
        tape.watch(embeddings)
        value = triplet_loss(labels, embeddings, 0.1, "all", distance)[0]
    np.testing.assert_allclose(value, expected, rtol=1e-5)
    found = tape.gradient(value, embeddings)
    with tf.GradientTape() as tape:
        ordinary = tf.constant(z[:12])
        tape.watch(ordinary)
        value = triplet_loss(labels[:12], ordinary, 0.1, "all", distance)[0]
    # Triplets with the huge row are not active, but they count.
    share = (12 * 2 * 9) / (12 * 2 * 10)
    expected = share * tape.gradient(value, ordinary)
    np.testing.assert_allclose(found[:12], expected, rtol=1e-5, atol=1e-7)


def test_semi_hard_takes_the_farthest_negative_where_none_is_beyond():
    z = np.array([[0.0], [9.0], [1.0], [2.0]], "float32")
    d = np.abs(z - z.T)
    hinges = hinges_by_loop([0, 0, 1, 2], d, 0.5, "semi_hard")
    np.testing.assert_array_equal(hinges, [7.5, 1.5])
    values = triplet_loss([0, 0, 1, 2], z, 0.5, "semi_hard", "l2")
    np.testing.assert_array_equal(values, [4.5] * 4)


@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize(("mining", "average_over"), VARIANTS)
def test_degenerate_batches(distance, mining, average_over):
    z = points()
    labels = np.array(BATCHES["with singletons"])
    same = np.repeat(z[:1], 12, 0)
    cosine = distance == "cosine"

    def at_scale(scale):
        return loss_by_loop(
            labels, z * scale, 0.1, mining, distance, average_over
        )

    for case, (ids, embeddings, expected) in {
        "one class": (np.zeros(12), z, 0),
        "singletons": (np.arange(12), z, 0),
        "one row": ([1], z[:1], 0),
        "all points coincide": (labels, same, 0.1),
        "two points coincide": (
            [0, 0, 1, 1],
            z[[0, 0, 0, 1]],
            loss_by_loop(
                [0, 0, 1, 1],
                z[[0, 0, 0, 1]],
                0.1,
                mining,
                distance,
                average_over,
            ),
        ),
        "zeros": (labels, 0 * z, 0.1),
        "tiny": (labels, z * np.float32(1e-18), at_scale(1e-18)),
        "huge": (labels, z * np.float32(1e18), at_scale(1e18)),
    }.items():
        variable = tf.Variable(embeddings)
        with tf.GradientTape() as tape:
            values = triplet_loss(
                ids,
                variable,
                mining=mining,
                distance=distance,
                average_over=average_over,
            )
        np.testing.assert_allclose(
            values, np.full(len(ids), expected), 1e-5, 1e-6, err_msg=case
        )
        gradient = tape.gradient(values, variable)
        assert np.isfinite(gradient).all(), case
        if not expected:
            np.testing.assert_array_equal(gradient, 0 * embeddings, case)
        elif case == "tiny" and cosine:
            assert np.any(gradient), case


def test_a_batch_without_an_active_triplet():
    z = np.array([[0.0], [0.1], [9.0], [9.1]], "float32")
    for mining, average_over in VARIANTS:
        values = triplet_loss(
            [0, 0, 1, 1], z, mining=mining, average_over=average_over
        )
        np.testing.assert_array_equal(values, np.zeros(4))


@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize(("mining", "average_over"), VARIANTS)
def test_nan_is_not_hidden(distance, mining, average_over):
    """Not in a row, not in all rows, and not among inactive triplets."""
    labels = np.array(BATCHES["class by class"])
    one_row, apart = points(), 100 * np.eye(4, dtype="float32")[labels]
    one_row[3, 1] = apart[3, 1] = np.nan
    for z in (one_row, apart, np.full_like(one_row, np.nan)):
        value = triplet_loss(
            labels, z, 0.1, mining, distance, average_over=average_over
        )
        assert np.isnan(value).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"margin": -1}, "`margin` must be a finite number of at least 0"),
        ({"margin": 1e38}, r"`margin` must be at most 1e\+18; received 1e\+38"),
        ({"margin": float("nan")}, "received nan"),
        ({"margin": "0.1"}, "received '0.1'"),
        ({"mining": "easy"}, "'all', 'hard', 'semi_hard'; received 'easy'"),
        (
            {"distance": "L2"},
            "one of 'squared_l2', 'l2', 'cosine'; received 'L2'",
        ),
        (
            {"average_over": "none"},
            "`average_over` must be one of 'all', 'active'; received 'none'",
        ),
    ],
)
def test_errors(arguments, message):
    with pytest.raises(ValueError, match=message):
        TripletLoss(**arguments)
    with pytest.raises(ValueError, match=message):
        triplet_loss([0, 0, 1], points(3), **arguments)


@pytest.mark.slow
@pytest.mark.parametrize("average_over", ["all", "active"])
def test_classes_of_many_rows_in_xla(average_over):
    """More positives than XLA sorts in part; many equal distances."""
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], [40, 50, 1])
    z = rng.integers(0, 3, (91, 2)).astype("float32")
    d = pairwise_distances(z, metric="sqeuclidean")
    hinges = hinges_by_loop(labels, d, 1.0, "all")
    chosen = hinges[hinges > 0] if average_over == "active" else hinges

    @tf.function(jit_compile=True)
    def value_and_gradient(labels, z):
        with tf.GradientTape() as tape:
            tape.watch(z)
            value = tf.reduce_mean(
                triplet_loss(labels, z, 1.0, average_over=average_over)
            )
        return value, tape.gradient(value, z)

    value, gradient = value_and_gradient(tf.constant(labels), tf.constant(z))
    assert value.numpy() == pytest.approx(np.mean(chosen), rel=1e-5)
    with tf.GradientTape() as tape:
        plain = tf.constant(z)
        tape.watch(plain)
        loss = tf.reduce_mean(
            triplet_loss(labels, plain, 1.0, average_over=average_over)
        )
    np.testing.assert_allclose(gradient, tape.gradient(loss, plain), atol=1e-6)
