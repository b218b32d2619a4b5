"""Codes and factors that classifiers are fitted to and tested on."""

import numpy as np

from embeddings_tf.metrics.codes_and_factors import fitted_and_test

# Squares of this number fit in float64, with sums of many.
_LARGEST = 1e100


def train_and_test_codes(
    codes, factors, test_codes, test_factors
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Checks them; without test codes, the fitted examples are tested.

    Raises:
        ValueError: If arrays are invalid or do not fit together, there is a
            single dimension, or all factors are constant.
    """
    codes, factors, test_codes, test_factors = fitted_and_test(
        codes, factors, test_codes, test_factors
    )
    if codes.shape[1] < 2:
        raise ValueError(
            "`codes` must have at least 2 dimensions, because dimensions are "
            f"compared; received {codes.shape[1]}."
        )
    largest = max(np.abs(codes).max(), np.abs(test_codes).max())
    if largest > _LARGEST:
        raise ValueError(
            f"`codes` must be at most {_LARGEST:g} in size; received "
            f"{largest:g}. Rescale them."
        )
    if np.all(factors == factors[0]):
        raise ValueError("`factors` must vary; received only constant columns.")
    return codes, factors, test_codes, test_factors
