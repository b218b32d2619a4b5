"""Errors over more pairs than can be stored: all counted, some drawn."""

import numpy as np

from embeddings_tf import metrics
from trainers.data.examples import rows_of_classes
from trainers.measures.calibrated_scores import false_accept_interval
from trainers.measures.measured_split import MeasuredSplit
from trainers.measures.measured_split import add_curves
from trainers.measures.trial_measures import measures
from trainers.measures.trial_measures import streamed
from trainers.terminal.progress import Progress

# Examples whose pairs are drawn and make intervals: half a million trials.
MOST_EXAMPLES = 1_000


def some_rows(classes: np.ndarray) -> np.ndarray:
    """Rows of at most `MOST_EXAMPLES` examples, of as many classes as fit.

    Intervals are over classes, so a class loses examples before it is lost; it
    keeps at least two.
    """
    names = np.unique(classes)
    per_class = max(2, MOST_EXAMPLES // len(names))
    chosen = np.random.default_rng(0).permutation(names)
    kept = np.flatnonzero(
        np.isin(classes, chosen[: MOST_EXAMPLES // per_class])
    )
    return np.sort(kept[rows_of_classes(classes[kept], per_class)])


def streamed_pairs(
    scores: dict, embeddings, classes, claims, calibrated, num_resamples: int
) -> MeasuredSplit:
    """Counts all pairs of a split in bins; draws the pairs of some examples.

    Curves and intervals are of the pairs of `some_rows`, whose number is in the
    results as `interval_examples`.

    Args:
        scores: Scores of all pairs of two sets, by name.
        embeddings: Of the split, `(n, width)`.
        classes: Class numbers `(n,)`.
        claims: Names of the scores that claim to be log-likelihood ratios.
        calibrated: `CalibratedScore` of some of the scores, by name.
        num_resamples: Resamples of each interval; 0 for none.
    """
    rows = some_rows(classes)
    first, second = np.triu_indices(len(rows), 1)
    groups = np.stack([classes[rows][first], classes[rows][second]], axis=1)
    is_target = groups[:, 0] == groups[:, 1]
    found = MeasuredSplit({"interval_examples": len(rows)}, {}, {}, {})
    for name, score in scores.items():
        counted = streamed(
            score, embeddings, classes, name in claims, calibrated.get(name)
        )
        drawn = metrics.score_all_pairs(
            Progress(len(rows) ** 2, "score").counting_scores(score),
            embeddings[rows],
        )[first, second]
        of_drawn = measures(drawn, is_target, groups, num_resamples)
        if "interval" in of_drawn:
            counted["interval"] = of_drawn["interval"]
            for row in counted.get("at_false_accept_rate", ()):
                row["false_accept_rate_interval"] = false_accept_interval(
                    row["threshold"], drawn, is_target, groups, num_resamples
                )
        found.results[name] = counted
        add_curves(
            found,
            f"{name} (some pairs)",
            drawn,
            is_target,
            name in claims,
            calibrated.get(name),
        )
    return found
