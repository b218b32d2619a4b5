"""Exports must not call Python, which other processes do not have."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from embeddings_tf.export import export_saved_model


def encoder():
    return keras.Sequential(
        [keras.Input((3,), name="x"), keras.layers.Dense(2)]
    )


def doubled(x, function, **options):
    found = function(lambda x: 2 * x, [x], tf.float32, **options)
    return tf.ensure_shape(found, (None, 3))


def by_numpy(x):
    return doubled(x, tf.numpy_function)


def by_stateless_numpy(x):
    return doubled(x, tf.numpy_function, stateful=False)


def by_python(x):
    return doubled(x, tf.py_function)


def in_a_loop(x):
    return tf.map_fn(
        lambda row: tf.ensure_shape(
            tf.numpy_function(np.negative, [row], tf.float32), (3,)
        ),
        x,
    )


OPERATIONS = {
    by_numpy: "PyFunc",
    by_stateless_numpy: "PyFuncStateless",
    by_python: "EagerPyFunc",
    in_a_loop: "PyFunc",
    tf.function(by_numpy): "PyFunc",
}


@pytest.mark.parametrize("preprocessing", OPERATIONS)
def test_preprocessing(preprocessing, tmp_path):
    expected = f"contains {OPERATIONS[preprocessing]}. Replace tf.py_function"
    with pytest.raises(ValueError, match=expected):
        export_saved_model(encoder(), tmp_path, preprocessing=preprocessing)
    assert not list(tmp_path.iterdir())


def test_decoder(tmp_path):
    def decoder(name, contents):
        return (by_numpy(tf.zeros((tf.shape(contents)[0], 3))),)

    with pytest.raises(ValueError, match="'embed_bytes' contains PyFunc"):
        export_saved_model(encoder(), tmp_path, decoder=decoder)
    assert not list(tmp_path.iterdir())


class Doubled(keras.layers.Layer):
    def call(self, x):
        return by_python(x)

    def compute_output_shape(self, shape):
        return shape


def test_model(tmp_path):
    model = keras.Sequential([keras.Input((3,), name="x"), Doubled()])
    with pytest.raises(ValueError, match="'serving_default' contains EagerPy"):
        export_saved_model(model, tmp_path)
    assert not list(tmp_path.iterdir())
