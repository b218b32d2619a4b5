"""The soft contrastive loss: the objective."""

import keras
import tensorflow as tf

from embeddings_tf.objectives.match_objective import MatchObjective
from embeddings_tf.ops import match_probability
from embeddings_tf.ops.global_batch import gather_global_batch
from embeddings_tf.ops.labelled_batch import labelled_batch
from embeddings_tf.ops.tensors import real_matrix
from embeddings_tf.ops.tensors import require_one_width


@keras.saving.register_keras_serializable(package="embeddings_tf")
class SoftContrastive(MatchObjective):
    """Contrastive loss with a learned scale and offset instead of a margin.

    Use it for the probability that two clear inputs match. It is
    `HedgedInstances` for points, without samples and without a constant to
    choose. If inputs may be unclear, use `HedgedInstances`; for a fixed radius
    around a query, use `ContrastiveLoss`. Combine it with an encoder of points
    in `embeddings_tf.models.EmbeddingModel`, and feed batches of several
    classes with several rows each
    (`embeddings_tf.sampling.class_balanced_batches`).

    Formula, with `a > 0` and `b` trained (`scale` and `offset`):

    ```
    p(match | z_1, z_2) = sigmoid(b - a ||z_1 - z_2||)
    v = 1/2 mean over positive pairs of -ln p(match)
      + 1/2 mean over negative pairs of -ln(1 - p(match))
    ```

    Pairs are all pairs of two rows of the batch. A pair is positive if both
    rows have the same class. If the batch has no pairs of one kind, that half
    is 0. Equal rows have the distance 0 with gradient 0. Under
    `tf.distribute`, the pairs are all pairs of the global batch.

    Args:
        dtype, name: As in `keras.layers.Layer`. In half precision, only the
            scores have this dtype; the loss is computed in float32.

    Attributes:
        scale: `a`, a scalar above 0. Starts at 1.
        offset: `b`, a scalar. Starts at 0.

    Call arguments:
        y_true: Class ids `(batch,)`, any integers.
        y_pred: Embeddings `(batch, dim)`.

    Returns:
        `(batch,)`, float32, `v` in every entry.

    Raises:
        ValueError: If labels are not class ids, embeddings not `(batch, dim)`,
            or a class of a method's labels has no support.

    Reference:
        - [Oh et al., 2019](https://arxiv.org/abs/1810.00319), the baseline.
          The weights of pairs and the softplus that keeps `a` above 0 are
          choices of this library.

    Example:

    >>> objective = embeddings_tf.objectives.SoftContrastive()
    >>> z = np.array([[0, 0], [3, 4]], "float32")
    >>> tf.sigmoid(objective.score_pairs(z[:1], z[1:])).numpy().round(3)
    array([0.007], dtype=float32)
    """

    def build(self, y_true_shape, y_pred_shape):
        """Does nothing: the weights do not depend on the embeddings."""

    def call(self, y_true, y_pred):
        labels, local = labelled_batch(y_true, y_pred)
        labels, embeddings = gather_global_batch(labels, local)
        value = match_probability.match_loss(
            labels, embeddings[None], *self._weights(local.dtype), True
        )
        return tf.fill(tf.shape(local)[:1], value)

    def score_pairs(self, first, second) -> tf.Tensor:
        """Log-likelihood ratio of a match, row by row: `ln(p / (1 - p))`.

        Two sets `(n, dim)` give `(n,)`. Every finite embedding has a finite
        result.
        """
        return self._score_pairs(first, second)

    def score_all_pairs(self, first, second) -> tf.Tensor:
        """`score_pairs` of each row of one set with each row of another.

        Returns `(n, m)`. Memory is a few times `n * m` floats, for any
        dimension. Rows closer than 1e-7 of their distance from the middle of
        `second` count as equal, unlike in `score_pairs`.
        """
        return self._score_all_pairs(first, second)

    def log_prob(self, queries, supports, class_ids, num_classes) -> tf.Tensor:
        """Log-probability of every class for every query.

        The most probable class is the class of the nearest support, by
        `score_all_pairs`:

        ```
        p(y | z) = max over supports i of y of p(match | z, z_i)
                   / sum over classes c of the same
        ```

        Args:
            queries: `(queries, dim)`.
            supports: `(supports, dim)`.
            class_ids: `(supports,)` in `[0, num_classes)`, each class at
                least once.
            num_classes: Number of classes.

        Returns:
            `(queries, classes)`.

        Raises:
            ValueError: If a class has no support (in a graph:
                `tf.errors.InvalidArgumentError`).
        """
        return self._log_prob(queries, supports, class_ids, num_classes)

    def log_evidence(
        self, queries, supports, class_ids, num_classes
    ) -> tf.Tensor:
        """Log-likelihood ratio: the query is in any class, versus in none.

        The classes are equally likely. The result is the log of the mean, over
        classes, of the largest `p / (1 - p)`, the one of the nearest support.

        Args:
            queries: `(queries, dim)`.
            supports, class_ids, num_classes: As in `log_prob`.

        Returns:
            `(queries,)`.
        """
        return self._log_evidence(queries, supports, class_ids, num_classes)

    def _samples_and_weights(self, first, second) -> tuple:
        """Points as samples with one entry, scale and offset, in float64."""
        first, second = (
            real_matrix("Embeddings", side, self.compute_dtype)
            for side in (first, second)
        )
        require_one_width(first, second)
        sides = (tf.cast(side[None], tf.float64) for side in (first, second))
        return *sides, *self._weights(tf.float64)
