"""How the embeddings of a trained model are used."""

import inspect
import re
from collections.abc import Callable

import keras
import tensorflow as tf

from embeddings_tf.models.gaussian_output import has_gaussian_output
from embeddings_tf.models.nearest_class_mean import NearestClassMean
from embeddings_tf.ops import gaussian

# Before a capital that follows a small letter, or starts the next word.
WORD_STARTS = r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])"
# Signatures that an objective can request for an export.
SIGNATURES = ("classify", "score_pairs")


class Method:
    """Defines how a model's embeddings are used, by its objective or loss.

    Few-shot classification, evaluation, export and callbacks use this class and
    know no objective by name. An objective implements attributes and methods of
    the same names, without `num_samples` and `seed` if it draws no samples:

    - `is_gaussian`: whether it reads packed Gaussians;
    - `points`, if an embedding has more than its coordinates, and `variances`,
      if it predicts them without packed Gaussians;
    - `has_divergence`: whether the loss has a KL term that pulls variances
      towards 1 (no callback warns then that they vary little);
    - `represent`, `log_prob` and `log_evidence`, all three or none;
    - `score_pairs`, and `score_all_pairs` if that can be faster;
    - `signatures`: `"classify"`, `"score_pairs"` or both, the signatures of an
      export besides the embedding. With `"score_pairs"`, the score of a pair
      must be a log-likelihood ratio, same class versus different classes;
      verification and retrieval then also evaluate this score;
    - `reusable_layers`, `diagnostics` and `batch_diagnostics`.

    `NearestClassMean` is the default for plain losses and for methods that an
    objective does not implement.

    Args:
        model: A Keras model of embeddings, such as an `EmbeddingModel`. Its
            `objective` is used, or without an objective the `loss` of
            `compile`.
    """

    def __init__(self, model: keras.Model):
        objective = getattr(model, "objective", None)
        if objective is None:
            objective = _only(getattr(model, "loss", None))
        self._objective = objective
        self.is_gaussian = has_gaussian_output(model)
        self._default = NearestClassMean(
            cosine=getattr(objective, "distance", None) == "cosine",
            gaussian=self.is_gaussian,
        )

    @property
    def name(self) -> str:
        """The name of objective or loss in snake_case, for results.

        "not stated" without an objective and without a single loss.
        """
        found = self._objective
        if found is None or isinstance(found, list | tuple | dict):
            return "not stated"
        name = getattr(found, "__name__", type(found).__name__)
        if isinstance(found, str):
            name = found
        return re.sub(WORD_STARTS, "_", name).lower()

    @property
    def distance(self) -> str:
        """The distance for `metrics.recall_at_k`: "l2" or "cosine"."""
        return "cosine" if self._default.cosine else "l2"

    @property
    def signatures(self) -> tuple[str, ...]:
        """Names of the signatures of an export besides the embedding."""
        signatures = self._answer("signatures")
        if isinstance(signatures, str) or not set(signatures) <= {*SIGNATURES}:
            raise ValueError(
                f"`{type(self._objective).__name__}.signatures` must be a "
                f"tuple of {' and '.join(map(repr, SIGNATURES))}; received "
                f"{signatures!r}."
            )
        return tuple(signatures)

    @property
    def has_likelihood_ratio(self) -> bool:
        """Whether the score of a pair is a log-likelihood ratio."""
        return "score_pairs" in self.signatures

    @property
    def pairs_take_seed(self) -> bool:
        """Whether the score of a pair depends on a seed."""
        return _takes(self._answer("score_pairs"), "seed")

    def points(self, embeddings) -> tf.Tensor:
        """Returns embeddings `(n, dim)`; Gaussians become their means."""
        return self._answer("points")(embeddings)

    @property
    def has_divergence(self) -> bool:
        """Whether the loss has a KL term that pulls variances towards 1."""
        return bool(getattr(self._objective, "has_divergence", False))

    @property
    def has_variances(self) -> bool:
        """Whether embeddings have predicted variances."""
        return self.is_gaussian or hasattr(self._objective, "variances")

    def variances(self, embeddings) -> tf.Tensor | None:
        """Predicted variances `(n, dim)` of embeddings; None for points."""
        own = getattr(self._objective, "variances", None)
        if own is not None:
            return own(embeddings)
        return gaussian.unpack(embeddings)[1] if self.is_gaussian else None

    def represent(self, embeddings, class_ids, num_classes):
        """Represents the classes of labelled embeddings.

        Args:
            embeddings: Supports `(n, width)`.
            class_ids: `(n,)` in `[0, num_classes)`, each at least once.
            num_classes: Number of classes.

        Returns:
            A tensor or a tuple of tensors, for `log_prob` and `log_evidence`.
        """
        return self._answer("represent")(embeddings, class_ids, num_classes)

    def log_prob(
        self, embeddings, represented, num_samples=None, seed=None
    ) -> tf.Tensor:
        """Log-probabilities `(queries, classes)` of queries `(n, width)`.

        `num_samples` None means the objective's own default.
        """
        return self._given_classes(
            "log_prob", embeddings, represented, num_samples, seed
        )

    def log_evidence(
        self, embeddings, represented, num_samples=None, seed=None
    ) -> tf.Tensor:
        """Evidence `(queries,)` that a query is in any of the classes.

        Higher means more likely. Use it to answer "unknown": probabilities sum
        to 1 over the classes even for a query far from all of them.
        """
        return self._given_classes(
            "log_evidence", embeddings, represented, num_samples, seed
        )

    def score_pairs(
        self, first, second, num_samples=None, seed=None
    ) -> tf.Tensor:
        """Scores `(n,)` of rows of two sets, higher for more similar rows."""
        score = self._answer("score_pairs")
        return score(first, second, **_accepted(score, num_samples, seed))

    def score_all_pairs(
        self, first, second, num_samples=None, seed=None
    ) -> tf.Tensor:
        """Scores `(n, m)` of each row of one set with each row of another."""
        score = getattr(self._objective, "score_all_pairs", None)
        if score is None and not hasattr(self._objective, "score_pairs"):
            score = self._default.score_all_pairs
        if score is not None:
            return score(first, second, **_accepted(score, num_samples, seed))
        first, second = map(tf.convert_to_tensor, (first, second))

        def score_row(row):
            rows = tf.broadcast_to(row, tf.shape(second))
            scores = self.score_pairs(rows, second, num_samples, seed)
            return tf.cast(scores, first.dtype)

        return tf.map_fn(score_row, first, fn_output_signature=first.dtype)

    def reusable_layers(self) -> dict[str, keras.layers.Layer]:
        """Layers of the objective that do not depend on the training classes.

        By name. A training on other classes may start from their weights.
        """
        return self._answer("reusable_layers")()

    def diagnostics(self) -> dict[str, float]:
        """Learned scalars of the objective, by name."""
        found = self._answer("diagnostics")()
        return {name: float(value) for name, value in found.items()}

    def batch_diagnostics(self, labels, embeddings) -> dict[str, float]:
        """Scalars that show the training signal of a batch, by name.

        They change no variable, and no seed of the objective.

        Args:
            labels: Class ids `(n,)`.
            embeddings: `(n, width)`.
        """
        with keras.StatelessScope():
            found = self._answer("batch_diagnostics")(labels, embeddings)
        return {name: float(value) for name, value in found.items()}

    def _given_classes(self, name, embeddings, represented, *samples):
        if not isinstance(represented, (tuple, list)):
            represented = (represented,)
        answer = self._answer(name)
        return answer(embeddings, *represented, **_accepted(answer, *samples))

    def _answer(self, name: str):
        """Returns the objective's attribute or method, or the default."""
        if name in ("log_prob", "log_evidence"):
            if not hasattr(self._objective, "represent"):
                return getattr(self._default, name)
            if not hasattr(self._objective, name):
                objective = type(self._objective).__name__
                raise ValueError(
                    f"{objective} has a method `represent` but no method "
                    f"`{name}`, which uses the result of `represent`. Add "
                    f"`{objective}.{name}(embeddings, *represented)`."
                )
        if hasattr(self._objective, name):
            return getattr(self._objective, name)
        return getattr(self._default, name)


def _accepted(function: Callable, num_samples, seed) -> dict:
    """Returns the sampling arguments that a function takes.

    `num_samples` None is left out, so the function uses its default.
    """
    arguments = {"seed": seed}
    if num_samples is not None:
        arguments["num_samples"] = num_samples
    return {k: v for k, v in arguments.items() if _takes(function, k)}


def _takes(function: Callable, name: str) -> bool:
    parameters = inspect.signature(function).parameters
    return name in parameters or any(
        parameter.kind is parameter.VAR_KEYWORD
        for parameter in parameters.values()
    )


def _only(loss):
    """The loss in a list or dictionary of one, as Keras accepts it."""
    losses = keras.tree.flatten(loss)
    return losses[0] if len(losses) == 1 else loss
