import keras
import numpy as np
import pytest
import tensorflow as tf

from embeddings_tf.optimizers import SGDWithL2


@pytest.mark.parametrize("nesterov", [False, True])
@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_against_a_loop(momentum, nesterov):
    rng = np.random.default_rng(0)
    w = rng.normal(size=4)
    weight = keras.Variable(w.astype("float32"))
    optimizer = SGDWithL2(0.1, momentum, nesterov, l2=0.3)
    v = np.zeros(4)
    for _ in range(5):
        g = rng.normal(size=4)
        optimizer.apply([tf.constant(g, tf.float32)], [weight])
        step = -0.1 * (g + 0.3 * w)
        v = momentum * v + step
        w = w + (momentum * v + step if nesterov and momentum else v)
        np.testing.assert_allclose(weight, w, rtol=1e-5, atol=1e-6)


def test_clipping_is_of_the_gradient_alone():
    weight = keras.Variable([10.0, 0.0])
    optimizer = SGDWithL2(1.0, l2=0.1, global_clipnorm=1.0)
    optimizer.apply([tf.constant([0.0, 5.0])], [weight])
    # 10 - 0.1 * 10, and 0 - 5 clipped to 1.
    np.testing.assert_allclose(weight, [9.0, -1.0], atol=1e-6)


def test_it_is_the_gradient_of_the_penalty():
    def trained(optimizer, penalty):
        keras.utils.set_random_seed(0)
        layer = keras.layers.Dense(
            2,
            kernel_regularizer=keras.regularizers.L2(penalty),
            bias_regularizer=keras.regularizers.L2(penalty),
        )
        model = keras.Sequential([keras.Input((3,)), layer])
        model.compile(optimizer, "mse")
        rng = np.random.default_rng(1)
        x, y = rng.normal(size=(12, 3)), rng.normal(size=(12, 2))
        model.fit(x, y, batch_size=4, epochs=2, shuffle=False, verbose=0)
        return layer.get_weights()

    # The gradient of c |w|^2 is 2 c w.
    expected = trained(keras.optimizers.SGD(0.1, 0.9), 0.1)
    found = trained(SGDWithL2(0.1, 0.9, l2=0.2), 0.0)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-6)


def test_unused_rows_of_an_embedding_table_decay():
    table = keras.Variable(np.ones((3, 2), "float32"))
    gradient = tf.IndexedSlices(tf.ones((1, 2)), tf.constant([1]), (3, 2))
    SGDWithL2(1.0, l2=0.5).apply([gradient], [table])
    np.testing.assert_allclose(table, [[0.5, 0.5], [-0.5, -0.5], [0.5, 0.5]])


def test_saved_and_loaded():
    optimizer = SGDWithL2(0.2, 0.8, True, l2=1e-3, global_clipnorm=5.0)
    config = keras.optimizers.serialize(optimizer)
    again = keras.optimizers.deserialize(config)
    assert isinstance(again, SGDWithL2)
    assert again.get_config() == optimizer.get_config()
    assert (again.l2, again.momentum, again.nesterov) == (1e-3, 0.8, True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"l2": -1e-3}, "`l2`"),
        ({"l2": float("nan")}, "`l2`"),
        ({"l2": 1e39}, r"`l2` must be at most 1e\+18; received 1e\+39"),
        ({"l2": 0.1, "weight_decay": 0.1}, "Pass only one of them"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        SGDWithL2(**arguments)
