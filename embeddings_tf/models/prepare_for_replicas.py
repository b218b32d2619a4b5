"""Prepares layers for the replicas of `tf.distribute`."""

import keras
import tensorflow as tf

from embeddings_tf.compat import every_layer
from embeddings_tf.ops.arguments import keras_layer


def prepare_for_replicas(model: keras.Model) -> keras.Model:
    """Makes an encoder train alike on one replica and on several.

    Under a strategy of several replicas, Keras normalises each replica's piece
    of the batch separately, and draws the same noise on all replicas. After
    this call, `BatchNormalization` uses the statistics of the global batch.
    Dropout, random augmentation and other layers with a `seed_generator` or
    `generator` draw different noise on each replica; the noise of the first
    does not change.

    `EmbeddingModel` prepares its encoder, and the encoders of this library are
    already prepared. Call the function on your own encoder that is compiled
    with a loss, inside the strategy's scope. On one replica nothing changes.
    Train with `fit`: Keras's `train_on_batch` and `test_on_batch` give the
    whole batch to each replica, so a loss would see every row several times.

    Args:
        model: A Keras model; all its layers are visited.

    Returns:
        The same model.

    Raises:
        ValueError: If `model` is not a Keras model or layer.

    Example:

    >>> with tf.distribute.MirroredStrategy(["CPU:0"]).scope():
    ...     encoder = embeddings_tf.models.prepare_for_replicas(
    ...         keras.Sequential(
    ...             [keras.Input((8,)), keras.layers.BatchNormalization()]
    ...         )
    ...     )
    """
    keras_layer("model", model)
    synchronize_batch_normalization(model)
    for layer in every_layer(model) if several_replicas() else ():
        for name in ("seed_generator", "generator"):  # of noise, of images
            generator = getattr(layer, name, None)
            if type(generator) is keras.random.SeedGenerator:
                # In place: the state is already a variable of the layer.
                generator.__class__ = _SeedGeneratorOfReplica
    return model


def synchronize_batch_normalization(model: keras.Model) -> None:
    """Uses statistics of the global batch if there are several replicas."""
    for layer in every_layer(model) if several_replicas() else ():
        if isinstance(layer, keras.layers.BatchNormalization):
            layer.synchronized = True


def several_replicas() -> bool:
    return tf.distribute.get_strategy().num_replicas_in_sync > 1


class _SeedGeneratorOfReplica(keras.random.SeedGenerator):
    """Different seeds per replica; the first uses the base class's seeds."""

    def next(self, ordered=True):
        seed = super().next(ordered)
        context = tf.distribute.get_replica_context()
        if context is None or context.num_replicas_in_sync == 1:
            return seed
        replica = tf.cast(context.replica_id_in_sync_group, tf.int32)
        own = tf.random.experimental.stateless_fold_in(
            tf.cast(seed, tf.int32), replica, alg="philox"
        )
        return tf.where(replica == 0, seed, tf.cast(own, seed.dtype))
