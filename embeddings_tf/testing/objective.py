"""The checks of an objective: a loss that owns weights."""

import dataclasses

import keras
import numpy as np
import tensorflow as tf

from embeddings_tf.layers.gaussian_embedding import GaussianEmbedding
from embeddings_tf.models.embedding_model import EmbeddingModel
from embeddings_tf.models.method import Method
from embeddings_tf.testing.degenerate_checks import DegenerateChecks
from embeddings_tf.testing.entry import assert_close
from embeddings_tf.testing.graph_checks import GraphChecks
from embeddings_tf.testing.made_up_batches import NUM_FEATURES
from embeddings_tf.testing.refusal_checks import RefusalChecks
from embeddings_tf.testing.training_checks import TrainingChecks
from embeddings_tf.testing.value_checks import ValueChecks


@dataclasses.dataclass(frozen=True, eq=False)
class Objective(
    DegenerateChecks, GraphChecks, RefusalChecks, TrainingChecks, ValueChecks
):
    """An objective, joined to an encoder by `EmbeddingModel`."""

    def model(self, optimizer="sgd", hidden=()):
        model = EmbeddingModel(self.encoder(*hidden), self.make())
        model.compile(optimizer)
        return model

    def weighted(self, labels, z, weight):
        return self.model().compute_loss(
            y=tf.constant(labels),
            y_pred=tf.constant(z),
            sample_weight=weight,
            training=False,
        )

    def check_weights(self):
        """Each trainable weight is float32 and affects the value."""
        labels, z = self.batch()
        loss = self.new()
        with tf.GradientTape() as tape:
            values = loss(labels, z)
        assert loss.trainable_variables, "the objective has no weights"
        for weight in loss.trainable_variables:
            assert weight.dtype == "float32", f"{weight.path}: {weight.dtype}"
        gradients = tape.gradient(values, loss.trainable_variables)
        assert all(gradient is not None for gradient in gradients), (
            "a weight has no effect"
        )

    def check_few_shot(self):
        """Probabilities of a query do not depend on the other queries."""
        labels, z = self.batch()
        method = Method(self.model())
        classes, class_ids = np.unique(labels, return_inverse=True)
        represented = method.represent(z, class_ids, len(classes))

        def answer(queries):
            return method.log_prob(queries, represented, seed=3).numpy()

        together = answer(z)
        assert together.shape == (len(z), len(classes)), "no log_prob per class"
        assert_close(np.exp(together).sum(axis=1), 1.0, "no probabilities")
        assert_close(answer(z[::-1])[::-1], together, "depends on row order")
        assert_close(answer(z[2:3]), together[2:3], "depends on other rows")
        assert np.isfinite(answer(1e19 * z)).all(), "huge embeddings"

    def check_kind_of_embedding(self):
        """Refuses points if it reads Gaussians, and the reverse."""
        objective = self.make()
        gaussian = GaussianEmbedding
        own = isinstance(self.head(), gaussian)
        head = keras.layers.Dense(4) if own else gaussian(2)
        encoder = keras.Sequential([keras.Input((NUM_FEATURES,)), head])
        try:
            EmbeddingModel(encoder, objective)
        except ValueError as error:
            assert "Gaussian" in str(error), "the error does not say Gaussian"
        else:
            raise AssertionError("an encoder of the other kind is accepted")

    def check_samples(self):
        """Each call draws new samples."""
        labels, z = self.batch()
        loss = self.new()
        first, second = (self.values(labels, z, loss) for _ in range(2))
        assert np.any(first != second), "two calls drew the same samples"
