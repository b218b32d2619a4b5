"""The scalar that a model trains on, from one value per example."""

import keras
import tensorflow as tf

from embeddings_tf.ops.global_batch import balance_replicas


@keras.saving.register_keras_serializable(package="embeddings_tf")
class _GivenValues(keras.losses.Loss):
    """Reduces values computed elsewhere, as every Keras loss is reduced.

    Keras divides the mean by the number of replicas inside its losses only;
    going through one keeps one replica and N replicas equal.
    """

    def call(self, y_true, y_pred):
        return y_pred


def training_loss(model, values, sample_weight=None) -> tf.Tensor:
    """Mean of `values` `(batch,)`, plus the regularisers of the model."""
    values = balance_replicas(tf.convert_to_tensor(values))
    loss = _GivenValues(name="loss", dtype="float32")(
        values, values, sample_weight
    )
    return with_regularisers(model, loss)


def with_regularisers(model, loss) -> tf.Tensor:
    """A loss plus the regularisers of the model, once over all replicas."""
    replicas = tf.distribute.get_strategy().num_replicas_in_sync
    for penalty in model.losses:
        loss += tf.cast(penalty, loss.dtype) / replicas
    return loss
