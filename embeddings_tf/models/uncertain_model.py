"""A model of embeddings that may have an uncertainty head."""

import functools

import keras
import numpy as np
import tensorflow as tf

from embeddings_tf import compat
from embeddings_tf.layers import UncertaintyHead
from embeddings_tf.models.embed_batch import checked_batch
from embeddings_tf.models.embed_batch import num_inputs
from embeddings_tf.models.embed_batch import require_finite_output
from embeddings_tf.models.encoder_features import differs_in_training
from embeddings_tf.models.encoder_features import encoder_features
from embeddings_tf.models.method import Method
from embeddings_tf.models.prepare_for_replicas import prepare_for_replicas
from embeddings_tf.models.prepare_for_replicas import (
    synchronize_batch_normalization,
)
from embeddings_tf.models.training_loss import OwnLossModel
from embeddings_tf.models.training_loss import mean_over_rows
from embeddings_tf.models.uncertainty_loss import uncertainty_loss
from embeddings_tf.ops.arguments import positive_integer

REMEDY = (
    "For several inputs, call `embed_with_uncertainty(inputs)` with a batch."
)


class UncertainModel(OwnLossModel):
    """The part of `EmbeddingModel` that predicts and trains an uncertainty.

    Needs the attributes `encoder`, `objective` and `piece_size` of
    `EmbeddingModel`.
    """

    def _add_uncertainty(self, head: UncertaintyHead | None) -> None:
        """Sets the head; None: no uncertainty."""
        self.uncertainty = head
        if head is None:
            return
        if not isinstance(head, UncertaintyHead):
            raise ValueError(
                "`uncertainty` must be an embeddings_tf.layers.UncertaintyHead "
                f"or None; received {head!r}."
            )
        synchronize_batch_normalization(head)
        # Each replica drops units of its own rows.
        prepare_for_replicas(head.drop)
        # Numbers of queries are known only when a step runs.
        self.supports_jit = False
        self._uncertainty_loss = keras.metrics.Mean(name="uncertainty_loss")

    def compile(self, *args, **kwargs):
        super().compile(*args, **kwargs)
        self._forget_graph()
        if self.uncertainty is not None and self.optimizer is not None:
            # Half precision wraps the optimizer.
            optimizer = self.optimizer
            optimizer = getattr(optimizer, "inner_optimizer", optimizer)
            compat.clip_apart(optimizer, self.uncertainty)

    def _build_uncertainty(self, width: int) -> None:
        """Builds the head, if any, on a built encoder of that width."""
        if self.uncertainty is None:
            return
        head = self.uncertainty
        self._features, size = encoder_features(
            self.encoder, width, head.num_features if head.built else None
        )
        self._differs_in_training = differs_in_training(self.encoder)
        if not head.built:
            head.build((None, size))

    def _loss_of_head(self, x, y, y_pred, sample_weight, training) -> tuple:
        """Returns the head's loss on a batch, and embeddings for the objective.

        The loss is a scalar, or None without a head. The embeddings are
        `y_pred`, or equal embeddings from the pass that computes the features,
        so that a graph needs no other pass.
        """
        if self.uncertainty is None:
            return None, y_pred
        embeddings, features = self._features(x)
        predicted = self.uncertainty(features, training=training)
        values = uncertainty_loss(
            self.uncertainty,
            Method(self),
            y,
            tf.stop_gradient(embeddings),
            predicted,
            sample_weight,
        )
        self._uncertainty_loss.update_state(values)
        one_pass = self.piece_size is None and not self._differs_in_training
        if one_pass or not training:
            y_pred = embeddings
        return mean_over_rows(values), y_pred

    def embed_with_uncertainty(self, inputs) -> tuple[tf.Tensor, tf.Tensor]:
        """Returns embeddings `(batch, width)` and uncertainties `(batch,)`.

        The uncertainty is NaN if a feature of the encoder is not finite.

        Raises:
            ValueError: If the model has no uncertainty head, or is not built.
        """
        if self.uncertainty is None or not self.built:
            raise ValueError(
                "The model has no uncertainty: give it a head and train it, "
                "EmbeddingModel(encoder, objective, uncertainty=embeddings_tf"
                ".layers.UncertaintyHead()), and call it once."
            )
        embeddings, features = self._features(inputs)
        found = self.uncertainty(features, training=False)
        # The layers of the head hide NaN and infinite features.
        is_finite = tf.reduce_all(tf.math.is_finite(features), axis=-1)
        return embeddings, tf.where(is_finite, found, np.nan)

    def predict_uncertainty(self, x, batch_size: int = 256) -> np.ndarray:
        """Returns the uncertainty of each input, `(n,)`.

        It is the loss that the head expects: larger means less certain. Only
        compare uncertainties of one model.

        Args:
            x: Inputs that `predict` accepts in slices.
            batch_size: Number of inputs at once.

        Raises:
            ValueError: If the model has no uncertainty head, inputs do not
                have the model's shape or are complex, or an input or its
                uncertainty is not finite.
        """
        batch_size = positive_integer("batch_size", batch_size)
        parts = [np.zeros(0, "float32")]
        for first in range(0, num_inputs("x", x, REMEDY), batch_size):
            rows = slice(first, first + batch_size)
            batch = checked_batch("x", self, x, rows, REMEDY)
            found = self._predict_batch(tf.convert_to_tensor(batch))
            require_finite_output(
                "The uncertainty of input", found.numpy(), first
            )
            parts.append(found)
        return np.concatenate(parts)

    def quantize(self, *args, **kwargs):
        """Quantizes the encoder, with the arguments of `keras.Model.quantize`.

        The head and the objective keep their precision: Keras can save
        quantized layers inside them, but not load them.
        """
        # Also for an encoder that is a layer, with the filters of a model.
        without_head = keras.Model()
        without_head.encoder = self.encoder
        without_head.built = self.encoder.built
        without_head.quantize(*args, **kwargs)
        self.train_function = self.test_function = None
        self.predict_function = None
        self._forget_graph()

    def _forget_graph(self) -> None:
        """Has the next prediction traced again, with changed layers."""
        self.__dict__.pop("_predict_batch", None)

    @functools.cached_property
    def _predict_batch(self):
        @tf.function(reduce_retracing=True, autograph=False)
        def predict(inputs):
            return self.embed_with_uncertainty(inputs)[1]

        return predict
