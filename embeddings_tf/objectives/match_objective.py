"""The base class of objectives that learn the probability of a match."""

import keras
import tensorflow as tf

from embeddings_tf.objectives.pair_objective import PairObjective
from embeddings_tf.ops import match_probability
from embeddings_tf.ops import numerics
from embeddings_tf.ops import positive_weight
from embeddings_tf.ops import prototypes
from embeddings_tf.ops.labelled_batch import labelled_batch
from embeddings_tf.ops.tensors import rows_of_one_length


class MatchObjective(PairObjective):
    """Contains scale `a` and offset `b` of `sigmoid(b - a * distance)`.

    In few-shot classification, all supports represent a class. Its score is
    the score of the support that matches best.

    Subclasses have `_samples_and_weights(first, second, *sampling)`. It returns
    samples of two sets of rows, and scale and offset, all in float64. The
    public methods of a subclass pass its arguments `sampling`.
    """

    signatures = ("classify", "score_pairs")

    def __init__(self, *, dtype="float32", **kwargs):
        super().__init__(dtype=dtype, **kwargs)
        # They do not depend on the embeddings, so methods work before build.
        self.raw_scale = self.add_weight(
            name="raw_scale",
            shape=(),
            initializer=keras.initializers.Constant(
                positive_weight.inverse("softplus", 1.0)
            ),
        )
        self.offset = self.add_weight(
            name="offset", shape=(), initializer="zeros"
        )

    @property
    def scale(self) -> tf.Tensor:
        """The trainable `a`, positive: a larger one makes fewer matches."""
        return tf.nn.softplus(tf.convert_to_tensor(self.raw_scale))

    def represent(self, embeddings, class_ids, num_classes) -> tuple:
        """Represents classes by all of their supports.

        Returns:
            The arguments of `log_prob` after the queries: the supports, their
            classes in `[0, num_classes)`, and the number of classes.
        """
        return prototypes.all_supports(embeddings, class_ids, num_classes)

    def diagnostics(self) -> dict:
        """The learned `scale` and `offset`."""
        scale, offset = self._weights()
        return {"scale": scale, "offset": offset}

    def _weights(self, dtype=None) -> tuple[tf.Tensor, tf.Tensor]:
        """Scale and offset."""
        weights = self.scale, tf.convert_to_tensor(self.offset)
        return tuple(tf.cast(x, dtype or x.dtype) for x in weights)

    def _finite(self, values) -> tf.Tensor:
        """Values of float64 in the dtype of the scores, not infinite."""
        return numerics.finite(values, self._score_dtype)

    @property
    def _score_dtype(self) -> tf.DType:
        """The `dtype` of the objective, also half precision."""
        return tf.as_dtype(self.dtype_policy.compute_dtype)

    def _score_pairs(self, *pair) -> tf.Tensor:
        first, second, *weights = self._samples_and_weights(*pair)
        sides = rows_of_one_length(first, second, axis=1)
        return self._finite(match_probability.logit_by_row(*sides, *weights))

    def _score_all_pairs(self, *pair) -> tf.Tensor:
        tensors = self._samples_and_weights(*pair)
        return self._finite(match_probability.logit_of_all_pairs(*tensors))

    def _log_prob(
        self, queries, supports, class_ids, num_classes, *sampling
    ) -> tf.Tensor:
        class_ids, supports = labelled_batch(class_ids, supports)
        tensors = self._samples_and_weights(queries, supports, *sampling)
        log_match = match_probability.log_match(*tensors)
        best = prototypes.best_of_class(log_match, class_ids, num_classes)
        return prototypes.log_prob_of_scores(best, self._score_dtype)

    def _log_evidence(
        self, queries, supports, class_ids, num_classes, *sampling
    ) -> tf.Tensor:
        class_ids, supports = labelled_batch(class_ids, supports)
        tensors = self._samples_and_weights(queries, supports, *sampling)
        logits = match_probability.logit_of_all_pairs(*tensors)
        best = prototypes.best_of_class(logits, class_ids, num_classes)
        return self._finite(numerics.log_mean_exp(best))
