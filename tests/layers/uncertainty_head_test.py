import keras
import numpy as np
import pytest
import tensorflow as tf

from embeddings_tf.layers import UncertaintyHead
from embeddings_tf.models.prepare_for_replicas import (
    synchronize_batch_normalization,
)


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
    head.novelty.set_weights(np.array([[0.1], [0.2]]))
    standardized = (features - mean) / np.sqrt(variance + 1e-3)
    x = np.tanh(standardized / 2)
    x = np.maximum(x @ kernel + bias, 0) @ last + last_bias
    novelty = np.log(np.mean(standardized**2, axis=1))
    penalty = np.maximum((novelty - 0.1) / np.sqrt(0.2 + 1e-3) - 2, 0)
    assert (penalty > 0).any() and (penalty == 0).any()
    expected = np.log1p(np.exp(x[:, 0])) + 0.2 * penalty
    np.testing.assert_allclose(head(features), expected, rtol=1e-4)
    # One value for each row, whatever the other rows are.
    np.testing.assert_allclose(head(features[:3]), expected[:3], rtol=1e-4)


def trained_head(rng, **arguments):
    """A head that saw many batches of standard normal features."""
    head = UncertaintyHead((4,), dropout=0.0, seed=0, **arguments)
    for _ in range(600):
        head(rng.normal(size=(50, 20)).astype("float32"), training=True)
    return head


@pytest.mark.slow
def test_only_features_unlike_those_of_training_have_a_penalty():
    rng = np.random.default_rng(0)
    head = trained_head(rng)
    without = UncertaintyHead((4,), dropout=0.0, novelty_weight=0.0)
    without.build((None, 20))
    for copy, layer in zip(
        (without.standardize, *without.hidden, without.last),
        (head.standardize, *head.hidden, head.last),
        strict=True,
    ):
        copy.set_weights(layer.get_weights())
    usual = rng.normal(size=(1000, 20)).astype("float32")
    unusual = 3 * usual
    penalty = head(usual) - without(usual)
    assert np.mean(penalty.numpy() > 0) < 0.03
    # ln 9 larger; ln of chi-squared / 20 has a deviation of about .32.
    added = np.mean(head(unusual) - without(unusual))
    assert added == pytest.approx(0.2 * (np.log(9) / 0.324 - 2), rel=0.1)
    # The network learns the loss alone.
    np.testing.assert_allclose(
        head(usual[:5], training=True),
        without(usual[:5], training=True),
        rtol=1e-5,
    )


@pytest.mark.parametrize(
    ("scale", "steps"),
    [
        (0.125, 100),
        *(
            pytest.param(scale, steps, marks=pytest.mark.slow)
            for scale in (0.03, 0.125, 1.0)
            for steps in (100, 400)
            if (scale, steps) != (0.125, 100)
        ),
    ],
)
def test_usual_features_have_no_penalty_while_averages_settle(scale, steps):
    rng = np.random.default_rng(1)

    def features(rows):
        # Rows differ in their norm, as embeddings do.
        norms = np.exp(0.2 * rng.normal(size=(rows, 1)))
        return (scale * norms * rng.normal(size=(rows, 40))).astype("float32")

    head = UncertaintyHead((4,), dropout=0.0, seed=0)
    for _ in range(steps):
        head(features(100), training=True)
    fresh = head.standardize(features(500), training=False)
    penalty = head._penalty(fresh, training=False)
    assert np.mean(penalty.numpy() > 0) < 0.05


def test_a_half_precision_head_stays_finite():
    rng = np.random.default_rng(0)
    head = UncertaintyHead((4,), dtype="float16")
    head(rng.normal(size=(20, 6)).astype("float16"), training=True)
    found = head(np.full((3, 6), 60000, "float16"))
    assert found.dtype == "float32" and np.isfinite(found).all()


def test_a_configuration_without_the_weight_has_its_default():
    config = UncertaintyHead((4,)).get_config()
    default = config.pop("novelty_weight")
    assert default > 0
    assert UncertaintyHead.from_config(config).novelty_weight == default


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
        ({"novelty_weight": -0.1}, "`novelty_weight` must be a finite number"),
        ({"novelty_weight": np.nan}, "`novelty_weight` must be a finite numb"),
        ({"novelty_weight": 1e39}, r"`novelty_weight` must be at most 1e\+18"),
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


@pytest.mark.parametrize("compiled", [False, True])
def test_a_batch_without_rows_changes_no_average(compiled):
    head = UncertaintyHead((4,))

    def train(x):
        return head(x, training=True)

    if compiled:
        train = tf.function(train, input_signature=[tf.TensorSpec((None, 3))])
    rng = np.random.default_rng(0)
    x = rng.normal(2, 1, (8, 3)).astype("float32")
    train(x)
    averages = head.standardize.get_weights() + head.novelty.get_weights()
    # As `BatchNormalization` does, from mean 0 and variance 1.
    np.testing.assert_allclose(averages[0], 0.01 * x.mean(0), rtol=1e-4)
    np.testing.assert_allclose(averages[1], 0.99 + 0.01 * x.var(0), rtol=1e-4)
    assert train(x[:0]).shape == (0,)
    after = head.standardize.get_weights() + head.novelty.get_weights()
    for new, old in zip(after, averages, strict=True):
        np.testing.assert_array_equal(new, old)


@pytest.mark.parametrize(
    "dtype", ["float64", "bfloat16", "float16", "mixed_bfloat16"]
)
def test_the_output_is_float32_in_every_precision(dtype):
    head = UncertaintyHead((4,), dtype=dtype)
    x = np.random.default_rng(0).normal(size=(5, 3)).astype("float32")
    assert head(keras.KerasTensor((None, 3))).dtype == "float32"
    for training in (False, True):
        assert head(x, training=training).dtype == "float32"


@pytest.mark.parametrize("num_rows", [8, 0])
def test_a_replica_without_rows_changes_no_average(num_rows, strategy):
    """The first replica is empty, and the second has `num_rows` rows."""
    x = np.random.default_rng(0).normal(2, 1, (num_rows, 3)).astype("float32")
    with strategy.scope():
        head = UncertaintyHead((4,), novelty_weight=0.0)
        head.build((None, 3))
        synchronize_batch_normalization(head)

    @tf.function
    def train():
        replica = tf.distribute.get_replica_context().replica_id_in_sync_group
        head(tf.constant(x)[: num_rows * replica], training=True)

    strategy.run(train)
    mean, variance = head.standardize.get_weights()
    if num_rows:
        np.testing.assert_allclose(mean, 0.01 * x.mean(0), rtol=1e-4)
        expected = 0.99 + 0.01 * x.var(0)
        np.testing.assert_allclose(variance, expected, rtol=1e-4)
    else:
        np.testing.assert_array_equal([mean, variance], [[0] * 3, [1] * 3])
