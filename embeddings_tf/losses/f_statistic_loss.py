"""The F-statistic loss: separates classes along a few dimensions."""

import dataclasses

import keras
import tensorflow as tf

from embeddings_tf.losses.embedding_loss import EmbeddingLoss
from embeddings_tf.ops import pairs
from embeddings_tf.ops.arguments import one_of
from embeddings_tf.ops.arguments import positive_integer
from embeddings_tf.ops.arguments import truth
from embeddings_tf.ops.batch_needs import PAIRS
from embeddings_tf.ops.batch_needs import BatchNeeds
from embeddings_tf.ops.differentiable_once import differentiable_once
from embeddings_tf.ops.f_statistic import value_and_gradient
from embeddings_tf.ops.undecided_tests import share_of_undecided_tests

GRAND_MEANS = ("class_means", "instances")
DIRECTIONS = ("separate", "merge")


def f_statistic_loss(
    y_true,
    y_pred,
    num_dims: int = 2,
    grand_mean: str = "class_means",
    direction: str = "separate",
    *,
    equal_variance: bool = True,
) -> tf.Tensor:
    """Negative log-probability that classes differ, summed over class pairs.

    The function behind `FStatisticLoss`, which documents it.
    `compile` takes the class.

    Args:
        y_true: Class ids `(batch,)` or `(batch, 1)`.
        y_pred: Embeddings `(batch, dim)`.
        num_dims, grand_mean, direction, equal_variance: As in
            `FStatisticLoss`.

    Returns:
        `(batch,)`, the value of the global batch in every entry.

    Example:

    >>> z = np.array([[0], [1], [2], [1], [1], [3], [4], [5], [4], [4]])
    >>> labels = [0, 0, 0, 0, 0, 1, 1, 1, 1, 1]
    >>> value = embeddings_tf.losses.f_statistic_loss(labels, z / 1.0, 1)[0]
    >>> print(f"{value:.4e}")
    1.5143e-04
    """
    num_dims = positive_integer("num_dims", num_dims)
    one_of("grand_mean", grand_mean, GRAND_MEANS)
    one_of("direction", direction, DIRECTIONS)
    equal_variance = truth("equal_variance", equal_variance)

    # The gradient is computed in the forward pass, so no per-pair tensors are
    # stored. It is taken in the log of the ratio: the gradient of betainc is
    # infinite where means coincide, and 0/0 where merging starts.
    @tf.custom_gradient
    def value(labels, embeddings):
        _require_dimensions(num_dims, embeddings.shape[-1])
        value, gradient = value_and_gradient(
            labels,
            tf.stop_gradient(embeddings),  # else an eager tape keeps all
            num_dims,
            grand_mean,
            direction,
            equal_variance,
        )

        def backward(upstream):
            upstream = differentiable_once(
                upstream, embeddings, "f_statistic_loss"
            )
            return None, upstream * gradient

        return value, backward

    return pairs.set_wise(value, y_true, y_pred)


def _require_dimensions(num_dims: int, dim: int | None) -> None:
    """Raises ValueError if embeddings have too few dimensions."""
    if dim is not None and num_dims > dim:
        raise ValueError(
            "`num_dims` must not exceed the dimension of the embeddings; "
            f"received num_dims={num_dims} and embeddings of dimension {dim}. "
            "Lower it, or widen the encoder's last layer."
        )


