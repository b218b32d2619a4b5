"""Measures of uncertainty: how well it predicts errors."""

from typing import Any

import numpy as np

from embeddings_tf.metrics import arrays
from embeddings_tf.metrics.calibration import error_versus_reject
from embeddings_tf.metrics.gallery_search import blocks_by_distance
from embeddings_tf.metrics.gallery_search import blocks_by_score
from embeddings_tf.metrics.gallery_search import checked_search
from embeddings_tf.metrics.verification import roc_auc


def recall_auroc(
    uncertainty: Any,
    embeddings: Any,
    labels: Any,
    distance: Any = "l2",
    gallery: Any = None,
    gallery_labels: Any = None,
    *,
    exclude: Any = None,
) -> float:
    """R-AUROC: how well uncertainty predicts wrong nearest neighbours.

    Use it to test the uncertainty of embeddings on classes that were not in
    training, for which there is no classifier. The answer to a query is its
    nearest row, found as in `recall_at_k`. It is wrong if its class is not the
    class of the query.

    Formula:

    ```
    R-AUROC = P(uncertainty of a wrong answer > uncertainty of a right answer)
    ```

    over all pairs of a wrong and a right answer; equal uncertainties count
    one half.

    Args:
        uncertainty: One value per query, `(n,)`; larger means less certain.
        embeddings: Queries, `(n, dim)`.
        labels: Integers `(n,)`.
        distance: As in `recall_at_k`.
        gallery: As in `recall_at_k`.
        gallery_labels: As in `recall_at_k`.
        exclude: As in `recall_at_k`.

    Returns:
        A float in `[0, 1]`: 1 if every wrong answer is less certain than every
        right answer, 0.5 by chance. Queries without another row of their class
        in the gallery are left out.

    Raises:
        ValueError: As `recall_at_k`; if `uncertainty` is not finite or has
            another length; or if all answers are right, or all are wrong.

    Reference:
        - [Kirchhof, Mucsányi, Oh & Kasneci, 2023](https://arxiv.org/abs/2307.03810),
          the measure of the URL benchmark

    Example:

    >>> embeddings, labels = [[0.0], [1.0], [3.0], [3.5]], [0, 0, 1, 0]
    >>> embeddings_tf.metrics.recall_auroc(
    ...     [0.1, 0.2, 0.3, 0.9], embeddings, labels
    ... )
    1.0
    """
    uncertainty = arrays.numbers(
        "uncertainty", uncertainty, 1, "(n,)", ordered=True
    )
    search = checked_search(
        embeddings, labels, distance, gallery, gallery_labels, exclude
    )
    arrays.same_length(uncertainty=uncertainty, labels=search.labels)
    ranked = blocks_by_score if callable(distance) else blocks_by_distance
    is_wrong = np.zeros(len(search.labels), bool)
    for block, nearest in ranked(search, 1):
        found = search.gallery_labels[nearest[:, 0]]
        is_wrong[block] = found != search.labels[block]
    is_wrong = is_wrong[search.rows]
    if is_wrong.all() or not is_wrong.any():
        raise ValueError(
            "R-AUROC compares wrong with right answers; received "
            f"{len(is_wrong)} queries whose nearest rows are all "
            f"{'wrong' if is_wrong.all() else 'right'}. Take a harder or an "
            "easier set, for example more classes or corrupted inputs."
        )
    return roc_auc(uncertainty[search.rows], is_wrong)


def area_under_risk_coverage(uncertainty: Any, is_error: Any) -> float:
    """AURC: error rate of the kept answers, averaged over all shares kept.

    Use it to compare classifiers that may refuse to answer. A low value needs
    few errors, and an uncertainty that is larger for errors.
    `error_versus_reject` returns the curve.

    Formula, with the k least uncertain answers kept:

    ```
    AURC = mean over k = 1, ..., n of (errors among the k answers) / k
    ```

    Answers of equal uncertainty are kept in random order; the value is the
    expectation over this order.

    Args:
        uncertainty: `(n,)`; larger means less certain. Only the order counts.
        is_error: `(n,)` booleans (or 0 and 1), whether the answer is wrong.

    Returns:
        A float in `[0, 1]`: 0 without errors; the error rate, on average, if
        the uncertainty has no information about errors.

    Raises:
        ValueError: As `error_versus_reject`.

    Reference:
        - [Geifman, Uziel & El-Yaniv, 2019](https://arxiv.org/abs/1805.08206)

    Example:

    >>> embeddings_tf.metrics.area_under_risk_coverage(
    ...     uncertainty=[0.1, 0.9, 0.2, 0.3], is_error=[0, 1, 0, 0]
    ... )
    0.0625
    """
    return error_versus_reject(uncertainty, is_error)["area"]


def out_of_distribution_auroc(known: Any, unknown: Any) -> float:
    """OOD AUROC: how well uncertainty separates unknown from known inputs.

    Use it to test a score that must detect unknown classes: predicted variance,
    entropy, minus `FewShotClassifier.predict_log_evidence`.

    Formula:

    ```
    AUROC = P(uncertainty of an unknown input > uncertainty of a known input)
    ```

    over all pairs of an unknown and a known input; equal uncertainties count
    one half.

    Args:
        known: Uncertainty of known inputs, `(n,)`; larger means less certain.
        unknown: Uncertainty of unknown inputs, `(m,)`.

    Returns:
        A float in `[0, 1]`: 1 if every unknown input is less certain than
        every known input, 0.5 by chance.

    Raises:
        ValueError: If an array is empty, not finite or of the wrong rank.

    Reference:
        - [Hendrycks & Gimpel, 2017](https://arxiv.org/abs/1610.02136)

    Example:

    >>> embeddings_tf.metrics.out_of_distribution_auroc(
    ...     known=[0.1, 0.2, 0.4], unknown=[0.3, 0.8]
    ... )
    0.8333333333333334
    """
    known = arrays.numbers("known", known, 1, "(n,)")
    unknown = arrays.numbers("unknown", unknown, 1, "(m,)")
    is_unknown = np.repeat([False, True], [len(known), len(unknown)])
    return roc_auc(np.concatenate([known, unknown]), is_unknown)
