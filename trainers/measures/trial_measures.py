"""Errors of scores over trials: pairs of examples, or claimed classes."""

import numpy as np

from embeddings_tf import metrics
from embeddings_tf.ops.rank_in_class import rank_in_class
from trainers.terminal.progress import Progress

# 64 MiB of bins, because fused scores are dense near 1.
NUM_BITS = 22

# Up to this number of examples, all pairs are used to study the distance.
PROPERTY_ITEMS = 2_000


def measures(scores, is_target, groups=None, num_resamples: int = 0) -> dict:
    """Returns the errors of a score; `groups` are the classes of both sides."""
    found = {
        "equal_error_rate": metrics.equal_error_rate(scores, is_target)[0],
        "one_minus_auc": 1 - metrics.roc_auc(scores, is_target),
        "min_dcf": metrics.min_dcf(scores, is_target),
        "min_cllr": metrics.min_cllr(scores, is_target),
    }
    if num_resamples:
        found["interval"] = metrics.bootstrap_interval(
            Progress(num_resamples, "resample").counting(
                metrics.equal_error_rate
            ),
            scores,
            is_target,
            groups,
            num_resamples=num_resamples,
        )
    return found


def streamed(
    score, embeddings, classes, is_ratio: bool = False, calibrated=None
) -> dict:
    """Returns the errors of a score, and their largest possible deviation.

    With `is_ratio`, the score claims to be a log-likelihood ratio, and its Cllr
    is returned. `calibrated` is a `CalibratedScore`, or None.
    """
    histogram = metrics.TrialHistogram(NUM_BITS)
    after = {}
    if calibrated is not None:
        after = calibrated.transforms()
    histograms = {name: metrics.TrialHistogram() for name in after}
    accepted: dict[float, np.ndarray] = {}

    progress = Progress(len(classes) * (len(classes) - 1) // 2, "pair")

    def update(scores, is_target):
        progress.advance(len(scores))
        histogram.update(scores, is_target)
        for name, transform in after.items():
            histograms[name].update(transform(scores), is_target)
        if calibrated is not None:
            for rate, threshold in calibrated.thresholds.items():
                kinds = is_target[scores >= threshold]
                counts = np.bincount(kinds, minlength=2)
                accepted[rate] = accepted.get(rate, 0) + counts

    num_trials = metrics.stream_trials(score, embeddings, classes, update)
    rate, _, rate_bound = histogram.equal_error_rate()
    auc, auc_bound = histogram.roc_auc()
    cost, cost_bound = histogram.min_dcf()
    cllr, cllr_bound = histogram.min_cllr()
    found = {}
    if is_ratio:
        found["cllr"], found["cllr_bound"] = histogram.cllr()
    for name, counted in histograms.items():
        found[name], found[f"{name}_bound"] = counted.cllr()
    if calibrated is not None:
        sizes = np.bincount(classes)
        targets = int(np.sum(sizes * (sizes - 1) // 2))
        found["at_false_accept_rate"] = [
            {
                "rate": rate,
                "threshold": calibrated.thresholds[rate],
                "false_accept_rate": counts[0] / (num_trials - targets),
                "miss_rate": 1 - counts[1] / targets,
            }
            for rate, counts in accepted.items()
        ]
    return found | {
        "equal_error_rate": rate,
        "equal_error_rate_bound": rate_bound,
        "one_minus_auc": 1 - auc,
        "one_minus_auc_bound": auc_bound,
        "min_dcf": cost,
        "min_dcf_bound": cost_bound,
        "min_cllr": cllr,
        "min_cllr_bound": cllr_bound,
    }


def claimed_classes(scores, embeddings, classes, num_enrolled: int) -> dict:
    """Errors if test examples claim to be in a class ("type II" trials).

    The first `num_enrolled` examples of each class enroll it, by their mean
    embedding. Every other example claims each class once.
    """
    is_enrolled = rank_in_class(classes) < num_enrolled
    if is_enrolled.all():
        raise ValueError(
            f"config.evaluation.num_enrolled={num_enrolled} leaves no example "
            "to test; set it below the number of examples of a class"
        )
    results = {"examples": len(classes), "classes": len(np.unique(classes))}
    for name, score in scores.items():
        enrolled, found = metrics.score_enrollments(
            score,
            embeddings[is_enrolled],
            classes[is_enrolled],
            embeddings[~is_enrolled],
        )
        is_target = enrolled[:, None] == classes[~is_enrolled]
        results |= {
            "trials": is_target.size,
            "targets": int(np.sum(is_target)),
            name: measures(found.reshape(-1), is_target.reshape(-1)),
        }
    return results


def distance_properties(learned, embeddings) -> dict[str, np.ndarray]:
    """Properties of 1 - D, where D is the same-class probability."""
    from scipy.special import expit

    if len(embeddings) > PROPERTY_ITEMS:
        rng = np.random.default_rng(0)
        rows = rng.choice(len(embeddings), PROPERTY_ITEMS, replace=False)
        embeddings = embeddings[np.sort(rows)]
    logits = metrics.score_all_pairs(learned, embeddings)
    return metrics.distance_properties(expit(-logits.astype(np.float64)))
