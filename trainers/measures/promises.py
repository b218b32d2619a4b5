"""Promised error rates of few-shot answers, and the rates that are reached.

Half of the test classes calibrate, the other half measures.
"""

import numpy as np

from embeddings_tf import metrics
from embeddings_tf.scoring.open_set import default_rate

ERROR_RATES = (0.01, 0.02, 0.05, 0.1, 0.2)
LEVEL = 0.95
NUM_RESAMPLES = 1000
# Tested thresholds accept from half of the answers to all of them.
QUANTILES = np.linspace(0, 0.5, 11)


def kept_promise(known, unknown, classes, seed: int) -> dict | None:
    """The false-accept rate that `metrics.conformal_threshold` promises.

    Args:
        known: Scores of queries of enrolled classes, higher is more known.
        unknown: Scores of queries of other classes, `(n,)`.
        classes: Their classes, `(n,)`.
        seed: Seed of the division of these classes.

    Returns:
        Promised and reached rate, and the share of known queries that is
        accepted; None if there are fewer than two other classes.
    """
    every = np.random.default_rng(seed).permutation(np.unique(classes))
    half = len(every) // 2
    if not half:
        return None
    calibrates = np.isin(classes, every[:half])
    rate = default_rate(half)
    threshold = metrics.conformal_threshold(
        unknown[calibrates], classes[calibrates], rate
    )["threshold"]
    return {
        "promised_false_accept_rate": rate,
        "reached_false_accept_rate": float(
            np.mean(unknown[~calibrates] >= threshold)
        ),
        "known_accepted": float(np.mean(known >= threshold)),
    }


def mean_promise(kept: list[dict | None]) -> dict:
    """Means of `kept_promise` over episodes; empty if there are none.

    With two or more, the results also contain the half width of the 95 %
    interval of the mean reached rate.
    """
    found = [promise for promise in kept if promise is not None]
    if not found:
        return {}
    means = {
        name: float(np.mean([promise[name] for promise in found]))
        for name in found[0]
    }
    if len(found) > 1:
        reached = [promise["reached_false_accept_rate"] for promise in found]
        width = metrics.confidence_interval(reached, LEVEL)
        means["reached_false_accept_rate_interval"] = width
    return means


def text_of_promise(row: dict) -> str:
    """The end of a line of the summary."""
    if "promised_false_accept_rate" not in row:
        return ""
    promised, reached, known = (
        f"{100 * row[name]:.1f}"
        for name in (
            "promised_false_accept_rate",
            "reached_false_accept_rate",
            "known_accepted",
        )
    )
    if "reached_false_accept_rate_interval" in row:
        reached += f" ±{100 * row['reached_false_accept_rate_interval']:.1f}"
    return (
        f"   false accepts {reached} % (promised {promised} %), known {known} %"
    )


def accepted_answers(episodes, labels, answers) -> dict:
    """The error among accepted answers that `learn_then_test` promises.

    Args:
        episodes: Log-probabilities and targets of each episode.
        labels: The class of each query, `(n,)`.
        answers: The most probable class of each query, `(n,)`.

    Returns:
        The entry `accepted_answers`: the promised error and, on the other half
        of the classes, the share of accepted answers and the error among them,
        with its `error_interval`. The promised error is the smallest of
        `ERROR_RATES` for which there are classes enough. Empty if there are too
        few for all.
    """
    every = np.random.default_rng(0).permutation(np.unique(labels))
    half = len(every) // 2
    rates = [rate for rate in ERROR_RATES if _is_enough(half, rate)]
    if not rates:
        return {}
    confidence = np.exp(np.concatenate([e[0].max(-1) for e in episodes]))
    is_error = labels != answers
    calibrates = np.isin(labels, every[:half])
    found = metrics.learn_then_test(
        confidence[calibrates],
        is_error[calibrates],
        labels[calibrates],
        thresholds=np.quantile(confidence[~calibrates], QUANTILES),
        error_rate=rates[0],
        level=LEVEL,
    )
    accepted = confidence[~calibrates] >= found["threshold"]
    wrong = is_error[~calibrates][accepted]
    return {
        "accepted_answers": {
            "promised_error": rates[0],
            "level": LEVEL,
            "calibration_classes": half,
            "threshold": found["threshold"] if accepted.any() else None,
            "accepted": float(np.mean(accepted)),
            "error": float(np.mean(wrong)) if len(wrong) else None,
            "error_interval": error_interval(
                wrong, labels[~calibrates][accepted], len(every) - half
            ),
        }
    }


def error_interval(wrong, labels, num_classes: int) -> list[float] | None:
    """The 95 % interval of the error among accepted answers.

    Classes are drawn again, with all their answers, as by
    `metrics.bootstrap_interval` with groups. That function is for trials of
    both kinds, and would draw again where no answer is wrong.

    Args:
        wrong: Whether each accepted answer is wrong, `(n,)`.
        labels: The classes of these queries, `(n,)`.
        num_classes: Number of classes, with those without accepted answers.

    Returns:
        The ends of the interval; None if no answer is wrong, because every
        resample then has the error 0.
    """
    if not np.any(wrong):
        return None
    _, numbers = np.unique(labels, return_inverse=True)
    counts = np.stack(
        [
            np.bincount(numbers, weights=wrong, minlength=num_classes),
            np.bincount(numbers, minlength=num_classes),
        ],
        axis=1,
    )
    drawn = np.random.default_rng(0).multinomial(
        num_classes, np.full(num_classes, 1 / num_classes), NUM_RESAMPLES
    )
    errors, accepted = (drawn @ counts).T
    errors, accepted = errors[accepted > 0], accepted[accepted > 0]
    ends = np.quantile(errors / accepted, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return ends.tolist()


def _is_enough(num_classes: int, rate: float) -> bool:
    """Whether classes without errors would be significant, with some to spare.

    The factor of a class without errors in the p-value of `learn_then_test`
    is at most 1 + 0.95 * rate / (1 - rate).
    """
    factor = 1 + 0.95 * rate / (1 - rate)
    return num_classes * np.log(factor) >= 3 * np.log(1 / (1 - LEVEL))


def lines_of_trust(split: str, cell: dict) -> list[str]:
    """How far the probabilities of clean queries can be trusted, as lines."""
    lines = [
        f"{split.replace('_', ' ')}, clean: expected calibration error "
        f"{100 * cell['expected_calibration_error']:.1f} %, AURC "
        f"{100 * cell['area_under_risk_coverage']:.2f} %"
    ]
    found = cell.get("accepted_answers")
    if found is not None:
        error = "none" if found["error"] is None else f"{found['error']:.3f}"
        if found["error_interval"] is not None:
            low, high = found["error_interval"]
            error += f", 95 % interval {low:.3f} to {high:.3f}"
        lines.append(
            f"  with {100 * found['accepted']:.0f} % of the answers accepted, "
            f"the error among them is {error} (promised: at most "
            f"{found['promised_error']:g} with probability {found['level']:g})"
        )
    return lines
