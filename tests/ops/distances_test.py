import numpy as np

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


def test_close_points_far_from_the_origin():
    """Where |a|^2 - 2ab + |b|^2 would lose every digit."""
    a = np.array([[4096.0, 4096.0]], "float32")
    b = a + np.array([[0.25, 0.0], [0.25, 0.5], [0.0, 0.0]], "float32")
    np.testing.assert_array_equal(
        distances.squared_l2(a, b), [[0.0625, 0.3125, 0.0]]
    )


def test_no_rows():
    shape = distances.squared_l2(np.ones((0, 3)), np.ones((2, 3))).shape
    assert shape == (0, 2)
