"""False-positive rate of unknown inputs at a stated true-positive rate."""

from typing import Any

import numpy as np

from embeddings_tf.metrics import arrays
from embeddings_tf.ops.arguments import number_between


def out_of_distribution_fpr(
    known: Any, unknown: Any, true_positive_rate: float = 0.95
) -> float:
    """FPR at 95 % TPR: unknown inputs accepted if 95 % of the known are.

    Use it beside `out_of_distribution_auroc`, which averages over all
    thresholds: this is the rate at one threshold that is usable.

    Formula:

    ```
    t = smallest uncertainty with (known <= t) / known inputs
        >= true_positive_rate
    FPR = (unknown <= t) / unknown inputs
    ```

    Args:
        known: Uncertainty of inputs of the known kind, `(n,)`; larger means
            less certain.
        unknown: Uncertainty of inputs of another kind, `(m,)`.
        true_positive_rate: Share of known inputs that must be accepted, between
            0 and 1.

    Returns:
        A float in `[0, 1]`: 0 if every unknown input is less certain than
        every known input, `true_positive_rate` by chance.

    Raises:
        ValueError: If an array is empty, not finite or of the wrong rank, or
            the rate is not between 0 and 1.

    Reference:
        - [Liang, Li & Srikant, 2018](https://arxiv.org/abs/1706.02690)

    Example:

    >>> embeddings_tf.metrics.out_of_distribution_fpr(
    ...     known=[0.1, 0.2, 0.3, 0.4], unknown=[0.3, 0.8],
    ...     true_positive_rate=0.75,
    ... )
    0.5
    """
    known = arrays.numbers("known", known, 1, "(n,)", ordered=True)
    unknown = arrays.numbers("unknown", unknown, 1, "(m,)", ordered=True)
    rate = number_between("true_positive_rate", true_positive_rate, 0, 1)
    # Rounding must not ask for one more, such as 0.95 of 20 inputs.
    needed = int(np.ceil(rate * len(known) * (1 - 1e-12)))
    threshold = np.sort(known)[max(needed, 1) - 1]
    return float(np.mean(unknown <= threshold))
