"""Logs the spread of held-out embeddings after every epoch."""

import numpy as np

from embeddings_tf.callbacks.embedding_evaluation import EmbeddingEvaluation
from embeddings_tf.callbacks.embedding_measures import embedding_measures
from embeddings_tf.models.method import Method


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
    | `val_active_...` | share of triplets, pairs or queries with gradient |
    | `noise_variance` | learned by `StochasticPrototypes` |
    | `scale`, `offset` | learned by `HedgedInstances`, `SoftContrastive` |

    Distances are Euclidean, between means for Gaussians. The effective rank is
    the exponential of the entropy of the singular values of the centred
    embeddings, divided by their sum: 1 on a line, at most the dimension.
    `TrainingDiagnostics` lists the shares with gradient of each method.
    Objectives and losses can add values (docs/own_objective.md).

    Args:
        x: Held-out inputs that `model.predict` accepts in slices. Time and
            memory grow with the square of their number; use about 1,000.
        labels: `(n,)` integers.
        batch_size: Number of inputs embedded at once.

    Raises:
        FloatingPointError: If an embedding is not finite after an epoch: the
            training has diverged.
        ValueError: If `x` and `labels` differ in length or are empty, if no
            class has two inputs or there is only one class, or if an input or
            a value is not finite.

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
        if len(np.unique(self.labels)) < 2:
            raise ValueError(
                "Distances within and between classes need two classes; "
                "received one."
            )

    def measure(self, embeddings) -> dict[str, float]:
        method = Method(self.model)
        return embedding_measures(method, self.labels, embeddings)

    def on_epoch_end(self, epoch, logs=None):
        super().on_epoch_end(epoch, logs)
        if logs is not None:
            logs.update(Method(self.model).diagnostics())
