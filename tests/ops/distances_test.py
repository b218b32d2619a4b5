import numpy as np
import pytest
import tensorflow as tf

from embeddings_tf.ops import distances


def test_squared_l2_by_loop():
    rng = np.random.default_rng(0)
    a = rng.normal(size=(4, 3)).astype("float32")
    b = rng.normal(size=(5, 3)).astype("float32")
    expected = [
        [sum((p - q) ** 2 for p, q in zip(x, y, strict=True)) for y in b]
        for x in a
    ]
    np.testing.assert_allclose(distances.squared_l2(a, b), expected, rtol=1e-5)


def test_pieces_are_the_whole(monkeypatch):
    monkeypatch.setattr(distances, "_LARGEST_PIECE", 32)  # 2 rows of 5 x 3
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(5, 3)), rng.normal(size=(5, 3))
    np.testing.assert_array_equal(
        distances.squared_l2_in_pieces(tf.constant(a), tf.constant(b)),
        distances.squared_l2(a, b),
    )


SQUARED = [
    distances.squared_l2,
    distances.squared_l2_between,
    distances.squared_l2_in_pieces,
]


@pytest.mark.parametrize("squared", SQUARED)
def test_close_points_far_from_the_origin(squared):
    """In float32, |a|^2 - 2ab + |b|^2 would lose every digit here."""
    a = tf.constant([[4096.0, 4096.0]])
    b = a + np.array([[0.25, 0.0], [0.25, 0.5], [0.0, 0.0]], "float32")
    np.testing.assert_allclose(
        squared(a, b), [[0.0625, 0.3125, 0.0]], atol=1e-9
    )


@pytest.mark.parametrize("squared", SQUARED)
def test_no_rows(squared):
    assert squared(tf.ones((0, 3)), tf.ones((2, 3))).shape == (0, 2)


