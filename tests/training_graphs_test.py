import gc

import keras
import numpy as np
import tensorflow as tf
from tensorflow.python.framework import ops

from embeddings_tf import losses
from tests.training_graphs import STEP
from tests.training_graphs import forget_training_graphs


def graphs_of_steps():
    gc.collect()
    every = [g for g in gc.get_objects() if isinstance(g, tf.Graph)]
    return {id(g) for g in every if getattr(g, "name", "").startswith(STEP)}


def fit():
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
    model.compile("adam", losses.TripletLoss())
    x = np.random.default_rng(0).normal(size=(8, 3)).astype("float32")
    model.fit(x, np.arange(8) // 2, verbose=0)


def test_graphs_of_a_training_are_freed():
    before = graphs_of_steps()
    fit()
    assert graphs_of_steps() - before, "TensorFlow frees them itself now"
    forget_training_graphs()
    assert not graphs_of_steps() - before


def test_other_graphs_keep_their_gradients():
    @tf.custom_gradient
    def doubled(x):
        return 2 * x, lambda upstream: 2 * upstream

    traced = tf.function(doubled).get_concrete_function(
        tf.TensorSpec([], tf.float32)
    )
    number = len(ops.gradient_registry._registry)
    forget_training_graphs()
    assert len(ops.gradient_registry._registry) == number
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = traced(x)
    assert tape.gradient(y, x) == 2
