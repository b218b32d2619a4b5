import numpy as np
import pytest
import tensorflow as tf
from scipy import optimize

from embeddings_tf import losses
from embeddings_tf.ops import sum_over_pairs as module
from embeddings_tf.ops.sum_over_pairs import sum_over_pairs

DISTANCES = {
    "squared_l2": lambda a, b: ((a - b) ** 2).sum(),
    "l2": lambda a, b: np.sqrt(((a - b) ** 2).sum()),
    "cosine": lambda a, b: 1 - a @ b / np.sqrt((a @ a) * (b @ b)),
}
NUM_ROWS = 7
RANDOM = np.random.default_rng(0)
POINTS = RANDOM.normal(size=(NUM_ROWS, 3)).astype("float32")
WEIGHTS = RANDOM.normal(size=(NUM_ROWS, NUM_ROWS)).astype("float32")
# Entries of a block: one, two and five rows of seven; the whole batch.
BLOCK_SIZES = (1, 2 * NUM_ROWS, 2**20)


def distances_by_loop(z, distance):
    return np.array([[DISTANCES[distance](a, b) for b in z] for a in z])


def symmetric(weights):
    return weights + weights.T


def check(value, by_loop, expected_sums):
    """Compares sums and the gradient of the first with a loop's."""
    variable = tf.Variable(POINTS)
    with tf.GradientTape() as tape:
        sums = value(variable)
        first = 3 * sums[0]
    np.testing.assert_allclose(sums, expected_sums, 1e-5)
    expected = optimize.approx_fprime(
        POINTS.ravel().astype(float), lambda flat: 3 * by_loop(flat), 1e-6
    )
    np.testing.assert_allclose(
        tape.gradient(first, variable),
        expected.reshape(POINTS.shape),
        rtol=1e-3,
        atol=1e-3,
    )


@pytest.mark.every_nth(5)
@pytest.mark.parametrize("block_size", BLOCK_SIZES)
@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize("is_symmetric", [False, True])
def test_by_loop(monkeypatch, distance, block_size, is_symmetric):
    """The sums of w d^2 and of d, with a weight w for each pair."""
    monkeypatch.setattr(module, "BLOCK_SIZE", block_size)
    weights = symmetric(WEIGHTS) if is_symmetric else WEIGHTS

    def terms(d, rows, columns):
        w = tf.gather(tf.gather(weights, rows), columns, axis=1)
        sums = [tf.reduce_sum(w * d * d), tf.reduce_sum(d)]
        return tf.stack(sums), 2 * w * d

    def value(z):
        return sum_over_pairs(
            z, distance, terms, num_sums=2, is_symmetric=is_symmetric
        )

    def by_loop(flat):
        d = distances_by_loop(flat.reshape(POINTS.shape), distance)
        return (weights * d**2).sum()

    z = POINTS.astype(float)
    expected = [by_loop(z), distances_by_loop(z, distance).sum()]
    check(value, by_loop, expected)
    check(tf.function(value, autograph=False), by_loop, expected)
    unknown = tf.function(
        value,
        input_signature=[tf.TensorSpec([None, None], tf.float32)],
        autograph=False,
    )
    check(lambda z: unknown(tf.convert_to_tensor(z)), by_loop, expected)


@pytest.mark.parametrize("block_size", BLOCK_SIZES)
def test_numbers_of_rows(monkeypatch, block_size):
    """The sum of d_ij s_j, with s_j the sum of the distances of row j."""
    monkeypatch.setattr(module, "BLOCK_SIZE", block_size)

    def of_row(d, rows):
        return tf.reduce_sum(d, axis=1, keepdims=True)

    def terms(d, rows, _, sums):
        # s_j depends on the distances of row j: sum_ij d_ij s_j = sum_j s_j^2.
        slope = 2 * tf.gather(sums, rows) + tf.zeros_like(d)
        return tf.reduce_sum(d * tf.transpose(sums))[None], slope

    def by_loop(flat):
        d = distances_by_loop(flat.reshape(POINTS.shape), "l2")
        return (d.sum(axis=0) ** 2).sum()

    def value(z):
        return sum_over_pairs(z, "l2", terms, of_row=of_row)

    expected = [by_loop(POINTS.astype(float))]
    check(value, by_loop, expected)
    check(tf.function(value, autograph=False), by_loop, expected)


