"""Operating points of a list of scores: all, or those near equal errors."""

import numpy as np

from embeddings_tf.metrics import arrays
from embeddings_tf.metrics.operating_points import OperatingPoints

# Number of sampled trials, and of targets. If few trials are targets, the
# difference of the two error rates in a sample has a standard deviation of at
# most 0.002; the slack is five of these.
NUM_SAMPLED, SLACK = 2**17, 0.01


def points_of_scores(
    scores: np.ndarray,
    targets: np.ndarray,
    above: tuple[int, int] = (0, 0),
    below: tuple[int, int] = (0, 0),
) -> OperatingPoints:
    """Operating points with every distinct score as a threshold.

    Args:
        scores: Scores of all trials, in any order.
        targets: Scores of the targets among them, in any order.
        above, below: Numbers of targets and of nontargets that are not in
            `scores`, because their scores are higher, or lower.
    """
    scores, targets = np.sort(scores), np.sort(targets)
    first = np.flatnonzero(np.append(True, scores[1:] != scores[:-1]))
    distinct = scores[first]
    accepted = len(scores) - first
    accepted_targets = len(targets) - np.searchsorted(targets, distinct)
    if arrays.beyond_float64(distinct).any():
        distinct = distinct.astype(object)
    everything = [-np.inf] if any(below) else []

    def descending(counts, above, below):
        counts = np.append(0, above + counts[::-1])
        return np.append(counts, [counts[-1] + below] * len(everything))

    return OperatingPoints(
        np.concatenate([[np.inf], distinct[::-1], everything]),
        descending(accepted_targets, above[0], below[0]).astype(np.int64),
        descending(accepted - accepted_targets, above[1], below[1]).astype(
            np.int64
        ),
    )


def points_near_equal_errors(
    scores: np.ndarray, is_target: np.ndarray, num_sampled: int = NUM_SAMPLED
) -> OperatingPoints:
    """Operating points whose equal error rate is that of all points.

    Only scores near the crossing of the two error rates are sorted. A sample
    says where they are, and exact counts at both limits confirm it. Otherwise,
    for instance because the order of the trials misled the sample, all scores
    are sorted.
    """
    targets = scores[is_target]
    if len(scores) > 8 * num_sampled:
        low, high = _limits(scores, is_target, targets, num_sampled)
        above = _counts(scores > high, targets > high)
        below = _counts(scores < low, targets < low)
        points = points_of_scores(
            scores[(scores >= low) & (scores <= high)],
            targets[(targets >= low) & (targets <= high)],
            above,
            below,
        )
        gap = points.gap()
        if (gap[1] < 0 or not any(above)) and (gap[-2] >= 0 or not any(below)):
            return points
    return points_of_scores(scores, targets)


def _limits(scores, is_target, targets, num_sampled):
    """Scores that are probably below and above the crossing."""
    rows = slice(None, None, max(1, len(scores) // num_sampled))
    nontargets = np.sort(scores[rows][~is_target[rows]])
    targets = np.sort(targets[:: max(1, len(targets) // num_sampled)])
    false_alarm = 1 - np.arange(len(nontargets)) / max(1, len(nontargets))
    miss = np.searchsorted(targets, nontargets) / len(targets)
    low = nontargets[false_alarm - miss >= SLACK][-1:]
    high = nontargets[false_alarm - miss <= -SLACK][:1]
    return low[0] if len(low) else -np.inf, high[0] if len(high) else np.inf


def _counts(marked, marked_targets):
    """Numbers of marked targets and of marked nontargets."""
    num_targets = int(np.count_nonzero(marked_targets))
    return num_targets, int(np.count_nonzero(marked)) - num_targets
