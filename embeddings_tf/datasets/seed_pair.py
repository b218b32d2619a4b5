"""The seed of stateless random numbers."""

import tensorflow as tf


def seed_pair(seed):
    """`seed` as the two integers that `tf.random.stateless_*` takes."""
    try:
        seed = tf.convert_to_tensor(seed)
    except (OverflowError, TypeError, ValueError) as error:
        raise ValueError(
            f"seed must be two integers of 64 bits, got {seed!r}."
        ) from error
    if seed.shape != (2,) or not seed.dtype.is_integer:
        raise ValueError(
            "seed must be two integers, shape (2,), got shape "
            f"{seed.shape} and dtype {seed.dtype.name}."
        )
    return seed
