"""Whether an input looks like the examples that a model was made for."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from embeddings_tf.ops import arguments
from embeddings_tf.ops.class_names import class_names
from embeddings_tf.ops.counted import counted
from embeddings_tf.ops.require_fitted import require_fitted
from embeddings_tf.scoring.checked_numbers import checked
from embeddings_tf.scoring.input_numbers import BATCH
from embeddings_tf.scoring.input_numbers import evenly_spaced
from embeddings_tf.scoring.input_numbers import input_numbers
from embeddings_tf.scoring.input_numbers import input_shape

KIND = "a typicality of embeddings_tf"
# Examples of each half.
_MOST_EXAMPLES = 1000
# Least deviation of a number, as a share of the mean deviation: pixels that
# are always black would otherwise decide alone.
_LEAST_DEVIATION = 0.3
# So that rounding in another engine refuses no example at the threshold.
_SLACK = 1e-3
# Mean squared errors up to here are rounding, which differs by engine.
_ROUNDING = 1e-9
_ARRAYS = ("mean", "scale", "components")
_VALUES = (
    "input_shape",
    "refused",
    "explained_variance",
    "threshold",
    "report",
    *_ARRAYS,
)


class Typicality:
    """Novelty detection of inputs by the reconstruction error of a PCA.

    Use it with a `Gallery`: `gallery.typicality = Typicality().fit(x, labels)`.
    An embedding has a place for every input, also for noise, and in few
    dimensions this place is often between classes. This check looks at the
    input itself: noise, blank and inverted images, and images of another kind
    are not like the examples. It does not see whether an input of the same
    kind is of a new class, which is the task of the threshold of the gallery.
    Photographs vary so much that it refuses little more than noise there.

    Formula, with at most 2048 numbers z of an input, evenly spaced over the
    input and standardised, and the principal components C of the examples that
    explain 90 % of their variance:

    ```
    score   = -mean((z - C^T C z)^2)
    typical = score >= threshold
    ```

    Half of the classes, drawn at random, fit the PCA. The threshold is the
    largest that refuses at most the share `refused` of the examples of the
    other half, by split conformal prediction. The share holds for examples
    that are exchangeable with these, so for new classes it is approximate.

    Args:
        refused: Share of refused inputs among inputs like the examples.
        explained_variance: Share of variance that the components explain.
        seed: Seed of the division of the classes.

    Attributes:
        threshold_: The smallest score of a typical input.
        report_: Numbers of components, and of examples that fit the PCA
            (`num_fitted`) and the threshold (`num_held_out`).

    Raises:
        ValueError: If inputs are utterances or do not have one shape, or are
            not finite; if there are fewer than two classes, no different
            examples for the PCA, or fewer than `1 / refused - 1` examples for
            the threshold. If there are as many components as numbers, which
            leave no error, as in a table of few columns that do not depend on
            each other.

    Reference:
        - [Jackson & Mudholkar, 1979](https://doi.org/10.1080/00401706.1979.10489779)
        - [Vovk, Gammerman & Shafer, 2005](https://doi.org/10.1007/b106715)

    Example:

    >>> rng = np.random.default_rng(0)
    >>> ink = rng.normal(size=(400, 1, 1)) * np.eye(4)
    >>> images = (ink + 0.1 * rng.normal(size=(400, 4, 4))).astype("float32")
    >>> typicality = embeddings_tf.scoring.Typicality().fit(images)
    >>> noise = rng.normal(size=(2, 4, 4)).astype("float32")
    >>> typicality.predict(np.concatenate([images[:2], noise])).tolist()
    [True, True, False, False]
    """

    def __init__(
        self,
        *,
        refused: float = 0.01,
        explained_variance: float = 0.9,
        seed: int = 0,
    ):
        self.refused = arguments.number_between("refused", refused, 0, 1)
        self.explained_variance = arguments.number_between(
            "explained_variance", explained_variance, 0, 1
        )
        self.seed = arguments.random_seed("seed", seed, 31)
        self.threshold_: float | None = None
        self.report_: dict | None = None
        self._arrays: dict[str, np.ndarray] = {}
        self._shape: tuple[int, ...] = ()

    def fit(self, x, labels=None) -> "Typicality":
        """Fits the PCA and the threshold.

        Args:
            x: Inputs of classes on which the model was not trained, `(n, ...)`,
                or `datasets.Images`.
            labels: Their classes, strings or integers `(n,)`. None: each input
                is a class of its own.
        """
        from sklearn.decomposition import PCA

        shape = input_shape(x)
        fitted, held_out = self._halves(len(x), labels)
        numbers = input_numbers(x, shape, fitted)
        deviation = numbers.std(axis=0, dtype=np.float64)
        mean_square = float(np.mean(deviation**2))
        if not mean_square > 0:
            num = len(fitted)
            received = f"{num} equal examples" if num > 1 else "1 example"
            raise ValueError(
                "The half of the classes that fits the PCA must have different "
                f"examples; received {received}. Pass more different examples "
                "of more classes."
            )
        least = _LEAST_DEVIATION**2 * mean_square
        mean = numbers.mean(axis=0, dtype=np.float64).astype(np.float32)
        scale = np.sqrt(deviation**2 + least).astype(np.float32)
        pca = PCA(self.explained_variance, svd_solver="full")
        pca.fit((numbers - mean) / scale)
        arrays = {
            "mean": mean,
            "scale": scale,
            "components": pca.components_.astype(np.float32),
        }
        errors = np.sort(_errors(input_numbers(x, shape, held_out), arrays))
        rank = math.ceil((len(errors) + 1) * (1 - self.refused))
        if rank > len(errors):
            raise ValueError(
                f"{counted(len(errors), 'example')} for the threshold cannot "
                f"promise to refuse at most {self.refused:g}; it needs "
                f"{math.ceil(1 / self.refused) - 1}, in half of the classes. "
                "Pass more examples, or a larger `refused`."
            )
        num_components, num_numbers = arrays["components"].shape
        if num_components == num_numbers:
            raise ValueError(
                f"{num_components} principal components explain the "
                f"{num_numbers} numbers of `x` without an error, so no input "
                "can be unlike the examples. Leave the check out, or pass a "
                "smaller `explained_variance`."
            )
        error = max(float(errors[rank - 1]), _ROUNDING)
        self._shape, self._arrays = shape, arrays
        self.threshold_ = -error * (1 + _SLACK)
        self.report_ = {
            "num_components": len(arrays["components"]),
            "num_fitted": len(fitted),
            "num_held_out": len(held_out),
        }
        return self

    def score_samples(self, x) -> np.ndarray:
        """Minus the mean squared error of the reconstruction, `(n,)`."""
        self._require_fitted()
        shape = input_shape(x)
        if shape != self._shape:
            raise ValueError(
                f"`x` must have the shape of the fitted inputs, (n, "
                f"{', '.join(map(str, self._shape))}); received "
                f"{(len(x), *shape)}."
            )
        found = [np.zeros(0, np.float32)]
        for first in range(0, len(x), BATCH):
            rows = np.arange(first, min(first + BATCH, len(x)))
            found.append(-_errors(input_numbers(x, shape, rows), self._arrays))
        return np.concatenate(found)

    def predict(self, x) -> np.ndarray:
        """Whether inputs look like the examples, booleans `(n,)`."""
        return self.score_samples(x) >= self.threshold_

    def to_dict(self) -> dict:
        """Returns the fitted values as plain data and arrays of float32."""
        self._require_fitted()
        return {
            "kind": KIND,
            "input_shape": list(self._shape),
            "refused": self.refused,
            "explained_variance": self.explained_variance,
            "seed": self.seed,
            "threshold": self.threshold_,
            "report": self.report_,
            **self._arrays,
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Typicality":
        """Returns the object of which `to_dict` returned the values."""
        found = checked(values, KIND, _VALUES)
        typicality = cls(
            refused=found["refused"],
            explained_variance=found["explained_variance"],
            seed=found.get("seed", 0),
        )
        threshold = arguments.finite_number("threshold", found["threshold"])
        try:
            shape = tuple(
                arguments.positive_integer("input_shape", size)
                for size in found["input_shape"]
            )
            arrays = {n: np.asarray(found[n], np.float32) for n in _ARRAYS}
            report = dict(found["report"])
        except (TypeError, ValueError) as error:
            raise ValueError(
                "`values` must have the numbers of `to_dict`; received "
                f"others: {error}. Save the typicality again."
            ) from error
        width = len(evenly_spaced(math.prod(shape)))
        is_good = arrays["mean"].shape == arrays["scale"].shape == (width,)
        if not is_good or arrays["components"].shape[1:] != (width,):
            raise ValueError(
                "`values` must have a mean, a scale and components of "
                f"{width} numbers; received the shapes "
                f"{[part.shape for part in arrays.values()]}."
            )
        is_finite = all(np.isfinite(part).all() for part in arrays.values())
        if not is_finite or not (arrays["scale"] > 0).all():
            raise ValueError(
                "`values` must have finite numbers and a positive scale; "
                "received others. Save the typicality again."
            )
        typicality._shape, typicality._arrays = shape, arrays
        typicality.threshold_, typicality.report_ = threshold, report
        return typicality

    def _require_fitted(self) -> None:
        """Raises ValueError before `fit`."""
        require_fitted(self.threshold_, "The typicality", "fit(x, labels)")

    def _halves(self, length: int, labels) -> tuple[np.ndarray, np.ndarray]:
        """Rows of two halves of the classes, of a random sample."""
        rng = np.random.default_rng(self.seed)
        labels = np.arange(length) if labels is None else class_names(labels)
        if labels.shape != (length,):
            raise ValueError(
                "Give one label per example; received "
                f"{length} examples and labels of shape {labels.shape}."
            )
        classes = rng.permutation(np.unique(labels))
        if len(classes) < 2:
            raise ValueError(
                f"`labels` must have at least two classes; received "
                f"{len(classes)}. Pass examples of more classes."
            )
        order = rng.permutation(length)
        is_first = np.isin(labels[order], classes[: len(classes) // 2])
        first, second = order[is_first], order[~is_first]
        return np.sort(first[:_MOST_EXAMPLES]), np.sort(second[:_MOST_EXAMPLES])


def _errors(numbers: np.ndarray, arrays: Mapping) -> np.ndarray:
    """Mean squared errors of the reconstruction, `(n,)`."""
    # In float64, in which squares of huge inputs stay finite.
    z = (numbers.astype(np.float64) - arrays["mean"]) / arrays["scale"]
    components = arrays["components"]
    return np.mean(np.square(z - (z @ components.T) @ components), axis=1)
