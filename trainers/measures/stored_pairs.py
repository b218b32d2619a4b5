"""Errors over all pairs of a split, whose scores fit into memory."""

import numpy as np

from embeddings_tf import metrics
from trainers.measures import calibrated_scores
from trainers.measures.measured_split import MeasuredSplit
from trainers.measures.measured_split import add_curves
from trainers.measures.trial_measures import measures
from trainers.terminal.progress import Progress


def stored_pairs(
    scores: dict, embeddings, classes, claims, calibrated, num_resamples: int
) -> MeasuredSplit:
    """Measures every score on all pairs of a split; as `streamed_pairs`."""
    first, second = np.triu_indices(len(classes), 1)
    groups = np.stack([classes[first], classes[second]], axis=1)
    is_target = groups[:, 0] == groups[:, 1]
    found = MeasuredSplit({}, {}, {}, {})
    for name, score in scores.items():
        counted = Progress(len(classes) ** 2, "score").counting_scores(score)
        values = metrics.score_all_pairs(counted, embeddings)[first, second]
        row = measures(values, is_target, groups, num_resamples)
        if name in claims:
            row["cllr"] = metrics.cllr(values, is_target)
        if name in calibrated:
            row |= calibrated_scores.measures(
                calibrated[name], values, is_target, groups, num_resamples
            )
        found.results[name] = row
        add_curves(
            found,
            name,
            values,
            is_target,
            name in claims,
            calibrated.get(name),
        )
    return found
