"""The default use of embeddings, for methods that define none."""

import tensorflow as tf

from embeddings_tf.ops import distances
from embeddings_tf.ops import gaussian
from embeddings_tf.ops import numerics
from embeddings_tf.ops import prototypes
from embeddings_tf.ops.tensors import require_one_width
from embeddings_tf.ops.tensors import rows_of_one_length


class NearestClassMean:
    """Class means and Euclidean distances, for the embeddings of any loss.

    The default of `Method` for plain losses, and for methods that an objective
    does not implement. A loss that compares by cosine has an attribute
    `distance = "cosine"`; embeddings and class means then have length 1.

    Formula, with a class mean `m_c` of C classes and a query `z`:

    ```
    log p(c | z)     = log softmax over c of -||z - m_c||^2
    log evidence     = log mean over c of exp(-||z - m_c||^2)
    score of a pair  = -||z_1 - z_2||^2
    ```

    Computed in float64: squares of embeddings up to 1e150 do not overflow, and
    differences below 1e-150 count as 0.

    Args:
        cosine: Whether only the directions of embeddings are compared.
        gaussian: Whether embeddings are packed Gaussians; their means are
            compared.
    """

    signatures = ("classify",)

    def __init__(self, *, cosine: bool, gaussian: bool):
        self.cosine = cosine
        self.gaussian = gaussian

    def points(self, embeddings) -> tf.Tensor:
        """Embeddings as points: the means of Gaussians."""
        embeddings = tf.convert_to_tensor(embeddings)
        if self.gaussian:
            embeddings, _ = gaussian.unpack(embeddings)
        return embeddings

    def represent(self, embeddings, class_ids, num_classes) -> tf.Tensor:
        """Class means `(num_classes, dim)`, float64."""
        class_ids = prototypes.require_support(class_ids, num_classes)
        points, _ = self._compared(embeddings)
        means = prototypes.class_means(points, class_ids, num_classes)
        return distances.unit_rows(means) if self.cosine else means

    def log_prob(self, embeddings, means) -> tf.Tensor:
        """Log-probability of every class for every query, at least float32."""
        points, dtype = self._compared(embeddings)
        return prototypes.nearest_mean_log_prob(
            points,
            tf.cast(means, points.dtype),
            dtype if dtype.size > 2 else tf.float32,
        )

    def log_evidence(self, embeddings, means) -> tf.Tensor:
        """Log of the mean over classes of `exp(-distance)`, `(queries,)`."""
        points, dtype = self._compared(embeddings)
        scores = -distances.squared_l2(points, tf.cast(means, points.dtype))
        return numerics.finite(numerics.log_mean_exp(scores), dtype)

    def score_pairs(self, first, second) -> tf.Tensor:
        """Minus the squared distance of two sets of rows, row by row."""
        first, second, dtype = self._two_sets(first, second)
        first, second = rows_of_one_length(first, second)
        squares = tf.math.squared_difference(first, second)
        return numerics.finite(-tf.reduce_sum(squares, axis=-1), dtype)

    def score_all_pairs(self, first, second) -> tf.Tensor:
        """Minus the squared distance of each row with each row, `(n, m)`."""
        first, second, dtype = self._two_sets(first, second)
        squares = distances.squared_l2_in_pieces(first, second)
        return numerics.finite(-squares, dtype)

    def reusable_layers(self) -> dict:
        """Empty: nothing besides the encoder."""
        return {}

    def diagnostics(self) -> dict:
        """Empty: a plain loss has no weights."""
        return {}

    def batch_diagnostics(self, labels, embeddings) -> dict:
        """Empty: only the diagnostics of all embeddings."""
        return {}

    def _two_sets(self, first, second) -> tuple:
        """Two sets as `_compared`, of one width, and the dtype of the first."""
        first, dtype = self._compared(first)
        second, _ = self._compared(second)
        require_one_width(first, second)
        return first, second, dtype

    def _compared(self, embeddings) -> tuple[tf.Tensor, tf.DType]:
        """Points in float64, and the dtype of the embeddings."""
        points = self.points(embeddings)
        dtype = points.dtype
        points = tf.cast(points, tf.float64)
        return distances.unit_rows(points) if self.cosine else points, dtype
