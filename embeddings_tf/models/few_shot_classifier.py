"""Few-shot classification with a trained model."""

from typing import NamedTuple

import numpy as np
import tensorflow as tf

from embeddings_tf.models.gaussian_output import has_gaussian_output
from embeddings_tf.objectives import HedgedInstances
from embeddings_tf.objectives import StochasticPrototypes
from embeddings_tf.ops import gaussian
from embeddings_tf.ops import prototypes
from embeddings_tf.ops.prototypes import require_support

NUM_SAMPLES = 200


class Supports(NamedTuple):
    """What stands for the classes where every support counts for itself.

    packed: `(supports, 2 * dim)`.
    class_ids: int32 `(supports,)`.
    num_classes: int32 scalar.
    """

    packed: tf.Tensor
    class_ids: tf.Tensor
    num_classes: tf.Tensor


def class_prototypes(model, embeddings, class_ids, num_classes):
    """What stands for the classes of labelled embeddings.

    Packed Gaussians `(num_classes, 2 * dim)` for a model trained with
    `StochasticPrototypes`, all of them as `Supports` for one trained with
    `HedgedInstances`, else class means `(num_classes, dim)`.
    `class_ids` are `(n,)` in `[0, num_classes)`, each at least once.
    """
    objective = getattr(model, "objective", None)
    if isinstance(objective, StochasticPrototypes):
        return objective.prototypes(embeddings, class_ids, num_classes)
    if isinstance(objective, HedgedInstances):
        class_ids = require_support(class_ids, num_classes)
        return Supports(
            tf.convert_to_tensor(embeddings),
            class_ids,
            tf.convert_to_tensor(num_classes, tf.int32),
        )
    embeddings = tf.convert_to_tensor(embeddings)
    if has_gaussian_output(model):
        embeddings, _ = gaussian.unpack(embeddings)
    class_ids = require_support(class_ids, num_classes)
    return prototypes.class_means(embeddings, class_ids, num_classes)


def class_log_prob(
    model, embeddings, prototypes_, num_samples=None, seed=None
) -> tf.Tensor:
    """Log-probabilities `(queries, classes)` of embeddings given prototypes.

    By sampling (`log_prob` of the objective) where embeddings are compared as
    Gaussians, else softmax of minus the squared distance. `num_samples` None
    is 200 for `StochasticPrototypes`, for `HedgedInstances` those of training.
    """
    objective = getattr(model, "objective", None)
    if isinstance(objective, StochasticPrototypes):
        return objective.log_prob(
            embeddings,
            prototypes_,
            num_samples=NUM_SAMPLES if num_samples is None else num_samples,
            seed=seed,
        )
    if isinstance(objective, HedgedInstances):
        return objective.log_prob(
            embeddings, *prototypes_, num_samples=num_samples, seed=seed
        )
    embeddings = tf.convert_to_tensor(embeddings)
    if has_gaussian_output(model):
        embeddings, _ = gaussian.unpack(embeddings)
    return prototypes.nearest_mean_log_prob(embeddings, prototypes_)


