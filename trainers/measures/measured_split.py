"""What was measured on the pairs of a split: numbers, and curves."""

import dataclasses


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


def with_title(split: str, curves: dict) -> dict:
    """Curves by the names of their lines in a figure."""
    return {
        f"{split}: {name}".replace("_", " "): curve
        for name, curve in curves.items()
    }
