"""Calibration of scores by isotonic regression."""

from typing import Any

import numpy as np

from embeddings_tf.metrics import arrays
from embeddings_tf.metrics.operating_points import trials_of_both_kinds
from embeddings_tf.ops.require_fitted import require_fitted
from embeddings_tf.scoring import calibration_file
from embeddings_tf.scoring.checked_numbers import checked
from embeddings_tf.scoring.checked_numbers import scores_of

KIND = "an isotonic calibration of embeddings_tf"


class IsotonicCalibration:
    """Turns scores into log-likelihood ratios by isotonic regression.

    Use it if `LogisticCalibration`, a straight line, does not fit, and there
    are thousands of trials of many held-out classes. It fits any increasing
    function, by pooling adjacent violators. Scores within a pool become equal,
    so thresholds become coarser.

    Formula, for a pool with `t` of T targets and `n` of N nontargets:

    ```
    log-likelihood ratio = ln(t / T) - ln(n / N)
    ```

    Two more trials of each kind, one below and one above all scores, keep the
    ratios finite (Laplace's rule of succession, as in llreval). Scores between
    pools are interpolated, and scores outside the fitted range get the ratio
    of the nearest pool.

    Attributes:
        scores_, ratios_: The fitted function at ascending scores, `(knots,)`.

    Raises:
        ValueError: If scores are not finite, or if one kind of trials is
            missing. If `transform` is called before `fit`.

    Reference:
        - [Zadrozny & Elkan, 2002](https://doi.org/10.1145/775047.775151)
        - [Brümmer & de Villiers, 2013](https://arxiv.org/abs/1304.2865)

    Example:

    >>> scores, is_target = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [0, 0, 1, 0, 1, 1]
    >>> calibration = embeddings_tf.scoring.IsotonicCalibration()
    >>> calibration.fit(scores, is_target).transform([1.5, 3.5, 9.0]).round(2)
    array([-1.1,  0. ,  1.1])
    """

    def fit(self, scores: Any, is_target: Any) -> "IsotonicCalibration":
        """Fits the function to scores `(n,)` and booleans `(n,)`."""
        from sklearn.isotonic import isotonic_regression

        scores = arrays.numbers("scores", scores, 1, "(n,)")
        scores, is_target = trials_of_both_kinds(
            scores.astype(np.float64), is_target
        )
        distinct, place = np.unique(scores, return_inverse=True)
        targets = np.bincount(place, is_target, len(distinct))
        count = np.bincount(place, minlength=len(distinct)).astype(float)
        # A target and a nontarget below all scores, and above.
        targets = np.concatenate([[1], targets, [1]])
        count = np.concatenate([[2], count, [2]])
        share = isotonic_regression(targets / count, sample_weight=count)
        prior = targets.sum() / count.sum()
        ratios = np.log(share / (1 - share)) - np.log(prior / (1 - prior))
        ratios = ratios[1:-1]
        # A pool is a step between its first and its last score.
        step = np.diff(ratios) > 0
        ends = np.append(True, step) | np.append(step, True)
        self.scores_, self.ratios_ = distinct[ends], ratios[ends]
        return self

    def transform(self, scores: Any) -> np.ndarray:
        """Log-likelihood ratios of scores of any shape, float64."""
        self._require_fitted()
        scores = scores_of(scores)
        # Differences of the largest numbers would overflow.
        scaled, exponent = arrays.scaled(self.scores_)
        with np.errstate(over="ignore"):  # far beyond the last score
            scores = np.ldexp(scores, -exponent)
        return np.interp(scores, scaled, self.ratios_)

    def to_dict(self) -> dict[str, Any]:
        """The fitted calibration as plain numbers, for JSON."""
        self._require_fitted()
        return {
            "kind": KIND,
            "scores": self.scores_.tolist(),
            "ratios": self.ratios_.tolist(),
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "IsotonicCalibration":
        """Makes the calibration again from the result of `to_dict`."""
        found = checked(values, KIND, ("scores", "ratios"))
        calibration = cls()
        scores = arrays.numbers("scores", found["scores"], 1, "(knots,)")
        ratios = arrays.numbers("ratios", found["ratios"], 1, "(knots,)")
        arrays.same_length(scores=scores, ratios=ratios)
        if np.any(scores[1:] <= scores[:-1]) or np.any(np.diff(ratios) < 0):
            raise ValueError(
                "`scores` and `ratios` must ascend; received others. Fit the "
                "calibration again."
            )
        calibration.scores_ = scores.astype(np.float64)
        calibration.ratios_ = ratios.astype(np.float64)
        return calibration

    def save(self, path) -> None:
        """Writes the calibration to a JSON file, atomically."""
        calibration_file.write(path, self.to_dict())

    @classmethod
    def load(cls, path) -> "IsotonicCalibration":
        """Reads a file that `save` wrote; nothing is executed."""
        return cls.from_dict(calibration_file.read(path))

    def _require_fitted(self) -> None:
        value = getattr(self, "scores_", None)
        require_fitted(value, "The calibration", "fit(scores, is_target)")
