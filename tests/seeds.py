"""Random seeds of the tests."""

import random
from unittest import mock

import keras
import tensorflow as tf
from tensorflow.python.eager import context


def reset() -> None:
    """Sets all seeds to 0, like `keras.utils.set_random_seed(0)`.

    `tf.random.set_seed` would also drop all kernels, and making them again
    takes a third of the time of eager tests. Kernels have no state here: only
    graphs draw random numbers with TensorFlow's own seed.
    """
    with mock.patch.object(tf.random, "set_seed"):
        keras.utils.set_random_seed(0)
    context.context()._seed = 0
    context.context()._rng = random.Random(0)
