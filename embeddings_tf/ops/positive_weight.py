"""Transforms that keep a trainable number positive."""

import numpy as np
import tensorflow as tf

TRANSFORMS = {"softplus": tf.nn.softplus, "exp": tf.exp}


def inverse(transform: str, value: float) -> float:
    """Returns the weight whose transform is `value`; `value` is positive."""
    if transform == "exp":
        return float(np.log(value))
    # ln(e^v - 1), without overflow for large v
    return float(value + np.log(-np.expm1(-value)))
