"""Separated attribute predictability (SAP) of a code."""

from typing import Any

import numpy as np

from embeddings_tf.metrics.train_and_test_codes import train_and_test_codes

# LIBLINEAR never returns if fourth powers, or sums of many, overflow.
_LARGEST = 1e70


def separated_attribute_predictability(
    codes: Any,
    factors: Any,
    *,
    test_codes: Any = None,
    test_factors: Any = None,
) -> float:
    """SAP: is each factor predicted by one dimension, and by no second one?

    Use it to compare codes with published numbers. `mutual_information_gap`
    asks the same with mutual information instead of a classifier.

    Formula, with the accuracy `s[i, f]` of a linear support vector machine that
    predicts the values of factor f from dimension i alone:

    ```
    SAP = mean over f of (largest s[i, f] - second largest s[i, f] over i)
    ```

    As in disentanglement_lib, the machine has `C=0.01` and balanced class
    weights, and sees the dimension in its own scale.

    Args:
        codes: `(n, dims)`, at least 2 dimensions.
        factors: Integers `(n, num_factors)`.
        test_codes: `(m, dims)`, codes of other examples to score. None: the
            fitted examples.
        test_factors: Integers `(m, num_factors)`; required with `test_codes`.

    Returns:
        A float in `[0, 1]`. Constant factors are ignored.

    Raises:
        ValueError: If arrays are empty, not finite, of the wrong rank or of
            different lengths, if a code is above 1e70 in size, if there is a
            single dimension, or if all factors are constant.

    Reference:
        - [Kumar, Sattigeri & Balakrishnan, 2018](https://arxiv.org/abs/1711.00848)
        - [Locatello et al., 2019](https://arxiv.org/abs/1811.12359), the
          authors of disentanglement_lib

    Example:

    >>> factors = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 5)
    >>> embeddings_tf.metrics.separated_attribute_predictability(
    ...     10.0 * factors, factors
    ... )
    0.5
    """
    from sklearn.svm import LinearSVC

    codes, factors, test_codes, test_factors = train_and_test_codes(
        codes, factors, test_codes, test_factors, _LARGEST
    )
    gaps = []
    for column in range(factors.shape[1]):
        values = factors[:, column]
        if len(np.unique(values)) < 2:
            continue
        accuracy = []
        for dimension in range(codes.shape[1]):
            classifier = LinearSVC(
                C=0.01, class_weight="balanced", random_state=0
            )
            classifier.fit(codes[:, [dimension]], values)
            found = classifier.predict(test_codes[:, [dimension]])
            accuracy.append(np.mean(found == test_factors[:, column]))
        lower, higher = np.sort(accuracy)[-2:]
        gaps.append(higher - lower)
    return float(np.mean(gaps))
