"""The seed of stateless random numbers."""

import tensorflow as tf


def seed_pair(seed):
    """`seed` as the two integers that `tf.random.stateless_*` takes."""
    seed = tf.convert_to_tensor(seed)
    if seed.shape != (2,) or not seed.dtype.is_integer:
        raise ValueError(
            "seed must be two integers, shape (2,), got shape "
            f"{seed.shape} and dtype {seed.dtype.name}."
        )
    return seed
