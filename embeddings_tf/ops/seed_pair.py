"""The seed of TensorFlow's stateless random numbers."""

import numbers

import numpy as np
import tensorflow as tf

from embeddings_tf.ops.arguments import random_seed


def seed_pair(seed, allow_integer: bool = False) -> tf.Tensor:
    """Returns `seed` as the two integers that `tf.random.stateless_*` takes.

    Args:
        seed: Integers `(2,)`.
        allow_integer: Whether one integer of at least 0 is also a seed.

    Raises:
        ValueError: If it is not such a seed.
    """
    if allow_integer and isinstance(seed, (numbers.Integral, np.integer)):
        seed = [0, random_seed("seed", seed)]
    try:
        found = tf.convert_to_tensor(seed)
    except (OverflowError, TypeError, ValueError) as error:
        raise ValueError(
            f"`seed` must be two integers of 64 bits; received {seed!r}."
        ) from error
    if found.shape != (2,) or not found.dtype.is_integer:
        raise ValueError(
            "`seed` must be two integers, shape (2,); received shape "
            f"{found.shape} and dtype {found.dtype.name}."
        )
    return found
