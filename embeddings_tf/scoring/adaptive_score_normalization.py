"""Adaptive score normalisation (AS-norm) with a cohort."""

from collections.abc import Callable
from typing import Any

import numpy as np

from embeddings_tf.metrics import arrays
from embeddings_tf.metrics.score_calls import call_score
from embeddings_tf.ops import arguments
from embeddings_tf.ops.first_not_finite import first_not_finite


class AdaptiveScoreNormalization:
    """Adaptive score normalisation (AS-norm): compares scores with a cohort.

    Use it for verification if scores of some examples are high with everything,
    for instance in other noise than the training data. Each score is compared
    with the scores that both sides have with their nearest examples of a
    cohort of other classes. The object is a score itself: pass it to
    `metrics.score_all_pairs` or `metrics.stream_trials`. The result is not a
    log-likelihood ratio: calibrate it, for instance by `LogisticCalibration`.

    Formula, for a score s of an enrolled example e and a test example t:

    ```
    s' = ((s - mean_e) / deviation_e + (s - mean_t) / deviation_t) / 2
    ```

    where mean and deviation are over the `top_k` highest scores of the example
    with the cohort (s-norm, if the cohort has no more examples).

    Args:
        score: Function of `(a, dim)` and `(b, dim)` that returns `(a, b)`, such
            as `metrics.cosine_scores`.
        cohort: Embeddings `(c, dim)`, for instance the mean embedding of each
            training class (`metrics.class_means`); at least 2.
        top_k: Number of cohort examples for each side, at least 2; 300 is
            common. Larger than the cohort: all of it.

    Raises:
        ValueError: If the cohort is invalid, `top_k` is too small, the score
            returns NaN or another shape, or all `top_k` scores of an example
            are equal up to rounding.

    Reference:
        - [Matejka et al., 2017](https://doi.org/10.21437/Interspeech.2017-803)
        - [Wang et al., 2023](https://arxiv.org/abs/2210.17016), wespeaker

    Example:

    >>> cohort = np.array([[1.0, 0.1], [0.1, 1.0], [-1.0, 0.3]])
    >>> normalized = embeddings_tf.scoring.AdaptiveScoreNormalization(
    ...     embeddings_tf.metrics.cosine_scores, cohort, top_k=2
    ... )
    >>> normalized([[1.0, 0.0]], [[2.0, 0.0], [0.0, 1.0]]).round(2)
    array([[ 1.01, -1.52]])
    """

    def __init__(self, score: Callable, cohort: Any, top_k: int = 300):
        self.score = arguments.function(
            "score", score, "two arrays of embeddings"
        )
        self.cohort = arrays.numbers("cohort", cohort, 2, "(c, dim)")
        self.top_k = arguments.integer_at_least("top_k", top_k, 2)
        if len(self.cohort) < 2:
            raise ValueError(
                "`cohort` must have at least 2 examples, for a deviation; "
                "received 1."
            )

    def __call__(self, first: Any, second: Any) -> np.ndarray:
        """Normalised scores `(a, b)` of each row with each row, float64."""
        first = arrays.numbers("first", first, 2, "(a, dim)")
        second = arrays.numbers("second", second, 2, "(b, dim)")
        scores = call_score(self.score, first, second).astype(np.float64)
        of_cohort = call_score(self.score, first, self.cohort)
        mean, deviation = self._statistics("first", of_cohort)
        of_first = (scores - mean[:, np.newaxis]) / deviation[:, np.newaxis]
        # In the place that it has in the trial, for asymmetric scores.
        of_cohort = call_score(self.score, self.cohort, second).T
        mean, deviation = self._statistics("second", of_cohort)
        return (of_first + (scores - mean) / deviation) / 2

    def _statistics(self, name, scores) -> tuple[np.ndarray, np.ndarray]:
        """Mean and deviation of the highest scores with the cohort."""
        # Relative rounding error of a score.
        rounding = 1e-6 if scores.dtype == np.float32 else 1e-12
        scores = scores.astype(np.float64)
        top_k = min(self.top_k, len(self.cohort))
        highest = np.partition(scores, -top_k, axis=1)[:, -top_k:]
        row = first_not_finite(highest)
        if row is not None:
            raise ValueError(
                f"`score` must give finite scores with the cohort; row {row} "
                f"of `{name}` has an infinite one among its {top_k} highest. "
                "Use a smaller `top_k`, or a bounded score."
            )
        # In a unit of each row, so that squares neither overflow nor underflow.
        scaled, exponent = arrays.scaled(highest.T, axis=0)
        # Scores of multiples of one row differ by rounding.
        flat = np.ptp(scaled, axis=0) <= rounding
        if flat.any():
            raise ValueError(
                f"`cohort` must have different scores with each example; row "
                f"{int(np.argmax(flat))} of `{name}` has {top_k} equal scores, "
                "up to rounding. Use more cohort classes, or a larger `top_k`."
            )
        mean, deviation = np.mean(scaled, axis=0), np.std(scaled, axis=0)
        return np.ldexp(mean, exponent), np.ldexp(deviation, exponent)