class FewShotClassifier:
    """Learns new classes from a few labelled examples, without training.

    Use it with a trained `EmbeddingModel` with `StochasticPrototypes`, or
    with any encoder trained with `PrototypicalLoss`: supports in, prototypes
    kept, queries answered. With `HedgedInstances` all supports are kept, and
    a query is of the class of the one that matches best. The names are those
    of scikit-learn.

    Formula: that of `StochasticPrototypes` (Eqs. 5 and 7), of
    `HedgedInstances.log_prob`, or of `PrototypicalLoss`.

    Args:
        model: The trained model.
        num_samples: Samples per query. None: 200 with
            `StochasticPrototypes`; with `HedgedInstances`, of which every
            support has as many, those of training.
        seed: Seed of the samples: the same queries in the same batches get
            the same answer.
        batch_size: Inputs embedded and answered at once.

    Attributes:
        classes_: The labels seen by `fit`, sorted, `(classes,)`.
        prototypes_: `(classes, 2 * dim)` packed Gaussians, or `(classes,
            dim)`; with `HedgedInstances` the supports, `(supports, 2 * dim)`,
            their classes as positions in `classes_`, and how many there are.

    Raises:
        ValueError: If supports and labels differ in length or are empty, if
            an input or an embedding is not finite, or if `fit` was not
            called.

    Reference:
        - [Snell, Swersky & Zemel, 2017](https://arxiv.org/abs/1703.05175)
        - [Scott, Ridgeway & Mozer, 2019](https://arxiv.org/abs/1909.11702)
        - [Oh et al., 2019](https://arxiv.org/abs/1810.00319)

    Example:

    >>> encoder = keras.Sequential([keras.Input((2,)), keras.layers.Identity()])
    >>> classifier = embeddings_tf.models.FewShotClassifier(encoder)
    >>> support = np.array([[0, 0], [9, 9]], "float32")
    >>> classifier.fit(support, ["low", "high"]).predict(support + 1).tolist()
    ['low', 'high']
    """

    def __init__(
        self,
        model,
        *,
        num_samples: int | None = None,
        seed: int = 0,
        batch_size: int = 256,
    ):
        self.model = model
        self.num_samples = num_samples
        self.seed = seed
        self.batch_size = batch_size
        # Step by step, 200 samples take a hundred times as long.
        self._log_prob = tf.function(
            class_log_prob, reduce_retracing=True, autograph=False
        )

    def fit(self, support, labels) -> "FewShotClassifier":
        """Keeps one prototype per distinct label of `(n,)` labels."""
        labels = np.asarray(labels)
        if labels.ndim != 1 or len(support) != len(labels) or not len(labels):
            raise ValueError(
                "Give one label per support and at least one support; "
                f"received {len(support)} supports and labels of shape "
                f"{labels.shape}."
            )
        self.classes_, class_ids = np.unique(labels, return_inverse=True)
        self.prototypes_ = tf.nest.map_structure(
            np.asarray,
            class_prototypes(
                self.model, self._embed(support), class_ids, len(self.classes_)
            ),
        )
        return self

    def predict_log_proba(self, query) -> np.ndarray:
        """Log-probabilities `(queries, classes)`, columns as `classes_`."""
        if not hasattr(self, "prototypes_"):
            raise ValueError(
                "The classifier has no prototypes yet: call "
                "fit(support, labels) first."
            )
        parts = [np.zeros((0, len(self.classes_)), "float32")]
        for number, first in enumerate(range(0, len(query), self.batch_size)):
            log_prob = self._log_prob(
                self.model,
                self._embed_batch(query, first),
                self.prototypes_,
                self.num_samples,
                tf.constant([self.seed, number]),
            )
            parts.append(log_prob.numpy())
        return np.concatenate(parts)

    def predict_proba(self, query) -> np.ndarray:
        """Probabilities `(queries, classes)`; rows sum to 1."""
        return np.exp(self.predict_log_proba(query))

    def predict(self, query) -> np.ndarray:
        """The most probable label of each query, `(queries,)`."""
        log_prob = self.predict_log_proba(query)
        return self.classes_[log_prob.argmax(-1)]

    def _embed(self, x) -> np.ndarray:
        return np.concatenate(
            [
                self._embed_batch(x, first)
                for first in range(0, len(x), self.batch_size)
            ]
        )

    def _embed_batch(self, x, first: int) -> np.ndarray:
        batch = np.asarray(x[first : first + self.batch_size])
        # Inputs too: max-pooling and ReLU can swallow a NaN.
        _require_finite("Input", batch, first)
        embeddings = self.model.predict_on_batch(batch)
        _require_finite("The embedding of input", embeddings, first)
        return embeddings


def _require_finite(what: str, rows: np.ndarray, first: int) -> None:
    """ValueError naming the first row that holds NaN or infinity."""
    if not np.issubdtype(rows.dtype, np.floating):
        return
    finite = np.isfinite(rows).all(axis=tuple(range(1, rows.ndim)))
    if not finite.all():
        raise ValueError(
            f"{what} {first + int(finite.argmin())} is not finite: it holds "
            "NaN or infinite values. Remove them first."
        )
