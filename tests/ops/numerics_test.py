import tensorflow as tf

from embeddings_tf.ops import numerics


def test_mean_or_zero():
    assert numerics.mean_or_zero(tf.constant([1.0, 2.0, 6.0])) == 3.0


def test_mean_of_no_values():
    values = tf.zeros((0,))
    with tf.GradientTape() as tape:
        tape.watch(values)
        mean = numerics.mean_or_zero(values)
    assert mean == 0.0
    assert tape.gradient(mean, values).shape == (0,)
