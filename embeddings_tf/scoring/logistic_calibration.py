"""Calibration of scores by logistic regression."""

from typing import Any

import numpy as np

from embeddings_tf.metrics import arrays
from embeddings_tf.metrics.operating_points import trials_of_both_kinds
from embeddings_tf.ops import arguments
from embeddings_tf.ops.require_fitted import require_fitted
from embeddings_tf.scoring import calibration_file
from embeddings_tf.scoring.checked_numbers import checked
from embeddings_tf.scoring.checked_numbers import scores_of
from embeddings_tf.scoring.separated import are_separated

KIND = "a logistic calibration of embeddings_tf"
# The solver does not converge for much smaller priors.
_SMALLEST_PRIOR = 1e-20
# Powers of ten in which the solver keeps its digits.
_DECADES = 6


class LogisticCalibration:
    """Turns scores into log-likelihood ratios by logistic regression.

    Use it for any score of pairs, such as the cosine, PLDA or a learned
    distance, to get a ratio that can be trusted: fit it to trials of held-out
    classes. Two numbers are fitted, so a few hundred trials of a few dozen
    classes are enough, and the order of the scores does not change.
    `IsotonicCalibration` fits any increasing function and needs more trials.

    Formula:

    ```
    log-likelihood ratio = slope * score + offset
        minimises  prior       * mean over targets of ln(1 + exp(-r))
                   + (1-prior) * mean over nontargets of ln(1 + exp(r))
        r = slope * score + offset + ln(prior / (1 - prior))
    ```

    The weights replace the shares of targets and nontargets in the trials by
    `target_prior`. With 0.5, the fit minimises `metrics.cllr`. Choose the prior
    of the application if errors at its threshold matter most.

    A far score on the right side does not change the fit. A far score on the
    wrong side makes the slope nearly 0: drop such trials, or use
    `IsotonicCalibration`.

    Args:
        target_prior: Frequency of targets at which the fit is best, between
            1e-20 and 1.

    Attributes:
        slope_, offset_: The fitted numbers.

    Raises:
        ValueError: If scores are not finite, if one kind of trials is missing,
            or if a threshold separates all targets from all nontargets, except
            for scores equal to it: the best slope is then infinite. If
            `transform` is called before `fit`.

    Reference:
        - [Brümmer & du Preez, 2006](https://doi.org/10.1016/j.csl.2005.08.001)
        - [Brümmer & de Villiers, 2013](https://arxiv.org/abs/1304.2865)

    Example:

    >>> rng = np.random.default_rng(0)
    >>> is_target = np.arange(2000) % 2 == 0
    >>> scores = rng.normal(size=2000) + 2 * is_target  # true ratio 2 s - 2
    >>> calibration = embeddings_tf.scoring.LogisticCalibration()
    >>> calibration.fit(scores, is_target).transform([1.0, 3.0]).round(1)
    array([0.1, 4. ])
    """

    def __init__(self, target_prior: float = 0.5):
        self.target_prior = arguments.number_between(
            "target_prior", target_prior, _SMALLEST_PRIOR, 1
        )

    def fit(self, scores: Any, is_target: Any) -> "LogisticCalibration":
        """Fits slope and offset to scores `(n,)` and booleans `(n,)`."""
        scores = arrays.numbers("scores", scores, 1, "(n,)")
        scores, is_target = trials_of_both_kinds(
            scores.astype(np.float64), is_target
        )
        if scores.min() == scores.max():
            self.slope_, self.offset_ = 0.0, 0.0
            return self
        num_targets = int(is_target.sum())
        num_nontargets = len(scores) - num_targets
        if are_separated(scores, is_target):
            raise ValueError(
                "`scores` of targets and nontargets must overlap; received "
                f"{num_targets} targets and {num_nontargets} "
                "nontargets that a threshold separates, so the best slope is "
                "infinite. Add trials, or use IsotonicCalibration."
            )
        prior = self.target_prior
        weights = np.where(
            is_target,
            prior / num_targets,
            (1 - prior) / num_nontargets,
        )
        slope, offset = _best_line(scores, is_target, weights)
        if not np.isfinite(slope):
            raise ValueError(
                "`scores` must be large enough for a slope that float64 "
                f"represents; received at most {np.max(np.abs(scores)):g} in "
                "size. Rescale them."
            )
        self.slope_ = slope
        self.offset_ = offset - float(np.log(prior / (1 - prior)))
        return self

    def transform(self, scores: Any) -> np.ndarray:
        """Log-likelihood ratios of scores of any shape, float64."""
        self._require_fitted()
        scores = scores_of(scores)
        return self.slope_ * scores + self.offset_

    def to_dict(self) -> dict[str, Any]:
        """The fitted calibration as plain numbers, for JSON."""
        self._require_fitted()
        return {
            "kind": KIND,
            "target_prior": self.target_prior,
            "slope": self.slope_,
            "offset": self.offset_,
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "LogisticCalibration":
        """Makes the calibration again from the result of `to_dict`."""
        found = checked(values, KIND, ("target_prior", "slope", "offset"))
        calibration = cls(found["target_prior"])
        calibration.slope_ = arguments.finite_number("slope", found["slope"])
        calibration.offset_ = arguments.finite_number("offset", found["offset"])
        return calibration

    def save(self, path) -> None:
        """Writes the calibration to a JSON file, atomically."""
        calibration_file.write(path, self.to_dict())

    @classmethod
    def load(cls, path) -> "LogisticCalibration":
        """Reads a file that `save` wrote; nothing is executed."""
        return cls.from_dict(calibration_file.read(path))

    def _require_fitted(self) -> None:
        value = getattr(self, "slope_", None)
        require_fitted(value, "The calibration", "fit(scores, is_target)")


def _best_line(scores, is_target, weights) -> tuple[float, float]:
    """Slope and offset with the smallest weighted cost.

    Beside far trials, ordinary trials would lose their digits. Far trials are
    left out if the line is right about them: their gradients are 0 in float64,
    so the line is the best for all trials.
    """
    rank = _rank_of_size(scores, is_target)
    for largest in np.unique(rank):
        near = rank <= largest
        kinds = is_target[near]
        if kinds.all() or not kinds.any() or are_separated(scores[near], kinds):
            continue  # no line is the best
        line = _fitted_line(scores[near], kinds, weights[near])
        if not _gradient_is_left(*line, scores[~near], is_target[~near]):
            break
    return line


def _rank_of_size(scores, is_target) -> np.ndarray:
    """Rank of each score by size: 1 for ordinary scores, 2 or more if far.

    Each rank reaches a million times as far as the rank before. Sizes are
    measured from the middle of the scores that targets and nontargets share.
    """
    scaled, _ = arrays.scaled(scores)
    targets, nontargets = scaled[is_target], scaled[~is_target]
    is_shared = scaled >= max(targets.min(), nontargets.min())
    is_shared &= scaled <= min(targets.max(), nontargets.max())
    middle = np.median(scaled[is_shared])
    size = np.abs(scaled - middle)
    unit = np.quantile(size[is_shared], 0.1, method="lower")
    unit = unit or np.min(size[size > 0])  # many equal scores
    ratio = np.log10(np.maximum(size, unit)) - np.log10(unit)
    return np.maximum(np.ceil(ratio / _DECADES), 1)


def _gradient_is_left(slope, offset, scores, is_target) -> bool:
    """Whether the cost of a trial has a gradient above 0 in float64."""
    from scipy.special import expit

    with np.errstate(over="ignore"):
        ratios = slope * scores + offset
    return bool(np.any(expit(np.where(is_target, -ratios, ratios))))


def _fitted_line(scores, is_target, weights) -> tuple[float, float]:
    """Slope and offset by Newton's method."""
    from sklearn.linear_model import LogisticRegression

    # In a unit of the data, so that the solver converges for every scale. An
    # outlier would make the standard deviation large, and the penalty of the
    # slope with it.
    scaled, exponent = arrays.scaled(scores)
    low, middle, high = np.quantile(scaled, [0.25, 0.5, 0.75])
    unit = max(high - low, 1e-4 * np.std(scaled))
    # The cost and its gradient shrink with the rarer of the two kinds. The
    # penalty stays far below the precision of the fit.
    rarer = min(weights[is_target].sum(), weights[~is_target].sum())
    regression = LogisticRegression(
        C=1e12 / rarer, solver="newton-cholesky", tol=1e-8 * rarer
    )
    regression.fit(
        ((scaled - middle) / unit)[:, np.newaxis],
        is_target,
        sample_weight=weights * len(scores),
    )
    slope = regression.coef_[0, 0] / unit
    offset = regression.intercept_[0] - slope * middle
    with np.errstate(over="ignore"):  # fit refuses it
        return float(np.ldexp(slope, -int(exponent))), float(offset)