@pytest.mark.parametrize("offset", [0, 1e5])
@pytest.mark.parametrize("in_graph", [False, True])
def test_squared_l2_between_by_differences(offset, in_graph):
    """Values and gradients of w d^2, with a weight w for each pair."""
    rng = np.random.default_rng(0)
    a, b = (
        tf.constant((rng.normal(size=(n, 3)) + offset).astype("float32"))
        for n in (4, 5)
    )
    weights = rng.normal(size=(4, 5)).astype("float32")

    def value_and_gradients(a, b):
        with tf.GradientTape() as tape:
            tape.watch([a, b])
            square = distances.squared_l2_between(a, b)
            total = tf.reduce_sum(weights * square)
        return square, *tape.gradient(total, [a, b])

    if in_graph:
        value_and_gradients = tf.function(value_and_gradients)
    square, of_a, of_b = value_and_gradients(a, b)
    difference = a.numpy().astype(float)[:, None] - b.numpy().astype(float)
    slope = 2 * weights[:, :, None] * difference
    np.testing.assert_allclose(square, (difference**2).sum(-1), rtol=1e-6)
    np.testing.assert_allclose(of_a, slope.sum(1), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(of_b, -slope.sum(0), rtol=1e-5, atol=1e-6)


def test_squared_l2_between_extreme_points():
    a = tf.constant([[1e30, 0.0], [np.nan, 0.0], [1.0, 1.0]])
    found = distances.squared_l2_between(a, tf.zeros((1, 2))).numpy()
    assert found[0, 0] == np.float32(1e-6 * tf.float32.max)
    assert np.isnan(found[1, 0])
    assert found[2, 0] == 2


def test_squared_l2_between_one_far_point():
    """A far point does not cost other distances their digits."""
    rng = np.random.default_rng(0)
    a, b = (rng.normal(size=(n, 3)).astype("float32") for n in (4, 5))
    b[2] = 1e8
    found = distances.squared_l2_between(tf.constant(a), tf.constant(b))
    difference = a.astype(float)[:, None] - b.astype(float)
    np.testing.assert_allclose(found, (difference**2).sum(-1), rtol=1e-6)


def test_squared_l2_between_no_points():
    found = distances.squared_l2_between(tf.ones((3, 2)), tf.ones((0, 2)))
    assert found.shape == (3, 0)


POINTS = np.random.default_rng(1).normal(size=(7, 5)).astype("float32")


def cosine(a, b):
    return a @ b / np.sqrt((a @ a) * (b @ b))


BY_PAIR = {
    "squared_l2": lambda a, b: ((a - b) ** 2).sum(),
    "l2": lambda a, b: np.sqrt(((a - b) ** 2).sum()),
    "cosine": lambda a, b: 1 - cosine(a, b),
}


def within(z, distance):
    """Distances among rows, pair by pair in float64."""
    z = np.asarray(z, "float64")
    return np.array([[BY_PAIR[distance](a, b) for b in z] for a in z])


@pytest.mark.parametrize("distance", BY_PAIR)
@pytest.mark.parametrize("scale", [1e-15, 1, 1e18])
def test_within_by_loop(distance, scale):
    z = POINTS * np.float32(scale)
    expected = within(z, distance)
    np.testing.assert_allclose(
        distances.WITHIN[distance](tf.constant(z)),
        expected,
        rtol=1e-6,
        atol=1e-6 if distance == "cosine" else 0,
    )


@pytest.mark.parametrize("distance", BY_PAIR)
def test_gradient_by_differences(distance):
    weight = np.random.default_rng(2).normal(size=(7, 7))

    def value(z):
        return np.sum(weight * within(z, distance))

    z = tf.constant(POINTS)
    with tf.GradientTape() as tape:
        tape.watch(z)
        total = tf.reduce_sum(
            tf.constant(weight, "float32") * distances.WITHIN[distance](z)
        )
    expected = np.zeros(POINTS.shape)
    for place in np.ndindex(POINTS.shape):
        step = np.zeros(POINTS.shape)
        step[place] = 1e-6
        expected[place] = (value(POINTS + step) - value(POINTS - step)) / 2e-6
    np.testing.assert_allclose(
        tape.gradient(total, z), expected, rtol=1e-4, atol=1e-5
    )


def test_within_keeps_the_digits_of_close_points():
    """Differences of 2^-13 at norms of 45: float32 products lose them."""
    step = 2.0**-13
    z = np.full((3, 2000), 1.0, "float32")
    z[1, 0] += step
    z[2, :4] += step
    expected = np.array([[0, 1, 4], [1, 0, 3], [4, 3, 0]]) * step**2
    z = tf.constant(z)
    np.testing.assert_allclose(
        distances.squared_l2_within(z), expected, rtol=1e-6, atol=0
    )
    with tf.GradientTape() as tape:
        tape.watch(z)
        to_first = distances.WITHIN["l2"](z)[1, 0]
    gradient = tape.gradient(to_first, z).numpy()
    np.testing.assert_allclose(gradient[:2, 0], [-1, 1], rtol=1e-3)
    np.testing.assert_allclose(gradient[:2, 1:], 0, atol=1e-3)


@pytest.mark.parametrize("distance", BY_PAIR)
@pytest.mark.parametrize("scale", [0, 1e-38, 1e-18, 1, 1e18])
def test_points_that_coincide(distance, scale):
    z = tf.constant(np.repeat(POINTS[:1], 5, 0) * np.float32(scale))
    with tf.GradientTape() as tape:
        tape.watch(z)
        d = distances.WITHIN[distance](z)
    if distance == "cosine":
        expected = 0 if scale > 1e-30 else 1  # like a row of zeros
        np.testing.assert_allclose(d, np.full((5, 5), expected), atol=1e-6)
    else:
        np.testing.assert_array_equal(d, np.zeros((5, 5)))
    assert np.isfinite(tape.gradient(d, z)).all()


def test_largest_distance():
    z = tf.constant([[0.0], [1e19], [3e37]])
    with tf.GradientTape() as tape:
        tape.watch(z)
        d = distances.squared_l2_within(z)
    np.testing.assert_allclose(d, 1e38 * (1 - np.eye(3)), rtol=1e-6)
    assert np.isfinite(tape.gradient(d, z)).all()


@pytest.mark.parametrize("distance", BY_PAIR)
def test_nan_is_not_hidden(distance):
    z = tf.constant([[0.5, np.nan], [1.0, 2.0], [2.0, 1.0]])
    d = distances.WITHIN[distance](z).numpy()
    assert np.isnan(d[0]).all()
    assert np.isfinite(d[1:, 1:]).all()


@pytest.mark.parametrize("distance", BY_PAIR)
def test_batch_of_none(distance):
    assert distances.WITHIN[distance](tf.zeros([0, 3])).shape == (0, 0)


@pytest.mark.parametrize("compiled", [False, True])
def test_middle_row(compiled):
    """One huge row does not move it from the other rows."""
    middle = distances.middle_row
    if compiled:
        middle = tf.function(middle, autograph=False, jit_compile=True)
    rng = np.random.default_rng(0)
    z = 100 + rng.uniform(size=(80, 3)).astype("float32")
    z[40], z[60] = 3e38, np.nan
    for rows in (3, 31, 80):
        found = middle(tf.constant(z[-rows:])).numpy()
        assert (found >= 100).all() and (found <= 101).all()
    np.testing.assert_array_equal(middle(tf.constant(z[:1])), z[0])
    np.testing.assert_array_equal(middle(tf.zeros((0, 3))), [0, 0, 0])


def test_a_huge_row_keeps_the_gradient_of_ordinary_rows():
    z = np.random.default_rng(0).normal(size=(9, 3)).astype("float32")
    z[4] = 1e8
    ordinary = np.delete(np.arange(9), 4)
    weight = np.zeros((9, 9), "float32")
    weight[np.ix_(ordinary, ordinary)] = 1
    embeddings = tf.constant(z)
    with tf.GradientTape() as tape:
        tape.watch(embeddings)
        square = distances.squared_l2_within(embeddings)
        total = tf.reduce_sum(weight * square)
    rows = z[ordinary]
    # Each pair counts twice.
    expected = 4 * (len(rows) * rows - rows.sum(axis=0))
    found = tape.gradient(total, embeddings).numpy()
    np.testing.assert_allclose(found[ordinary], expected, rtol=1e-5, atol=1e-4)


def test_differences_from_the_middle_do_not_overflow():
    z = np.float32([[-3.4e38], [3.4e38], [3.4e38]])
    assert np.isfinite(z - distances.middle_row(tf.constant(z))).all()
