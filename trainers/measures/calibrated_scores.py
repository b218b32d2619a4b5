"""Scores of pairs, calibrated on validation classes."""

import dataclasses
import functools
from collections.abc import Callable

import numpy as np

from embeddings_tf import metrics
from embeddings_tf import scoring
from embeddings_tf.scoring.separated import are_separated
from trainers.data.examples import rows_of_classes
from trainers.data.examples import some_of_each_class
from trainers.data.examples import take
from trainers.data.folds import class_ids
from trainers.measures.embed import embed
from trainers.measures.embed import split_to_embed
from trainers.terminal.progress import Progress

# Up to this number of examples, all pairs are used: two million trials.
MOST_EXAMPLES = 2_000


@dataclasses.dataclass(frozen=True, eq=False)
class CalibratedScore:
    """What was fitted to the validation trials of one score.

    `logistic` is None if a threshold separates the trials, except for scores
    equal to it, because the best slope is then infinite.
    """

    logistic: scoring.LogisticCalibration | None
    isotonic: scoring.IsotonicCalibration
    thresholds: dict[float, float]

    def transforms(self) -> dict[str, Callable]:
        """Functions from scores to ratios, by the name of their Cllr."""
        found = {"cllr_isotonic": self.isotonic.transform}
        if self.logistic is not None:
            found["cllr_logistic"] = self.logistic.transform
        return found


def calibrate(
    run, data, model, scores: dict[str, Callable]
) -> dict[str, CalibratedScore]:
    """Fits calibrations and thresholds to all pairs of validation classes.

    Of more than `MOST_EXAMPLES` examples, whole classes are drawn. Empty if
    only lists of trials are evaluated, the validation split is evaluated
    itself, or `evaluation.calibrate` is False.
    """
    name = run.evaluation.validation.split
    splits = run.evaluation.splits
    if not splits or not run.evaluation.calibrate or name in splits:
        return {}
    x, labels = some_of_each_class(
        *split_to_embed(data, name), run.evaluation.num_per_class
    )
    classes = class_ids(labels)
    rows = _whole_classes(classes)
    classes = classes[rows]
    embeddings = embed(model, take(x, rows) if len(rows) < len(x) else x)
    first, second = np.triu_indices(len(rows), 1)
    is_target = classes[first] == classes[second]
    found = {}
    for name, score in scores.items():
        counted = Progress(len(rows) ** 2, "score").counting_scores(score)
        values = metrics.score_all_pairs(counted, embeddings)[first, second]
        found[name] = fit(values, is_target, run.evaluation.false_accept_rates)
    return found


def fit(scores, is_target, rates) -> CalibratedScore:
    """Fits both calibrations, and a threshold for each rate."""
    return CalibratedScore(
        None
        if are_separated(scores, is_target)
        else scoring.LogisticCalibration().fit(scores, is_target),
        scoring.IsotonicCalibration().fit(scores, is_target),
        {
            rate: metrics.threshold_at_false_accept_rate(
                scores, is_target, rate
            )
            for rate in rates
        },
    )


def measures(
    calibrated: CalibratedScore,
    scores,
    is_target,
    groups=None,
    num_resamples: int = 0,
) -> dict:
    """Cllr after calibration, and the errors at the thresholds.

    `groups` are the classes of both sides, for intervals over classes.
    """
    found = {
        name: metrics.cllr(transform(scores), is_target)
        for name, transform in calibrated.transforms().items()
    }
    if calibrated.logistic is not None:
        found["calibration"] = calibrated.logistic.to_dict()
    found["at_false_accept_rate"] = [
        {"rate": rate, **_errors(threshold, scores, is_target)}
        for rate, threshold in calibrated.thresholds.items()
    ]
    if num_resamples:
        for row in found["at_false_accept_rate"]:
            row["false_accept_rate_interval"] = false_accept_interval(
                row["threshold"], scores, is_target, groups, num_resamples
            )
    return found


def false_accept_interval(
    threshold: float, scores, is_target, groups, num_resamples: int
) -> tuple[float, float]:
    """The 95 % interval of the false-accept rate, over classes."""
    rates = functools.partial(metrics.error_rates, threshold=threshold)
    return metrics.bootstrap_interval(
        Progress(num_resamples, "resample").counting(rates),
        scores,
        is_target,
        groups,
        num_resamples=num_resamples,
    )


def threshold_lines(found: dict) -> list[str]:
    """Errors at the thresholds that validation classes chose, as lines.

    Only of the method's own score, by which `verify` decides.
    """
    name = found.get("own_score", "")
    return [
        f"{name.replace('_', ' ')} at {100 * row['rate']:g} % false accepts "
        f"on validation classes: false accepts "
        f"{100 * row['false_accept_rate']:.2f} %{_interval(row)}, misses "
        f"{100 * row['miss_rate']:.2f} % (the score of `verify`)"
        for row in found.get(name, {}).get("at_false_accept_rate", ())
    ]


def _interval(row: dict) -> str:
    ends = row.get("false_accept_rate_interval")
    if ends is None:
        return ""
    low, high = (f"{100 * end:.2f}" for end in ends)
    return f" (95 % interval {low} to {high} %)"


def _errors(threshold: float, scores, is_target) -> dict:
    false_accept_rate, miss_rate = metrics.error_rates(
        scores, is_target, threshold
    )
    return {
        "threshold": threshold,
        "false_accept_rate": false_accept_rate,
        "miss_rate": miss_rate,
    }


def _whole_classes(classes: np.ndarray) -> np.ndarray:
    """Rows of classes drawn at random, at most `MOST_EXAMPLES` of them.

    Two classes that have more lose examples.
    """
    order = np.random.default_rng(0).permutation(np.unique(classes))
    sizes = np.bincount(classes)[order]
    count = max(2, int(np.searchsorted(np.cumsum(sizes), MOST_EXAMPLES + 1)))
    rows = np.flatnonzero(np.isin(classes, order[:count]))
    if len(rows) <= MOST_EXAMPLES:
        return rows
    return np.sort(rows[rows_of_classes(classes[rows], MOST_EXAMPLES // 2)])
