import keras
import numpy as np
import pytest
import tensorflow as tf

from tests import seeds


def shuffled():
    return [int(n) for n in tf.data.Dataset.range(100).shuffle(100)]


def fitted():
    """Keras shuffles the rows and draws weights and dropout."""
    model = keras.Sequential(
        [
            keras.Input((3,)),
            keras.layers.Dropout(0.5),
            keras.layers.Dense(2),
        ]
    )
    model.compile("sgd", "mse")
    x = np.arange(30.0).reshape(10, 3)
    model.fit(x, x[:, :2], batch_size=3, verbose=0)
    return model.layers[-1].get_weights()[0].tolist()


@pytest.mark.parametrize(
    "draw",
    [shuffled, fitted, lambda: np.random.rand(9).tolist()],
    ids=["tf.data", "keras", "numpy"],
)
def test_reset_starts_again(draw):
    seeds.reset()
    first, second = draw(), draw()
    seeds.reset()
    assert draw() == first != second
