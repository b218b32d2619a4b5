"""A data set of batches from a function of the step."""

from collections.abc import Callable
from numbers import Integral

import tensorflow as tf


def first_step(start: int) -> int:
    if isinstance(start, bool) or not (
        isinstance(start, Integral) and 0 <= start < 2**63
    ):
        raise ValueError(
            f"start is {start!r}; expected the step of the first batch, an "
            "integer of at least 0 (and below 2**63)."
        )
    return start


def map_steps(dataset: tf.data.Dataset, batch: Callable) -> tf.data.Dataset:
    return dataset.map(tf.autograph.experimental.do_not_convert(batch))


def without_factor(indices: tf.Tensor, factor: tf.Tensor) -> tf.Tensor:
    return indices
