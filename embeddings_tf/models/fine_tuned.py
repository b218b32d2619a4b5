"""Fine-tunes a part of a model with a lower learning rate."""

import keras

from embeddings_tf.compat import every_layer
from embeddings_tf.compat import variable_key
from embeddings_tf.ops.arguments import keras_layer
from embeddings_tf.ops.arguments import number_at_least


@keras.saving.register_keras_serializable(package="embeddings_tf")
class FineTuned(keras.layers.Wrapper):
    """A pretrained network that trains with a lower learning rate, or not.

    `lower_rates(model)` makes the optimizer apply the factor.

    Args:
        layer: The pretrained network.
        learning_rate_factor: In [0, 1]. With 0, the network is frozen and runs
            as in inference.
    """

    def __init__(self, layer, learning_rate_factor: float, **kwargs):
        super().__init__(layer, **kwargs)
        self.learning_rate_factor = number_at_least(
            "learning_rate_factor", learning_rate_factor, 0, maximum=1
        )
        if not self.learning_rate_factor:
            self.layer.trainable = False

    def call(self, inputs, training=None):
        if not self.learning_rate_factor:
            training = False
        return self.layer(inputs, training=training)

    @property
    def metrics(self):
        # A network that was compiled has a metric `loss` of its own, which
        # Keras would log instead of the loss of this training.
        return []

    def get_config(self):
        return {
            **super().get_config(),
            "learning_rate_factor": self.learning_rate_factor,
        }


def lower_rates(model: keras.Model) -> keras.Model:
    """Makes a compiled model train each pretrained part at its own rate.

    The training of an `EmbeddingModel` calls it. Call it yourself after you
    compile an encoder of `backbone_encoder` with a plain loss, and after you
    load such a model. Weight decay of the optimizer keeps the full rate. A
    second call changes nothing.

    Args:
        model: A compiled Keras model, with an encoder of `backbone_encoder`.

    Returns:
        The same model.

    Raises:
        ValueError: If it is not a Keras model, or not compiled.

    Example:

    >>> encoder = embeddings_tf.models.backbone_encoder(
    ...     8, backbone="MobileNetV2", weights=None, image_shape=(32, 32, 3)
    ... )
    >>> encoder.compile("sgd", loss=embeddings_tf.losses.TripletLoss())
    >>> encoder = embeddings_tf.models.lower_rates(encoder)
    """
    optimizer = getattr(keras_layer("model", model), "optimizer", None)
    if optimizer is None:
        raise ValueError(
            "lower_rates needs a compiled model; call model.compile first."
        )
    # Half precision wraps the optimizer.
    optimizer = getattr(optimizer, "inner_optimizer", optimizer)
    parts = [
        layer for layer in every_layer(model) if isinstance(layer, FineTuned)
    ]
    if not any(
        part.learning_rate_factor < 1 and part.trainable_variables
        for part in parts
    ):
        return model
    update_step = type(optimizer).update_step

    def update(gradient, variable, learning_rate):
        key = variable_key(optimizer, variable)
        for part in parts:
            if any(
                key == variable_key(optimizer, weight)
                for weight in part.trainable_variables
            ):
                learning_rate = learning_rate * part.learning_rate_factor
        return update_step(optimizer, gradient, variable, learning_rate)

    optimizer.update_step = update
    return model
