"""An encoder and an objective, trained together by `model.fit`."""

import keras

from embeddings_tf.models.training_loss import training_loss


@keras.saving.register_keras_serializable(package="embeddings_tf")
class EmbeddingModel(keras.Model):
    """An encoder trained with an objective that owns weights.

    Use it with the layers of `embeddings_tf.objectives`; an encoder with a
    plain loss of `embeddings_tf.losses` needs no more than `compile(loss=)`.
    Calling the model, and `predict`, give embeddings; `fit`, `evaluate` and
    `train_on_batch` give batches of labels and embeddings to the objective.

    Args:
        encoder: A Keras model or layer from inputs to embeddings
            `(batch, width)`.
        objective: A layer with `call(y_true, y_pred) -> (batch,)` and
            `build(y_true_shape, y_pred_shape)`.

    Call arguments:
        inputs: As the encoder takes them.
        training: As in Keras.

    Output shape: that of the encoder.

    Raises:
        ValueError: In `fit` and `evaluate`, if the model was compiled with a
            loss (the objective is the loss), or batches have no labels.

    Reference:
        - [Scott, Ridgeway & Mozer, 2019](https://arxiv.org/abs/1909.11702)

    Example:

    >>> encoder = keras.Sequential(
    ...     [keras.Input((8,)), embeddings_tf.layers.GaussianEmbedding(2)]
    ... )
    >>> model = embeddings_tf.models.EmbeddingModel(
    ...     encoder, embeddings_tf.objectives.StochasticPrototypes(5)
    ... )
    >>> model.compile(optimizer="adam")
    """

    def __init__(self, encoder, objective, **kwargs):
        super().__init__(**kwargs)
        self.encoder = encoder
        self.objective = objective
        if encoder.built and getattr(encoder, "input_shape", None) is not None:
            self.build(encoder.input_shape)

    def build(self, input_shape):
        if not self.encoder.built:
            self._encode_shapes(input_shape)
        if not self.objective.built:
            self.objective.build(
                (None,), self.compute_output_shape(input_shape)
            )
        self.built = True

    def call(self, inputs, training=None):
        return self.encoder(inputs, training=training)

    def compute_output_shape(self, input_shape):
        try:
            return self.encoder.compute_output_shape(input_shape)
        except NotImplementedError:  # a subclassed model
            return self._encode_shapes(input_shape).shape

    def _encode_shapes(self, input_shape) -> keras.KerasTensor:
        """Runs the encoder without data, which builds any encoder."""
        return self.encoder(
            keras.tree.map_shape_structure(keras.KerasTensor, input_shape)
        )

    def compute_loss(
        self,
        x=None,
        y=None,
        y_pred=None,
        sample_weight=None,
        training=True,
    ):
        if self.loss is not None:
            raise ValueError(
                "An EmbeddingModel is trained by its objective "
                f"({type(self.objective).__name__}); it was compiled with "
                f"loss={self.loss!r}. Compile without a loss, or compile the "
                "encoder itself with the loss."
            )
        if y is None:
            raise ValueError(
                "The objective compares embeddings by their labels; received "
                "a batch without labels. Feed (x, label), for example from "
                "embeddings_tf.datasets.batches."
            )
        values = self.objective(y, y_pred, training=training)
        return training_loss(self, values, sample_weight)

    def get_config(self):
        return {
            **super().get_config(),
            "encoder": keras.saving.serialize_keras_object(self.encoder),
            "objective": keras.saving.serialize_keras_object(self.objective),
        }

    @classmethod
    def from_config(cls, config):
        config = dict(config)
        for part in ("encoder", "objective"):
            config[part] = keras.saving.deserialize_keras_object(config[part])
        return cls(**config)
