"""Reads examples by their indices inside a tf.data pipeline."""

import weakref
from collections.abc import Mapping

import numpy as np
import tensorflow as tf

from embeddings_tf.ops.arguments import num_rows
from embeddings_tf.ops.arguments import result
from embeddings_tf.ops.first_not_finite import first_not_finite
from embeddings_tf.ops.listed import listed

_CHECK_BLOCK_BYTES = 1 << 24


def fetcher(x):
    """Returns the function `indices -> x[indices]`, len(x) and `x`.

    The function does not keep `x`: TensorFlow keeps the function after
    `model.fit`, and would keep the examples of every run of a process.

    The function reads through Python, even arrays and tensors. tf.data copies
    a captured tensor into its graph, which takes four times the memory of `x`
    (measured); `np.take` copies one batch at a time and is as fast. Without a
    generator, the pipeline can be checkpointed.
    """
    if isinstance(x, tf.Tensor | tf.Variable):
        x = _tensor_as_array(x)
    elif isinstance(x, list | tuple):
        x = _sequence_as_array(x)
    elif hasattr(x, "iloc"):  # pandas looks rows up by their index
        x = x.to_numpy()
    if np.ma.is_masked(x):
        raise ValueError(
            f"x has {np.ma.count_masked(x)} masked values; remove these rows, "
            "or fill them: x.filled(0)."
        )
    if isinstance(x, np.ma.MaskedArray):
        x = x.data
    if getattr(x, "shape", None) == ():
        raise ValueError(
            "x must have one entry per example; received a scalar."
        )
    if isinstance(x, Mapping):
        raise ValueError(
            "x must be one array; received a dictionary with "
            f"{listed([*map(repr, x)])}. Join its arrays along the last axis, "
            "and divide them in `preprocess`, which may return a dictionary."
        )
    if not hasattr(x, "__len__") or not hasattr(x, "__getitem__"):
        raise ValueError(
            "x must be an array, a tensor, or an object with len(x) and "
            f"x[indices]; received {type(x).__name__}."
        )
    num_examples = num_rows("x", x)
    if num_examples == 0:
        return None, 0, x
    # A memory-mapped array may exceed the memory: checked batch by batch.
    is_array = isinstance(x, np.ndarray) and not isinstance(x, np.memmap)
    if is_array:
        _check_finite(x)
    example = _read(x, np.zeros((1,), np.int32))
    if example.shape[:1] != (1,):
        raise ValueError(
            "x[indices] must have one entry for each index; received shape "
            f"{example.shape} and dtype {example.dtype} for one index."
        )
    dtype = example.dtype.newbyteorder("=")
    shape = example.shape[1:]
    try:
        tensor_dtype = tf.convert_to_tensor(example.astype(dtype)).dtype
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"x has dtype {dtype}, which tensors do not have; convert "
            "x, and give all examples the same shape."
        ) from error

    try:
        examples = weakref.ref(x)
    except TypeError:  # the object has no weak references

        def examples():
            return x

    def read(index):
        if len(index) and not 0 <= index.min() <= index.max() < num_examples:
            raise ValueError(
                f"indices must be in 0..{num_examples - 1}; "
                f"received {index.min()} "
                f"to {index.max()}."
            )
        block = _read(examples(), index)
        if block.shape != (len(index), *shape):
            raise ValueError(
                f"x[indices] gave shape {block.shape} for {len(index)} "
                f"indices, expected {(len(index), *shape)}: examples must have "
                "the shape of example 0."
            )
        if not is_array:
            bad = first_not_finite(block)
            if bad is not None:
                raise ValueError(_not_finite_message(index[bad]))
        return block.astype(dtype, copy=False)

    def fetch(index):
        # Not stateful, so that the state of the pipeline can be saved.
        block = tf.numpy_function(read, [index], tensor_dtype, stateful=False)
        return tf.ensure_shape(block, (index.shape[0], *shape))

    return fetch, num_examples, x


def _tensor_as_array(x):
    try:
        return x.numpy()  # shares the memory of a tensor on the CPU
    except (AttributeError, NotImplementedError) as error:
        raise ValueError(
            "x must have values: batches was called with a symbolic tensor, "
            "inside a graph."
        ) from error


def _sequence_as_array(x):
    try:
        return np.asarray(x)
    except ValueError as error:
        raise ValueError(
            f"x is a {type(x).__name__} whose examples differ in shape; pad "
            "them, or pass an object that pads what x[indices] returns."
        ) from error


def _read(x, index):
    if isinstance(x, np.ndarray):
        # take is twice as fast, but copies an array with gaps completely.
        return np.take(x, index, axis=0) if x.flags.c_contiguous else x[index]
    try:
        return result("x[indices]", x[index])
    except (TypeError, KeyError) as error:
        raise ValueError(
            "x[indices] must return an array of examples if indices is an "
            f"integer vector in any order, but {type(x).__name__} raised "
            f"{type(error).__name__}: {error}. For data on disk, save it with "
            "np.save and pass np.load(FILE, mmap_mode='r')."
        ) from error


def _check_finite(x):
    """Raises if `x` has a value that is not finite; needs little memory."""
    rows = max(1, _CHECK_BLOCK_BYTES * len(x) // max(1, x.nbytes))
    for first in range(0, len(x), rows):
        bad = first_not_finite(x[first : first + rows])
        if bad is not None:
            raise ValueError(_not_finite_message(first + bad))


def _not_finite_message(example):
    return (
        f"x[{example}] contains NaN or infinity; remove or repair such "
        "examples (this is the first)."
    )
