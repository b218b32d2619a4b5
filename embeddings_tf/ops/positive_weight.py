"""Transforms that keep a trainable number positive."""

import numpy as np
import tensorflow as tf

TRANSFORMS = {"softplus": tf.nn.softplus, "exp": tf.exp}


def inverse(transform: str, value: float) -> np.float64:
    """Returns the weight whose transform is `value`; `value` is positive.

    Keras rounds a plain `float` to float32, so the result is one of NumPy.
    """
    value = np.float64(value)
    if transform == "exp":
        return np.log(value)
    # ln(e^v - 1), without overflow for large v
    return value + np.log(-np.expm1(-value))
