"""Checks of codes and factors, and results by values of factors."""

import numpy as np

from embeddings_tf.metrics import arrays


def codes_and_factors(
    codes, factors, prefix="", ordered=False
) -> tuple[np.ndarray, np.ndarray]:
    names = prefix + "codes", prefix + "factors"
    codes = arrays.numbers(names[0], codes, 2, "(n, dims)", ordered=ordered)
    factors = arrays.integers(names[1], factors, 2, "(n, num_factors)")
    arrays.same_length(**dict(zip(names, (codes, factors), strict=True)))
    return codes if ordered else codes.astype(np.float64), factors


def same_columns(**arrays_by_name: np.ndarray) -> None:
    (name, fitted), (test_name, scored) = arrays_by_name.items()
    if fitted.shape[1] != scored.shape[1]:
        raise ValueError(
            f"`{name}` and `{test_name}` must have the same columns; received "
            f"{fitted.shape[1]} and {scored.shape[1]}. Use the same encoder "
            "and factors for both."
        )


def fitted_and_test(
    codes, factors, test_codes, test_factors
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Checks them; without test codes, the fitted examples are tested."""
    codes, factors = codes_and_factors(codes, factors)
    if (test_codes is None) != (test_factors is None):
        raise ValueError(
            "`test_codes` and `test_factors` must be passed together; received "
            "only one of them. Leave out both to score the fitted examples."
        )
    if test_codes is None:
        return codes, factors, codes, factors
    test_codes, test_factors = codes_and_factors(
        test_codes, test_factors, "test_"
    )
    same_columns(codes=codes, test_codes=test_codes)
    same_columns(factors=factors, test_factors=test_factors)
    return codes, factors, test_codes, test_factors


def by_value(
    rows: list[tuple], factors: np.ndarray, names: tuple[str, ...]
) -> dict[str, np.ndarray]:
    """Returns columns of `rows` by name."""
    if not rows:
        raise ValueError(
            "`factors` must have a value to distinguish from others; received "
            f"{factors.shape[1]} columns that are constant, or whose values "
            "are not in the scored examples. Pass more varied examples."
        )
    return {
        name: np.array(column)
        for name, column in zip(names, zip(*rows, strict=True), strict=True)
    }
