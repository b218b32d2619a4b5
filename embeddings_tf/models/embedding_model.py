"""An encoder and an objective, trained together by `model.fit`."""

import inspect
import operator

import keras
import tensorflow as tf

from embeddings_tf.compat import every_layer
from embeddings_tf.layers import UncertaintyHead
from embeddings_tf.losses.teachable_rows import LogTeachableRows
from embeddings_tf.losses.teachable_rows import watch_teachable_rows
from embeddings_tf.models.encode_in_pieces import encode_in_pieces
from embeddings_tf.models.fine_tuned import lower_rates
from embeddings_tf.models.gaussian_output import has_gaussian_output
from embeddings_tf.models.gaussian_output import require_match
from embeddings_tf.models.prepare_for_replicas import prepare_for_replicas
from embeddings_tf.models.prepare_for_replicas import (
    synchronize_batch_normalization,
)
from embeddings_tf.models.require_embeddings import require_embeddings
from embeddings_tf.models.training_loss import mean_over_rows
from embeddings_tf.models.training_loss import with_regularisers
from embeddings_tf.models.uncertain_model import UncertainModel
from embeddings_tf.ops.arguments import keras_layer
from embeddings_tf.ops.arguments import positive_integer
from embeddings_tf.ops.arguments import truth

# An encoder is trained by an objective or by a plain loss.
OBJECTIVES = (keras.layers.Layer, keras.losses.Loss)