@keras.saving.register_keras_serializable(package="embeddings_tf")
class FStatisticLoss(EmbeddingLoss):
    """Separates classes along a few dimensions, chosen per pair of classes.

    Use it for embeddings whose single dimensions should have a meaning. It
    separates two classes along the `num_dims` dimensions in which they already
    differ most; all other dimensions are free. It has no margin: it tests
    whether the means of two classes differ, given their spread, and stops
    improving a pair once the difference is certain. Batches contain several
    instances of several classes
    (`embeddings_tf.sampling.class_balanced_batches`), or the values of one
    factor at a time (`factor_batches`).

    Formula, for two classes with `n_1`, `n_2` instances and means `m_1`,
    `m_2` in one dimension, and `n = n_1 + n_2 - 2`:

    ```
    m   = (m_1 + m_2) / 2                                    (grand mean)
    s   = n * sum over i of n_i (m_i - m)^2
            / sum over i, j of (z_ij - m_i)^2
    Phi = P(S < s | equal means) = I_{s / (s + n)}(1/2, n/2)   (Eq. 1)
    v   = -sum over unordered pairs of classes in the batch,
           sum over the num_dims dimensions of largest Phi, of ln Phi
    ```

    with `I` the regularised incomplete beta function. `v` is a sum over the
    pairs, not a mean. If the true means are equal, `Phi` is uniform on (0, 1);
    with `grand_mean="class_means"` this needs equal counts.

    `s` and `v` do not depend on scale and offset, so embeddings of size 1e-30
    or 1e30 work, which half precision cannot hold. Counts may differ. Sums use
    float64, and `ln Phi` and `ln (1 - Phi)` are computed in log space, so
    values and gradients are accurate for coinciding and for widely separated
    means. The only limit is that `s / n` is clipped to [1e-37, 1e37]. Beyond
    the clip (means coincide exactly, or two classes have no spread), a pair
    has no gradient in that dimension. `-ln Phi` is then
    42.6 - ln(2 / B(1/2, n/2)) for coinciding means (41.4 for n = 18), and 0
    for classes without spread.

    A batch of one class has the value 0. A pair of single instances has no
    spread (n = 0) and counts 0; a single instance against a class of several is
    a valid test. Dimensions in which all points coincide are chosen last. Under
    `tf.distribute` the batch is the global batch.

    Args:
        num_dims: Number of dimensions in which two classes have to differ; the
            paper's d, its only parameter.
        grand_mean: `"class_means"`, the published mean of the two class
            means, or `"instances"`, the textbook's mean over all instances.
            With `"instances"`, `s` has an exact F distribution for all counts.
            With equal counts both are the same.
        direction: `"separate"`, or `"merge"` for dimensions or factors in
            which classes should *not* differ: then `v` sums `-ln(1 - Phi)`
            over the same dimensions. The clip limits it to about 42.6 n per
            dimension, the value of classes without spread.
        equal_variance: False for Welch's test: in each dimension,
            `s = (m_1 - m_2)^2 / (v_1 + v_2)`, with `v_i` the squared standard
            error of `m_i`, and `n` by Welch and Satterthwaite, which is
            treated as a constant in the gradient. Welch's test ignores
            `grand_mean` and classes of one instance.
        reduction, name, dtype: As in `keras.losses.Loss`. The default is
            float32, because sums over a batch need its precision.

    Call arguments:
        y_true: Class ids `(batch,)` or `(batch, 1)`.
        y_pred: Embeddings `(batch, dim)`, not normalised.

    Returns:
        `(batch,)` before the reduction, the same value in every entry.

    Raises:
        ValueError: If an argument is not as described, or if `num_dims`
            exceeds the dimension of the embeddings.

    Reference:
        - [Ridgeway & Mozer, 2018](https://arxiv.org/abs/1802.05312), Eq. 1.
          The paper proposes to invert the loss and tried Welch's test, both
          without a formula; the formulas here are ours.

    Example:

    >>> encoder = keras.Sequential([keras.Input((8,)), keras.layers.Dense(4)])
    >>> loss = embeddings_tf.losses.FStatisticLoss(num_dims=2)
    >>> encoder.compile(optimizer="adam", loss=loss)
    """

    def __init__(
        self,
        num_dims: int = 2,
        grand_mean: str = "class_means",
        direction: str = "separate",
        *,
        equal_variance: bool = True,
        reduction="sum_over_batch_size",
        name="f_statistic_loss",
        dtype="float32",
    ):
        super().__init__(name=name, reduction=reduction, dtype=dtype)
        self.num_dims = positive_integer("num_dims", num_dims)
        self.grand_mean = one_of("grand_mean", grand_mean, GRAND_MEANS)
        self.direction = one_of("direction", direction, DIRECTIONS)
        self.equal_variance = truth("equal_variance", equal_variance)

    @property
    def batch_needs(self) -> BatchNeeds:
        # Welch's test needs the spread of both classes.
        if self.equal_variance:
            return PAIRS
        return dataclasses.replace(PAIRS, rows_of_other=2)

    def call(self, y_true, y_pred):
        return f_statistic_loss(
            y_true,
            y_pred,
            self.num_dims,
            self.grand_mean,
            self.direction,
            equal_variance=self.equal_variance,
        )

    def batch_diagnostics(self, labels, embeddings) -> dict:
        """Returns the share of tests of two classes that are not decided.

        Returns:
            `active_class_pairs`: the share of tests, of a pair of classes in
            one of its `num_dims` dimensions, with `Phi` below 0.99 (merging:
            `1 - Phi`).
        """
        labels, embeddings = self._checked(labels, embeddings)
        _require_dimensions(self.num_dims, embeddings.shape[-1])
        share = share_of_undecided_tests(
            labels,
            embeddings,
            self.num_dims,
            self.grand_mean,
            self.direction,
            self.equal_variance,
        )
        return {"active_class_pairs": share}

    def get_config(self):
        return {
            **super().get_config(),
            "num_dims": self.num_dims,
            "grand_mean": self.grand_mean,
            "direction": self.direction,
            "equal_variance": self.equal_variance,
        }
