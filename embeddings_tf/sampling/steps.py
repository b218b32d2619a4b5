"""Functions of the steps of a data set."""

from collections.abc import Callable

import tensorflow as tf


def map_steps(dataset: tf.data.Dataset, batch: Callable) -> tf.data.Dataset:
    """Maps a function of tensors; AutoGraph does not change it."""
    return dataset.map(tf.autograph.experimental.do_not_convert(batch))


def without_factor(indices: tf.Tensor, factor: tf.Tensor) -> tf.Tensor:
    """The indices alone, where there is one factor."""
    return indices
