import keras
import numpy as np
import pytest

from embeddings_tf.layers import UncertaintyHead


def test_value_by_hand():
    rng = np.random.default_rng(0)
    features = rng.normal(3, 2, (50, 4)).astype("float32")
    head = UncertaintyHead((6,))
    head(features)
    mean, variance = rng.normal(size=4), rng.uniform(1, 2, 4)
    kernel, bias = rng.normal(size=(4, 6)), rng.normal(size=6)
    last, last_bias = rng.normal(size=(6, 1)), rng.normal(size=1)
    head.standardize.set_weights([mean, variance])
    head.hidden[0].set_weights([kernel, bias])
    head.last.set_weights([last, last_bias])
    x = np.tanh((features - mean) / np.sqrt(variance + 1e-3) / 2)
    x = np.maximum(x @ kernel + bias, 0) @ last + last_bias
    expected = np.log1p(np.exp(x[:, 0]))
    np.testing.assert_allclose(head(features), expected, rtol=1e-4)
    # One value for each row, whatever the other rows are.
    np.testing.assert_allclose(head(features[:3]), expected[:3], rtol=1e-4)


def test_extreme_features_stay_finite():
    head = UncertaintyHead((4,))
    found = head(np.array([[1e30, -1e30], [0, 0]], "float32"))
    assert np.isfinite(found).all() and (found.numpy() >= 0).all()


def test_config_round_trip():
    head = UncertaintyHead((8, 4), num_samples=3, seed=1, name="head")
    copy = UncertaintyHead.from_config(head.get_config())
    assert copy.get_config() == head.get_config()
    assert copy.hidden_units == (8, 4)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"hidden_units": 8}, "`hidden_units` must be a sequence"),
        ({"hidden_units": (0,)}, "`hidden_units` must be an integer"),
        ({"num_samples": 0}, "`num_samples` must be an integer"),
        ({"seed": -1}, "`seed` must be an integer"),
    ],
)
def test_refuses(arguments, message):
    with pytest.raises(ValueError, match=message):
        UncertaintyHead(**arguments)


def test_refuses_images():
    with pytest.raises(ValueError, match="expected ndim=2"):
        UncertaintyHead()(keras.ops.zeros((2, 3, 3, 1)))
