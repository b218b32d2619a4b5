"""Learn then Test: a threshold with a stated error among accepted answers."""

from collections.abc import Callable
from typing import Any

import numpy as np

from embeddings_tf.metrics import arrays
from embeddings_tf.ops.arguments import number_between


def learn_then_test(
    confidence: Any,
    is_error: Any,
    classes: Any = None,
    *,
    thresholds: Any,
    error_rate: float = 0.05,
    level: float = 0.95,
) -> dict[str, Any]:
    """Threshold with a stated error among the accepted answers.

    Use it if wrong answers are costly and "unknown" is an allowed answer: an
    answer is accepted if its confidence reaches the threshold. With probability
    `level` over the calibration data, the error among accepted answers is at
    most `error_rate`.

    Thresholds are tested from the highest to the lowest, and the first one that
    is not significant ends the test (fixed-sequence testing). Therefore no
    correction for several tests is needed, but `thresholds` must not depend on
    the calibration data. A high threshold that accepts few answers can end the
    test at once: let the first threshold accept enough.

    Formula of the p-value of "the error at this threshold exceeds
    `error_rate`", without `classes`, where examples are independent:

    ```
    p = P(Binomial(accepted answers, error_rate) <= errors among them)
    ```

    With `classes`, only the classes are independent. `d_c` is the mean over the
    examples of class c of `accepted * (is_error - error_rate)`. If the
    threshold is too low, the mean of `d_c` over classes is positive, and each
    product is a fair or losing bet; Markov's inequality gives

    ```
    p = 1 / mean over bets b of the product over classes of (1 - b d_c)
        b = 1 / (1 - error_rate) * (0.05, 0.10, ..., 0.95)
    ```

    Each class then counts equally, whatever its number of examples.

    Args:
        confidence: `(n,)`, of the answers to calibration examples; larger means
            more certain.
        is_error: `(n,)` booleans (or 0 and 1), whether the answer is wrong.
        classes: `(n,)` integers or strings, the class of each example. None:
            examples are independent.
        thresholds: `(m,)`, chosen without the calibration data, for instance
            `np.linspace(0, 1, 101)` for probabilities.
        error_rate: The largest error among accepted answers, between 0 and 1.
        level: The probability of the promise, between 0 and 1.

    Returns:
        A dictionary: `threshold`, inf if no threshold can be promised;
        `error_rate`, `level`; `accepted`, the share of calibration answers that
        are accepted; `error`, the error among them (0 without any); and arrays
        `thresholds`, falling and rounded to the type of `confidence`, with
        their `p_value`.

    Raises:
        ValueError: If arrays are empty, not finite, of the wrong rank or of
            different lengths, or if a rate is not between 0 and 1.

    Reference:
        - [Angelopoulos, Bates, Candès, Jordan & Lei, 2021](https://arxiv.org/abs/2110.01052)
        - [Waudby-Smith & Ramdas, 2020](https://arxiv.org/abs/2010.09686), bets
          on bounded means

    Example:

    >>> rng = np.random.default_rng(0)
    >>> confidence = rng.random(2000)
    >>> is_error = rng.random(2000) > confidence
    >>> found = embeddings_tf.metrics.learn_then_test(
    ...     confidence, is_error, thresholds=np.linspace(0, 0.95, 20),
    ...     error_rate=0.2,
    ... )
    >>> 0.6 < found["threshold"] < 0.8, found["error"] < 0.2
    (True, True)
    """
    given = confidence
    confidence = arrays.numbers("confidence", confidence, 1, "(n,)")
    dtype = arrays.compared_dtype(given, confidence)
    is_error = arrays.booleans("is_error", is_error, 1, "(n,)")
    arrays.same_length(confidence=confidence, is_error=is_error)
    thresholds = arrays.numbers("thresholds", thresholds, 1, "(m,)")
    rate = number_between("error_rate", error_rate, 0, 1)
    level = number_between("level", level, 0, 1)
    if classes is None:
        p_of = _p_of_examples
    else:
        numbers, sizes = arrays.numbered_classes("classes", classes)
        arrays.same_length(confidence=confidence, classes=numbers)
        p_of = _p_of_classes(numbers, sizes)
    # A float32 confidence of 0.9 is below the float64 threshold 0.9.
    with np.errstate(over="ignore"):  # infinity, which accepts nothing
        thresholds = thresholds.astype(dtype).astype(np.float64)
    falling = np.unique(thresholds)[::-1]
    p_values = np.array(
        [p_of(confidence >= t, is_error, rate) for t in falling]
    )
    passed = np.cumprod(p_values <= 1 - level).astype(bool)
    threshold = float(falling[passed][-1]) if passed.any() else np.inf
    accepted = confidence >= threshold
    return {
        "threshold": threshold,
        "error_rate": rate,
        "level": level,
        "accepted": float(np.mean(accepted)),
        "error": float(np.mean(is_error[accepted])) if accepted.any() else 0.0,
        "thresholds": falling,
        "p_value": p_values,
    }


def _p_of_examples(accepted, is_error, rate: float) -> float:
    from scipy.stats import binom

    errors = np.sum(is_error & accepted)
    return float(binom.cdf(errors, np.sum(accepted), rate))


def _p_of_classes(numbers, sizes) -> Callable:
    def p_of(accepted, is_error, rate: float) -> float:
        excess = np.bincount(numbers, accepted * (is_error - rate)) / sizes
        bets = np.linspace(0.05, 0.95, 19) / (1 - rate)
        wealth = np.sum(np.log1p(-np.outer(bets, excess)), axis=1)
        log_mean = np.logaddexp.reduce(wealth) - np.log(len(bets))
        return float(np.exp(min(0.0, -log_mean)))

    return p_of
