"""Whether a threshold separates two kinds of trials."""

import numpy as np


def are_separated(scores: np.ndarray, is_target: np.ndarray) -> bool:
    """Whether the best slope of a logistic calibration is infinite.

    This is so if all targets are on one side of a threshold and all nontargets
    on the other, except for scores equal to it. If all scores are equal, the
    best slope is 0.
    """
    targets, nontargets = scores[is_target], scores[~is_target]
    if scores.min() == scores.max():
        return False
    return bool(
        targets.min() >= nontargets.max() or targets.max() <= nontargets.min()
    )