@pytest.mark.every_nth(5)
@pytest.mark.parametrize("block_size", BLOCK_SIZES)
@pytest.mark.parametrize("is_symmetric", [False, True])
def test_second_derivative(monkeypatch, block_size, is_symmetric):
    """The sum of w d^2 is a square form H, so |gradient|^2 has 2 H H z."""
    monkeypatch.setattr(module, "BLOCK_SIZE", block_size)
    weights = symmetric(WEIGHTS) if is_symmetric else WEIGHTS

    def terms(d, rows, columns):
        w = tf.gather(tf.gather(weights, rows), columns, axis=1)
        return tf.reduce_sum(w * d * d)[None], 2 * w * d

    def second(z):
        with tf.GradientTape() as outer:
            outer.watch(z)
            with tf.GradientTape() as tape:
                tape.watch(z)
                value = sum_over_pairs(
                    z, "l2", terms, is_symmetric=is_symmetric
                )[0]
            square = tf.reduce_sum(tape.gradient(value, z) ** 2)
        return outer.gradient(square, z)

    both = symmetric(weights.astype(float))
    form = 2 * (np.diag(both.sum(axis=1)) - both)
    expected = 2 * form @ form @ POINTS
    unknown = tf.function(
        second,
        input_signature=[tf.TensorSpec([None, None], tf.float32)],
        autograph=False,
    )
    for run in (second, tf.function(second, autograph=False), unknown):
        np.testing.assert_allclose(
            run(tf.constant(POINTS)), expected, rtol=1e-3, atol=1e-2
        )


LOSSES = [
    losses.ContrastiveLoss(),
    losses.ContrastiveLoss(average_over="each_kind"),
    losses.LiftedStructureLoss(),
    losses.LiftedStructureLoss(form="authors"),
    losses.TripletLoss(),
    losses.TripletLoss(distance="l2", average_over="active"),
    losses.TripletLoss(distance="cosine"),
]
BATCHES = {
    "class by class": np.repeat(np.arange(10), 4),
    "uneven": RANDOM.integers(0, 5, 40),
    "more positives than few": np.repeat([1, 0, 3], [3, 30, 7]),
    "one class": np.zeros(40, int),
    "singletons": np.arange(40),
}


@pytest.mark.every_nth(3)
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_losses_in_blocks(monkeypatch, loss):
    """Blocks of a few rows give the value and gradient of the whole batch."""

    def step(labels, z):
        with tf.GradientTape() as tape:
            tape.watch(z)
            value = loss(labels, z)
        return value, tape.gradient(value, z)

    whole, blocks = (tf.function(step, autograph=False) for _ in range(2))
    for name, labels in BATCHES.items():
        z = tf.constant(RANDOM.normal(size=(40, 6)).astype("float32"))
        labels = tf.constant(labels)
        expected, expected_gradient = whole(labels, z)
        with monkeypatch.context() as patch:
            patch.setattr(module, "BLOCK_SIZE", 40 * 7)
            value, gradient = blocks(labels, z)
        np.testing.assert_allclose(value, expected, 1e-6, 1e-7, err_msg=name)
        np.testing.assert_allclose(
            gradient, expected_gradient, 1e-4, 1e-7, err_msg=name
        )


def test_far_from_the_origin_in_blocks(monkeypatch):
    """Coinciding rows have distance 0 and no gradient, in any block."""
    monkeypatch.setattr(module, "BLOCK_SIZE", 12)
    z = np.repeat(1000 + 50 * POINTS[:3], 2, axis=0)
    variable = tf.Variable(z)
    with tf.GradientTape() as tape:
        value = losses.contrastive_loss([0, 0, 1, 1, 2, 2], variable, 1e-3)
    np.testing.assert_array_equal(value, np.zeros(6))
    assert np.isfinite(tape.gradient(value, variable)).all()


@pytest.mark.parametrize("block_size", [1, 2**20])
def test_a_graph_of_known_size_has_no_branches(monkeypatch, block_size):
    monkeypatch.setattr(module, "BLOCK_SIZE", block_size)
    loss = losses.ContrastiveLoss()

    @tf.function(input_signature=[tf.TensorSpec((NUM_ROWS, 3))])
    def value(z):
        return loss(np.arange(NUM_ROWS) % 3, z)

    kinds = {
        o.type for o in value.get_concrete_function().graph.get_operations()
    }
    assert not kinds & {"If", "StatelessIf"}
    assert bool(kinds & {"While", "StatelessWhile"}) == (block_size == 1)
    expected = loss(np.arange(NUM_ROWS) % 3, POINTS)
    np.testing.assert_allclose(value(POINTS), expected, rtol=1e-5)
