"""Logs the spread of held-out embeddings after every epoch."""

import numpy as np
from scipy import spatial
from scipy import special

from embeddings_tf.callbacks.embedding_evaluation import EmbeddingEvaluation
from embeddings_tf.metrics import arrays
from embeddings_tf.models.method import Method
from embeddings_tf.ops import gaussian


class EmbeddingDiagnostics(EmbeddingEvaluation):
    """Logs the spread of held-out embeddings, to see why training fails.

    Use it in any `model.fit` whose model returns embeddings, listed before
    callbacks that read the logs. The logs show a collapse to one point (all
    distances fall) or to a line (the effective rank falls to 1), and a loss
    without a gradient (no active pairs or triplets). To measure the quality
    of embeddings, use `EmbeddingEvaluation`.

    | name | meaning |
    |---|---|
    | `val_distance_within` | mean distance of two embeddings of one class |
    | `val_distance_between` | mean distance of embeddings of two classes |
    | `val_norm` | mean length of an embedding |
    | `val_effective_rank` | number of directions that the embeddings use |
    | `val_variance` | mean predicted variance, for Gaussians |
    | `val_variance_share` | its share in the total variance |
    | `val_variance_variation` | its relative spread over inputs |
    | `val_active_triplets` | share of triplets with gradient (`TripletLoss`) |
    | `val_active_negatives` | the same for negative pairs (`ContrastiveLoss`) |
    | `noise_variance` | learned by `StochasticPrototypes` |
    | `scale`, `offset` | learned by `HedgedInstances`, `SoftContrastive` |

    Distances are Euclidean, between means for Gaussians. The effective rank is
    the exponential of the entropy of the singular values of the centred
    embeddings, divided by their sum: 1 on a line, at most the dimension.
    Objectives and losses can add values (docs/own_objective.md).

    Args:
        x: Held-out inputs that `model.predict` accepts in slices. Time and
            memory grow with the square of their number; use about 1,000.
        labels: `(n,)` integers.
        batch_size: Number of inputs embedded at once.

    Raises:
        ValueError: If `x` and `labels` differ in length or are empty, if no
            class has two inputs or there is only one class, or if a value is
            not finite.

    Reference:
        - [Roy & Vetterli, 2007](https://ieeexplore.ieee.org/document/7098875),
          the effective rank.

    Example:

    >>> x, labels = np.random.rand(20, 8), np.arange(20) % 4
    >>> watch = embeddings_tf.callbacks.EmbeddingDiagnostics(x, labels)
    >>> encoder = keras.Sequential([keras.Input((8,)), keras.layers.Dense(2)])
    >>> encoder.compile(loss=embeddings_tf.losses.TripletLoss())
    >>> history = encoder.fit(x, labels, verbose=0, callbacks=[watch])
    >>> sorted(history.history)[1:4]
    ['val_active_triplets', 'val_distance_between', 'val_distance_within']
    """

    def __init__(self, x, labels, *, batch_size: int = 256):
        super().__init__(x, labels, batch_size=batch_size)
        self.labels = arrays.integers("labels", self.labels, 1, "(n,)")
        count = np.unique(self.labels, return_counts=True)[1]
        if len(count) < 2 or count.max() < 2:
            raise ValueError(
                "Distances within and between classes need two classes, one of "
                f"them with two inputs; received {len(count)} classes, the "
                f"largest with {count.max()} inputs."
            )

    def measure(self, embeddings) -> dict[str, float]:
        method = Method(self.model)
        points = method.points(embeddings).numpy().astype(np.float64)
        first, second = np.triu_indices(len(points), 1)
        distances = spatial.distance.pdist(points)
        is_same = self.labels[first] == self.labels[second]
        values = {
            "distance_within": distances[is_same].mean(),
            "distance_between": distances[~is_same].mean(),
            "norm": np.linalg.norm(points, axis=1).mean(),
            "effective_rank": effective_rank(points),
        }
        if method.is_gaussian:
            values["variance"] = gaussian.unpack(embeddings)[1].numpy().mean()
        values |= method.batch_diagnostics(self.labels, embeddings)
        return {name: float(value) for name, value in values.items()}

    def on_epoch_end(self, epoch, logs=None):
        super().on_epoch_end(epoch, logs)
        if logs is not None:
            logs.update(Method(self.model).diagnostics())


def effective_rank(points: np.ndarray) -> float:
    """`exp` of the entropy of the singular values; 0 if all rows are equal."""
    if not np.isfinite(points).all():
        return np.nan  # the decomposition does not converge
    sizes = np.linalg.svd(points - points.mean(axis=0), compute_uv=False)
    if not sizes.sum():
        return 0.0
    share = sizes / sizes.sum()
    return float(np.exp(special.entr(share).sum()))
