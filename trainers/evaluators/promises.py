"""Promised error rates of few-shot answers, and the rates that are reached.

Half of the test classes calibrate, the other half measures.
"""

import numpy as np

from embeddings_tf import metrics

# Promised, or the smallest rate that the number of classes can promise.
FALSE_ACCEPT_RATE = 0.05
ERROR_RATES = (0.01, 0.02, 0.05, 0.1, 0.2)
LEVEL = 0.95
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
    rate = max(FALSE_ACCEPT_RATE, 1 / (half + 1))
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
    """Means of `kept_promise` over episodes; empty if there are none."""
    found = [promise for promise in kept if promise is not None]
    if not found:
        return {}
    return {
        name: float(np.mean([promise[name] for promise in found]))
        for name in found[0]
    }


def text_of_promise(row: dict) -> str:
    """The end of a line of the summary."""
    if "promised_false_accept_rate" not in row:
        return ""
    promised, reached, known = (
        f"{100 * row[name]:.1f} %"
        for name in (
            "promised_false_accept_rate",
            "reached_false_accept_rate",
            "known_accepted",
        )
    )
    return f"   false accepts {reached} (promised {promised}), known {known}"


def accepted_answers(episodes, labels, answers) -> dict:
    """The error among accepted answers that `learn_then_test` promises.

    Args:
        episodes: Log-probabilities and targets of each episode.
        labels: The class of each query, `(n,)`.
        answers: The most probable class of each query, `(n,)`.

    Returns:
        The entry `accepted_answers`: the promised error and, on the other half
        of the classes, the share of accepted answers and the error among them.
        The promised error is the smallest of `ERROR_RATES` for which there are
        classes enough. Empty if there are too few for all.
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
        }
    }


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
        lines.append(
            f"  with {100 * found['accepted']:.0f} % of the answers accepted, "
            f"the error among them is {error} (promised: at most "
            f"{found['promised_error']:g} with probability {found['level']:g})"
        )
    return lines
