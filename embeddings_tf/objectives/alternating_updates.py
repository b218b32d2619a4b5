"""Turns of `LearnedDistance(updates="alternating")`."""

import keras
import tensorflow as tf

UPDATES = ("simultaneous", "alternating")


class AlternatingUpdates(keras.layers.Layer):
    """Trains the distance and the encoder in turns, by stopping gradients.

    It counts training steps in a weight, which checkpoints contain: a resumed
    training goes on with the turn that is due. Even steps, from 0, are of the
    distance. Monteiro et al. 2020 found both ways to be equally good, and
    simultaneous updates faster.
    """

    def build(self, input_shape=None):
        self.num_steps = self.add_weight(
            name="num_steps",
            shape=(),
            dtype="int64",
            initializer="zeros",
            trainable=False,
            autocast=False,
            aggregation="only_first_replica",
        )
        self.built = True

    def next_turn(self) -> tuple[tf.Tensor, tf.Tensor]:
        """Counts a step; returns whether it is of encoder, and of distance."""
        step = tf.convert_to_tensor(self.num_steps)
        self.num_steps.assign_add(tf.ones_like(step))
        return step % 2 == 1, step % 2 == 0


def all_pairs(distance, embeddings, training, is_its_turn=None) -> tf.Tensor:
    """`distance.all_pairs` of a batch with itself.

    Args:
        distance: The layer.
        embeddings: `(rows, dim)`.
        training: Whether to drop units.
        is_its_turn: A scalar: whether the distance's weights have a gradient;
            the embeddings have one anyway. None: the weights have it.
    """
    if is_its_turn is None:
        return distance.all_pairs(
            embeddings, embeddings, training=bool(training)
        )
    weights = [
        (weight, with_gradient_if(is_its_turn, tf.convert_to_tensor(weight)))
        for weight in distance.trainable_variables
    ]
    with keras.StatelessScope(state_mapping=weights) as scope:
        logits = distance.all_pairs(embeddings, embeddings, training=True)
    for state in distance.non_trainable_variables:  # such as dropout's seed
        if (new := scope.get_current_value(state)) is not None:
            state.assign(new)
    return logits


def with_gradient_if(is_wanted: tf.Tensor, values: tf.Tensor) -> tf.Tensor:
    """Returns `values`; without a gradient unless the scalar is true."""

    @tf.custom_gradient
    def copied(values):
        def gradient(upstream):
            return tf.where(is_wanted, upstream, tf.zeros_like(upstream))

        return tf.identity(values), gradient

    return copied(values)
