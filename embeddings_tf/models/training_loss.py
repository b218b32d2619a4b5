"""Computes a model's scalar training loss from one value per example."""

import keras
import tensorflow as tf

from embeddings_tf import compat
from embeddings_tf.ops.global_batch import balance_replicas
from embeddings_tf.ops.sample_weights import weight_per_row


class _GivenValues(keras.losses.Loss):
    """Reduces values computed elsewhere like every Keras loss.

    Keras divides the mean by the number of replicas only inside its losses, so
    this loss keeps one replica and N replicas equal.
    """

    def call(self, y_true, y_pred):
        return y_pred


class OwnLossModel(keras.Model):
    """A model with its own loss; `loss` is set by the last `compile`.

    Keras keeps the loss of an earlier `compile` if the last has none.
    """

    def compile(self, *args, **kwargs):
        self.loss = None
        super().compile(*args, **kwargs)
        if self.optimizer is not None:
            with self.distribute_strategy.scope():
                compat.sum_gradients_first(self.optimizer)

    def make_train_function(self, force=False):
        # Keras would make the variables of the optimizer in the first step,
        # which TensorFlow then traces twice.
        optimizer = self.optimizer
        if self.built and optimizer is not None and not optimizer.built:
            with self.distribute_strategy.scope():
                optimizer.build(self.trainable_variables)
        super().make_train_function(force)

    def train_on_batch(self, *args, **kwargs):
        self._require_one_replica("train_on_batch", "fit")
        return super().train_on_batch(*args, **kwargs)

    def test_on_batch(self, *args, **kwargs):
        self._require_one_replica("test_on_batch", "evaluate")
        return super().test_on_batch(*args, **kwargs)

    def _require_one_replica(self, method: str, remedy: str) -> None:
        """Raises ValueError if Keras would give each replica the whole batch.

        The loss of the global batch would then see every row several times.
        """
        num_replicas = self.distribute_strategy.num_replicas_in_sync
        if num_replicas > 1:
            raise ValueError(
                f"`{method}` needs one replica, because Keras gives the whole "
                f"batch to each replica; there are {num_replicas}. Use "
                f"`{remedy}`, which divides the batch."
            )

    def compile_from_config(self, config):
        # Keras's own method refuses models that override `compile`.
        self.compile(**keras.saving.deserialize_keras_object(config))
        if self.built and self.optimizer is not None:
            self.optimizer.build(self.trainable_variables)


def training_loss(model, values, sample_weight=None) -> tf.Tensor:
    """Mean of `values` `(batch,)`, plus the regularisers of the model."""
    loss = mean_over_rows(values, sample_weight)
    return with_regularisers(loss, model.losses)


def mean_over_rows(values, sample_weight=None) -> tf.Tensor:
    """Mean of `values` `(batch,)`, reduced like every Keras loss.

    The mean of no values is 0.
    """
    values = tf.convert_to_tensor(values)
    sample_weight = weight_per_row(sample_weight, values)
    values = balance_replicas(values)
    reduction = _GivenValues(name="loss", dtype="float32")
    # Keras does not reduce values of the static shape (0,).
    return tf.reduce_sum(reduction(values, values, sample_weight))


def with_regularisers(loss, penalties) -> tf.Tensor:
    """A loss plus the `losses` of its model, once over all replicas."""
    replicas = tf.distribute.get_strategy().num_replicas_in_sync
    for penalty in penalties:
        # One value for each row is summed, as in Keras.
        loss += tf.cast(tf.reduce_sum(penalty), loss.dtype) / replicas
    return loss