@keras.saving.register_keras_serializable(package="embeddings_tf")
class EmbeddingModel(UncertainModel):
    """An encoder trained with an objective that owns weights.

    Use it with the layers of `embeddings_tf.objectives`. For a plain loss of
    `embeddings_tf.losses`, compile the encoder itself, unless batches are too
    large for memory (`piece_size`). Calling the model, and `predict`, return
    embeddings. `fit`, `evaluate` and `train_on_batch` pass labels and
    embeddings to the objective. With several replicas, use `fit`,
    `evaluate` and `predict`, not the methods for a single batch.

    With a `piece_size`, a training step has two passes. The first pass embeds
    the batch in pieces. The objective then computes its gradient in all
    embeddings. The second pass encodes each piece again and backpropagates its
    part of this gradient into the weights. Unlike accumulated gradients of
    small batches, the step uses all pairs of the batch. The update equals the
    update of the whole batch up to rounding. The step stores the activations
    of one piece and takes one more forward pass, about a third more time.
    Batch normalisation sees `piece_size` rows. Each piece draws its own noise
    (dropout), equal in both passes. No gradient reaches the inputs.

    With an `uncertainty` head, the model also predicts how large the loss of
    an input is: `predict_uncertainty`. The head is trained beside the encoder,
    which it does not change. If `encoder.trainable` is False, only the head is
    trained; so you can add a head to a trained model:

    ```
    trained = keras.saving.load_model("trained.keras")
    trained.encoder.trainable = False
    model = EmbeddingModel(
        trained.encoder, trained.objective, uncertainty=UncertaintyHead()
    )
    ```

    Args:
        encoder: A Keras model or layer from inputs to embeddings
            `(batch, width)`.
        objective: A layer with `call(y_true, y_pred) -> (batch,)` and
            `build(y_true_shape, y_pred_shape)`, or a `keras.losses.Loss`,
            such as `embeddings_tf.losses.TripletLoss`.
        piece_size: Rows encoded at a time in training; None: all.
        gaussian: Whether the encoder's embeddings are packed Gaussians, for
            your own last layer. None: they are if the encoder ends in
            `GaussianEmbedding`, see `has_gaussian_output`.
        uncertainty: A `layers.UncertaintyHead`, or None.

    Attributes:
        gaussian: Whether embeddings are packed Gaussians, True or False.

    Call arguments:
        inputs: The encoder's inputs.
        training: As in Keras.

    Output shape: The encoder's.

    Raises:
        ValueError: If `encoder` is not a Keras model or layer, `objective` is
            neither a layer nor a loss object, or `uncertainty` is no
            `UncertaintyHead`. If the encoder returns anything but one matrix
            `(batch, width)`. If the objective reads
            Gaussians and the encoder returns points, or the reverse (the
            objective declares this by its attribute `is_gaussian`, False by
            default). If `piece_size` is not None or a positive integer. In
            `fit` and `evaluate`, if the model was compiled with a loss (the
            objective is the loss), or batches have no labels. In
            `train_on_batch` and `test_on_batch`, if there are several
            replicas: Keras would not divide the batch. In `fit` with
            a `piece_size`, if the encoder draws random numbers without its
            own `keras.random.SeedGenerator`.

    Reference:
        - [Scott, Ridgeway & Mozer, 2019](https://arxiv.org/abs/1909.11702)
        - [Gao et al., 2021](https://arxiv.org/abs/2101.06983), for
          `piece_size`.

    Example:

    >>> encoder = keras.Sequential(
    ...     [keras.Input((8,)), embeddings_tf.layers.GaussianEmbedding(2)]
    ... )
    >>> model = embeddings_tf.models.EmbeddingModel(
    ...     encoder, embeddings_tf.objectives.StochasticPrototypes(5)
    ... )
    >>> model.compile(optimizer="adam")

    A plain loss on batches of which only 64 rows at a time fit into memory:

    >>> model = embeddings_tf.models.EmbeddingModel(
    ...     embeddings_tf.models.mnist_encoder(),
    ...     embeddings_tf.losses.TripletLoss(),
    ...     piece_size=64,
    ... )
    >>> model.compile(optimizer="adam")
    """

    def __init__(
        self,
        encoder,
        objective,
        *,
        piece_size: int | None = None,
        gaussian: bool | None = None,
        uncertainty: UncertaintyHead | None = None,
        **kwargs,
    ):
        # The encoder casts its inputs: it may need them in float32.
        super().__init__(**{"autocast": False, **kwargs})
        keras_layer("encoder", encoder)
        _require_objective(objective)
        self._is_given = gaussian is not None
        self.gaussian = truth("gaussian", gaussian) if self._is_given else False
        self.encoder = prepare_for_replicas(encoder)
        self.objective = objective
        self.piece_size = piece_size
        if piece_size is not None:
            self.piece_size = positive_integer("piece_size", piece_size)
            # XLA does not support arrays of pieces of different length.
            self.supports_jit = False
        if not self._is_plain_loss():
            # All replicas draw the same noise for the global batch, and each
            # replica its own for its own rows.
            synchronize_batch_normalization(objective)
            for layer in getattr(objective, "layers_of_own_rows", ()):
                prepare_for_replicas(layer)
        self._check_gaussian()
        if hasattr(objective, "batch_needs"):
            watch_teachable_rows(self, objective)
        self._add_uncertainty(uncertainty)
        if uncertainty is not None and not self._is_plain_loss():
            # With a frozen encoder, only the head is trained.
            if self._is_frozen():
                objective.trainable = False
        if encoder.built and getattr(encoder, "input_shape", None) is not None:
            self.build(encoder.input_shape)

    def build(self, input_shape):
        if not self.encoder.built:
            self._encode_shapes(input_shape)
            self._check_gaussian()  # the last layer may be new
        output_shape = self.compute_output_shape(input_shape)
        require_embeddings(
            keras.tree.map_shape_structure(keras.KerasTensor, output_shape)
        )
        if not self._is_plain_loss() and not self.objective.built:
            _require_build(self.objective)
            self.objective.build((None,), output_shape)
        self._build_uncertainty(output_shape[-1])
        self.built = True

    def _check_gaussian(self) -> None:
        if not self._is_given:
            self.gaussian = has_gaussian_output(self.encoder)
        require_match(self.gaussian, self.objective)

    def _is_frozen(self) -> bool:
        """Whether the user has frozen the encoder."""
        # `Sequential` does not save its own `trainable`, only its layers'.
        parts = every_layer(self.encoder)
        has_frozen = any(part.weights and not part.trainable for part in parts)
        return has_frozen and not self.encoder.trainable_weights

    def _is_plain_loss(self) -> bool:
        """Whether the objective is a loss, without weights."""
        return not isinstance(self.objective, keras.layers.Layer)

    def call(self, inputs, training=None):
        if not training or self.piece_size is None:
            return self.encoder(inputs, training=training)
        embeddings, penalty = encode_in_pieces(
            self.encoder, inputs, self.piece_size
        )
        if penalty is not None:
            self.add_loss(penalty)
        return embeddings

    def compute_output_shape(self, input_shape):
        try:
            shape = self.encoder.compute_output_shape(input_shape)
        except NotImplementedError:  # a subclassed model
            outputs = self._encode_shapes(input_shape)
            require_embeddings(outputs)
            return outputs.shape
        if isinstance(shape, list) and len(shape) == 1:
            (shape,) = shape  # a functional model returns a tensor
        if isinstance(shape, tf.TensorShape):
            return tuple(shape)
        # With NumPy integers, Keras takes a shape for several outputs.
        return keras.tree.map_structure(
            lambda size: None if size is None else operator.index(size), shape
        )

    def _encode_shapes(self, input_shape) -> keras.KerasTensor:
        """Runs the encoder without data; this builds any encoder."""
        return self.encoder(
            keras.tree.map_shape_structure(keras.KerasTensor, input_shape)
        )

    def fit(self, *args, **kwargs):
        given = inspect.signature(keras.Model.fit).bind(self, *args, **kwargs)
        callbacks = given.arguments.get("callbacks")
        # First, so that other callbacks see its log.
        log = LogTeachableRows()
        if isinstance(callbacks, keras.callbacks.CallbackList):
            callbacks.callbacks.insert(0, log)
            log.set_model(self)
        else:
            callbacks = [log, *keras.tree.flatten(callbacks or [])]
        given.arguments["callbacks"] = callbacks
        return super().fit(*given.args[1:], **given.kwargs)

    def make_train_function(self, force=False):
        if self.optimizer is not None:
            lower_rates(self)
        super().make_train_function(force)

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
        # The pass for the head replaces the penalties of the training pass.
        penalties = list(self.losses)
        head_loss, y_pred = self._loss_of_head(
            x, y, y_pred, sample_weight, training
        )
        if head_loss is not None and self._is_frozen():
            return with_regularisers(head_loss, penalties)
        if self._is_plain_loss():
            loss = self.objective(y, y_pred, sample_weight)
        else:
            num_regularisers = len(self.objective.losses)
            values = self.objective(y, y_pred, training=training)
            # Keras lists what the call has added before regularisers.
            added = self.objective.losses
            penalties += added[: len(added) - num_regularisers]
            loss = mean_over_rows(values, sample_weight)
        loss = with_regularisers(loss, penalties)
        if head_loss is None:
            return loss
        return loss + tf.cast(head_loss, loss.dtype)

    def get_config(self):
        head = self.uncertainty
        if head is not None:
            head = keras.saving.serialize_keras_object(head)
        return {
            **super().get_config(),
            "encoder": keras.saving.serialize_keras_object(self.encoder),
            "objective": keras.saving.serialize_keras_object(self.objective),
            "piece_size": self.piece_size,
            "gaussian": self.gaussian,
            **({} if head is None else {"uncertainty": head}),
        }

    @classmethod
    def from_config(cls, config):
        config = dict(config)
        # In this order, in which layers without a seed draw theirs.
        for part in ("encoder", "objective", "uncertainty"):
            if part in config:
                config[part] = keras.saving.deserialize_keras_object(
                    config[part]
                )
        return cls(**config)


def _require_objective(objective) -> None:
    if not isinstance(objective, OBJECTIVES):
        raise ValueError(
            "`objective` must be a layer of embeddings_tf.objectives or a loss "
            "object, such as embeddings_tf.losses.TripletLoss(); received "
            f"{objective!r}."
        )


def _require_build(objective) -> None:
    try:
        inspect.signature(objective.build).bind((None,), (None, None))
    except TypeError as error:
        name = type(objective).__name__
        raise ValueError(
            "`objective` must define build(y_true_shape, y_pred_shape), which "
            f"makes its weights; {name}.build takes other arguments. Define "
            "it, or derive an objective without weights from keras.losses.Loss."
        ) from error
