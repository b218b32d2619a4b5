import keras
import numpy as np
import pytest

from embeddings_tf.layers import GaussianEmbedding
from embeddings_tf.layers import as_distribution


def features(rows=5, width=4):
    rng = np.random.default_rng(0)
    return rng.normal(size=(rows, width)).astype("float32")


def softplus(x):
    return np.log1p(np.exp(x))


class TestFormula:
    def test_in_numpy(self):
        x = features()
        layer = GaussianEmbedding(3, minimum_variance=0.25)
        layer.build(x.shape)
        layer.bias.assign(np.arange(6) / 5)
        linear = x @ layer.kernel.numpy() + np.arange(6) / 5
        packed = layer(x).numpy()
        np.testing.assert_allclose(packed[:, :3], linear[:, :3], rtol=1e-5)
        np.testing.assert_allclose(
            packed[:, 3:], softplus(linear[:, 3:]) + 0.25, rtol=1e-5
        )

    def test_floor(self):
        x = features()
        layer = GaussianEmbedding(2)
        layer.build(x.shape)
        layer.bias.assign([0, 0, -200, -200])
        np.testing.assert_allclose(layer(x)[:, 2:], 1e-8, rtol=1e-6)

    def test_variance_on_a_zero_input(self):
        packed = GaussianEmbedding(2)(np.zeros((1, 3), "float32"))
        np.testing.assert_allclose(packed, [[0, 0, np.log(2), np.log(2)]])


class TestInitialVariance:
    @pytest.mark.parametrize("start", [1e-6, 0.05, 1.0, 30.0])
    def test_on_a_zero_input(self, start):
        layer = GaussianEmbedding(2, initial_variance=start)
        packed = layer(np.zeros((1, 3), "float32"))
        # A raw value of -14 for the smallest, rounded to 1e-6.
        np.testing.assert_allclose(packed, [[0, 0, start, start]], rtol=1e-5)

    def test_above_the_floor(self):
        layer = GaussianEmbedding(1, initial_variance=0.5, minimum_variance=0.4)
        packed = layer(np.zeros((1, 3), "float32"))
        np.testing.assert_allclose(packed, [[0, 0.5]], rtol=1e-6)


def test_kernel_initializer():
    layer = GaussianEmbedding(1, kernel_initializer="ones")
    packed = layer(np.array([[1.0, 2.0]], "float32"))
    np.testing.assert_allclose(packed, [[3, softplus(3)]], rtol=1e-6)


def test_any_leading_axes():
    x = features(6).reshape(2, 3, 4)
    layer = GaussianEmbedding(2)
    packed = layer(x)
    assert packed.shape == layer.compute_output_shape(x.shape) == (2, 3, 4)
    np.testing.assert_allclose(
        packed[1], layer(x.reshape(6, 4))[3:], rtol=1e-6, atol=1e-6
    )


def test_float32_under_mixed_precision():
    inputs = keras.Input((4,))
    half = keras.layers.Dense(4, dtype="mixed_float16")(inputs)
    model = keras.Model(inputs, GaussianEmbedding(2)(half))
    assert half.dtype == "float16"
    assert model.predict_on_batch(features()).dtype == "float32"


@pytest.mark.parametrize("projection", [False, True])
@pytest.mark.parametrize(
    "dtype", ["float16", "mixed_float16", "bfloat16", "mixed_bfloat16"]
)
def test_the_floor_in_half_precision(dtype, projection):
    """float16 rounds 1e-8 to 0."""
    layer = GaussianEmbedding(
        2, dtype=dtype, projection=projection, kernel_initializer="identity"
    )
    symbolic = layer(keras.KerasTensor((None, 4)))
    packed = layer(np.array([[1, 2, -100, 0]], "float32"))
    assert symbolic.dtype == packed.dtype == "float32"
    np.testing.assert_allclose(packed, [[1, 2, 1e-8, np.log(2)]], rtol=1e-6)
    found = as_distribution(packed).log_prob([[1.0, 2.0]])
    variance = 1e-8 * np.log(2)
    np.testing.assert_allclose(
        found, [-np.log(2 * np.pi) - np.log(variance) / 2], rtol=1e-5
    )


def test_float64_stays_float64():
    layer = GaussianEmbedding(2, dtype="float64", projection=False)
    symbolic = layer(keras.KerasTensor((None, 4), "float64"))
    packed = layer(np.array([[0, 0, -100, 0]]))
    assert symbolic.dtype == packed.dtype == "float64"
    np.testing.assert_allclose(packed, [[0, 0, 1e-8, np.log(2) + 1e-8]])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"dim": 0}, "`dim` must be an integer of at least 1; received 0"),
        ({"dim": 2.0}, "`dim` must be an integer"),
        (
            {"minimum_variance": 0.0},
            "`minimum_variance` must be positive and finite; received 0.0",
        ),
        (
            {"minimum_variance": 1e-50},
            "`minimum_variance` must be at least 1e-37, .*received 1e-50",
        ),
        (
            {"minimum_variance": 1e39},
            r"`minimum_variance` must be at most 1e\+18; received 1e\+39",
        ),
        (
            {"initial_variance": 1e39},
            r"`initial_variance` must be at most 1e\+18; received 1e\+39",
        ),
        ({"minimum_variance": np.nan}, "`minimum_variance`.*received nan"),
        ({"minimum_variance": np.inf}, "`minimum_variance`.*received inf"),
        (
            {"initial_variance": 1e-9},
            r"`initial_variance` must be None or larger than "
            r"`minimum_variance` \(1e-08\); received 1e-09",
        ),
        ({"initial_variance": np.nan}, "`initial_variance`.*received nan"),
        ({"initial_variance": np.inf}, "`initial_variance`.*received inf"),
    ],
)
def test_errors(arguments, message):
    with pytest.raises(ValueError, match=message):
        GaussianEmbedding(**{"dim": 2, **arguments})


class TestWithoutProjection:
    def test_features_are_means_and_raw_variances(self):
        x = features(width=6)
        layer = GaussianEmbedding(3, minimum_variance=0.25, projection=False)
        packed = layer(x).numpy()
        np.testing.assert_array_equal(packed[:, :3], x[:, :3])
        np.testing.assert_allclose(
            packed[:, 3:], softplus(x[:, 3:]) + 0.25, rtol=1e-6
        )
        assert not layer.weights

    def test_width(self):
        with pytest.raises(ValueError, match=r"reads 6 features.* \(5, 4\)"):
            GaussianEmbedding(3, projection=False)(features())

    def test_variance_on_a_zero_input(self):
        layer = GaussianEmbedding(
            2, initial_variance=np.float32(0.05), projection=False
        )
        # As a plain number, like `minimum_variance`.
        assert type(layer.get_config()["initial_variance"]) is float
        packed = layer(np.array([[3, 4, 0, 0]], "float32"))
        np.testing.assert_allclose(packed, [[3, 4, 0.05, 0.05]], rtol=1e-5)
