"""What was measured on the pairs of a split: numbers, and curves."""

import dataclasses

from embeddings_tf import metrics
from trainers.measures.calibrated_scores import CalibratedScore


@dataclasses.dataclass(frozen=True)
class MeasuredSplit:
    """Results of a split, and the curves of its scores by name.

    det: Curves of `metrics.det_curve`.
    as_trained: Curves of `metrics.likelihood_ratio_curve`, of scores that claim
        to be log-likelihood ratios.
    calibrated: The same after calibration.
    """

    results: dict
    det: dict
    as_trained: dict
    calibrated: dict


def add_curves(
    found: MeasuredSplit,
    name: str,
    values,
    is_target,
    is_ratio: bool,
    calibrated: CalibratedScore | None,
) -> None:
    """Adds the curves of a score to a split.

    Args:
        found: The split.
        name: The name of the curves.
        values: The score of each pair.
        is_target: Whether both of a pair are of one class.
        is_ratio: Whether the score claims to be a log-likelihood ratio.
        calibrated: The calibration of the score, if it has one.
    """
    found.det[name] = metrics.det_curve(values, is_target)
    if is_ratio:
        curve = metrics.likelihood_ratio_curve(values, is_target)
        found.as_trained[name] = curve
    if calibrated is not None and calibrated.logistic is not None:
        found.calibrated[name] = metrics.likelihood_ratio_curve(
            calibrated.logistic.transform(values), is_target
        )


def with_title(split: str, curves: dict) -> dict:
    """Curves by the names of their lines in a figure."""
    return {
        f"{split}: {name}".replace("_", " "): curve
        for name, curve in curves.items()
    }
