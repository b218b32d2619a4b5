"""Codes and factors that classifiers are fitted to and tested on."""

import numpy as np

from embeddings_tf.metrics.codes_and_factors import fitted_and_test


def train_and_test_codes(
    codes, factors, test_codes, test_factors, largest: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Checks them; without test codes, the fitted examples are tested.

    Raises:
        ValueError: If arrays are invalid or do not fit together, a code is
            above `largest` in size, there is a single dimension, or all
            factors are constant.
    """
    codes, factors, test_codes, test_factors = fitted_and_test(
        codes, factors, test_codes, test_factors
    )
    if codes.shape[1] < 2:
        raise ValueError(
            "`codes` must have at least 2 dimensions, because dimensions are "
            f"compared; received {codes.shape[1]}."
        )
    received = max(np.abs(codes).max(), np.abs(test_codes).max())
    if received > largest:
        raise ValueError(
            f"`codes` must be at most {largest:g} in size; received "
            f"{received:g}. Rescale them."
        )
    if np.all(factors == factors[0]):
        raise ValueError("`factors` must vary; received only constant columns.")
    return codes, factors, test_codes, test_factors
