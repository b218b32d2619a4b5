import numpy as np
import pytest
import tensorflow as tf

from embeddings_tf.layers import LocalResponseNormalization


def feature_maps(channels=9):
    rng = np.random.default_rng(0)
    return rng.normal(0, 3, size=(2, 3, 4, channels)).astype("float32")


def expected(x, depth_radius, bias, alpha, beta):
    y = np.empty_like(x)
    for c in range(x.shape[-1]):
        window = x[..., max(c - depth_radius, 0) : c + depth_radius + 1]
        energy = np.square(window).sum(axis=-1)
        y[..., c] = x[..., c] / (bias + alpha * energy) ** beta
    return y


def test_defaults():
    x = feature_maps(channels=16)
    np.testing.assert_allclose(
        LocalResponseNormalization()(x), expected(x, 5, 1, 1, 0.5), rtol=1e-5
    )


def test_in_numpy():
    x = feature_maps()
    arguments = {"depth_radius": 2, "bias": 0.5, "alpha": 0.3, "beta": 0.75}
    np.testing.assert_allclose(
        LocalResponseNormalization(**arguments)(x),
        expected(x, **arguments),
        rtol=1e-5,
    )


@pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16"])
def test_mixed_precision(policy):
    x = feature_maps()
    y = LocalResponseNormalization(dtype=policy)(x)
    assert y.dtype == policy.removeprefix("mixed_")
    np.testing.assert_allclose(
        tf.cast(y, "float32"), expected(x, 5, 1, 1, 0.5), rtol=0.02
    )


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("depth_radius", 0),
        ("depth_radius", 1.5),
        ("bias", 0.0),
        ("bias", np.nan),
        ("alpha", -1.0),
        ("alpha", np.inf),
        ("beta", 0.0),
        ("bias", 1e-50),
        ("bias", 1e39),
        ("alpha", 1e39),
        ("beta", 1e39),
    ],
)
def test_out_of_range(argument, value):
    with pytest.raises(ValueError, match=f"`{argument}` must be .*received"):
        LocalResponseNormalization(**{argument: value})


@pytest.mark.parametrize(("bias", "beta"), [(1e-30, 2.0), (0.5, 1e3)])
def test_a_divisor_of_black_images_that_is_rounded_to_0(bias, beta):
    message = r"`bias\*\*beta` must be at least 1e-37.* received bias="
    with pytest.raises(ValueError, match=message):
        LocalResponseNormalization(bias=bias, beta=beta)


@pytest.mark.parametrize(("bias", "beta"), [(1e-18, 2.0), (1e-37, 1.0)])
def test_black_images_stay_black(bias, beta):
    x = np.zeros((1, 2, 2, 3), "float32")
    layer = LocalResponseNormalization(bias=bias, beta=beta)
    np.testing.assert_array_equal(layer(x), x)


def test_rank():
    with pytest.raises(ValueError, match="expected ndim=4"):
        LocalResponseNormalization()(np.ones((2, 3), "float32"))


@pytest.mark.parametrize("radius", [5, 2**31 - 2])
def test_unknown_channels_in_a_graph(radius):
    x = feature_maps(channels=3)
    normalize = tf.function(
        LocalResponseNormalization(radius),
        input_signature=[tf.TensorSpec([None] * 4)],
    )
    np.testing.assert_allclose(
        normalize(x), expected(x, 5, 1, 1, 0.5), rtol=1e-5
    )
