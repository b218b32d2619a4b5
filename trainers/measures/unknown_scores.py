"""Scores by which queries of classes that are not enrolled are found."""

from collections.abc import Callable

import numpy as np
import tensorflow as tf

from embeddings_tf import metrics
from embeddings_tf.models.method import Method
from embeddings_tf.scoring.nearest_rows import distances_and_rows


def score_function(model, num_samples: int) -> Callable:
    """Returns a function `(support, labels, query, num_classes)` of an episode.

    The function returns `(scores, log_prob)`. The scores, by name, are
    uncertainties of the queries `(n,)`: minus the method's evidence that a
    query belongs to any class, and the distance to the nearest support. The
    second is the log-probability of each class, `(n, num_classes)`.
    """
    method = Method(model)

    # Without XLA, whose compilation takes longer than these episodes.
    @tf.function(autograph=False)
    def by_method(support, labels, query, num_classes):
        represented = method.represent(support, labels, num_classes)
        seed = tf.constant([0, 0])
        return (
            method.log_evidence(query, represented, num_samples, seed),
            method.log_prob(query, represented, num_samples, seed),
        )

    def scores(support, labels, query, num_classes):
        evidence, log_prob = by_method(
            support, labels, query, tf.constant(num_classes)
        )
        distance, _ = distances_and_rows(method, query, support, 1)
        found = {
            "log_evidence": -evidence.numpy().astype(np.float64),
            "nearest_distance": distance[:, 0].astype(np.float64),
        }
        return found, log_prob.numpy().astype(np.float64)

    return scores


def error_rates(known, unknown) -> tuple[float, float]:
    """Returns AUROC and FPR at 95 % TPR of uncertainties of queries."""
    return (
        metrics.out_of_distribution_auroc(known, unknown),
        metrics.out_of_distribution_fpr(known, unknown),
    )


def mean_rates(rates: list[tuple[float, float]]) -> dict:
    """Returns means over episodes and half widths of their 95 % intervals.

    The half width of a single episode is None.
    """
    auroc, fpr = np.array(rates).T
    return {
        "auroc": float(np.mean(auroc)),
        "auroc_interval": _interval(auroc),
        "fpr_at_95_tpr": float(np.mean(fpr)),
        "fpr_at_95_tpr_interval": _interval(fpr),
    }


def auroc_text(row: dict) -> str:
    """Returns the AUROC of `mean_rates`, with its interval if it has one."""
    interval = row["auroc_interval"]
    more = "" if interval is None else f" ±{interval:.3f}"
    return f"{row['auroc']:.3f}{more}"


def _interval(values) -> float | None:
    return metrics.confidence_interval(values) if len(values) > 1 else None
