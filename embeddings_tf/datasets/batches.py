"""Turns index vectors into batches of examples."""

import inspect
from collections.abc import Callable

import numpy as np
import tensorflow as tf

from embeddings_tf.datasets.fetcher import fetcher
from embeddings_tf.ops.arguments import array
from embeddings_tf.ops.arguments import step_number


def batches(
    x,
    labels,
    indices: tf.data.Dataset,
    preprocess: Callable | None = None,
    *,
    seed=None,
    start: int = 0,
) -> tf.data.Dataset:
    """Turns index vectors into batches of `(x, label)` for `model.fit`.

    The samplers of `embeddings_tf.sampling` choose the examples of a batch and
    return their indices; this function fetches the examples. It reads `x` in
    place: arrays are neither shuffled nor copied.

    Args:
        x: The examples, along the first axis: a NumPy array, a tensor, or any
            object with `len(x)` whose `x[indices]` returns an array for an
            integer vector `indices` (a memory-mapped array, an object that
            reads files). It is read batch by batch, possibly from several
            threads, in the process that calls this function.
        labels: Integers of shape `(examples,)`, or `(examples, factors)` when
            an example has several labels.
        indices: `tf.data.Dataset` of integer vectors of shape `(batch,)`, or of
            pairs of such a vector and an integer scalar, the factor: the
            batch's labels are then `labels[indices, factor]`. Static shapes
            give batches with static shapes.
        preprocess: Function that maps a batch of `x` to the model's input, for
            instance a cast and a division. It is called as `preprocess(x)`, or
            as `preprocess(x, seed)` if `seed` is given, and is traced to a
            graph.
        seed: An integer, also a negative one, or integers of shape `(2,)`. If
            given, `preprocess` receives an `int32` seed of shape `(2,)` for
            `tf.random.stateless_*` and `corrupt`: a pure function of `seed`
            and of the batch's step.
        start: Step of the first batch. To resume a run, pass the same number
            here and to the sampler; the batches are then the same as without
            the interruption.

    Returns:
        `tf.data.Dataset` of `(x, label)`: `x` of shape `(batch, ...)`, labels
        `int32` of shape `(batch,)`, or `(batch, factors)` if labels have
        factors and `indices` do not choose one. Order is deterministic.

    Raises:
        ValueError: If `x` and `labels` differ in length or are empty, if `x`
            contains NaN or infinity (arrays and tensors are checked at once,
            other objects batch by batch), if labels are not integers, or if
            `indices` have another form than described.
        tf.errors.InvalidArgumentError: While a batch is made, if an index is
            out of range or `x[indices]` has another shape than before.

    Example:

    >>> x = np.arange(12, dtype="float32").reshape(6, 2)
    >>> labels = np.array([0, 0, 1, 1, 2, 2])
    >>> indices = tf.data.Dataset.from_tensor_slices(
    ...     np.array([[0, 1, 4, 5], [0, 1, 2, 3]], dtype="int32")
    ... )
    >>> for images, label in embeddings_tf.datasets.batches(x, labels, indices):
    ...     print(images.shape, label.numpy())
    (4, 2) [0 0 2 2]
    (4, 2) [0 0 1 1]
    """
    labels = _label_tensor(labels)
    fetch, num_examples, x = fetcher(x)
    if num_examples != labels.shape[0]:
        raise ValueError(
            "x and labels must have one entry per example; received len(x) = "
            f"{num_examples} and len(labels) = {labels.shape[0]}."
        )
    if num_examples == 0:
        raise ValueError("x and labels are empty: there is nothing to sample.")
    has_factor = _check_indices(indices, labels)
    if preprocess is not None and not callable(preprocess):
        raise ValueError(
            "preprocess must be a function of a batch or None; received "
            f"{preprocess!r}."
        )
    if seed is not None and preprocess is None:
        raise ValueError("seed is for preprocess, but preprocess is None.")
    if preprocess is not None:
        _check_arguments(preprocess, 1 if seed is None else 2)
    start = step_number("start", start)

    def make_batch(element, step=None):
        if has_factor:
            index, factor = element
            index = _as_index(index)
            label = tf.gather(tf.gather(labels, index), factor, axis=1)
        else:
            index = _as_index(element)
            label = tf.gather(labels, index)
        batch = fetch(index)
        if preprocess is not None:
            if step is None:
                batch = preprocess(batch)
            else:
                batch = preprocess(batch, _fold_in(base_seed, step))
        return batch, label

    if seed is None:
        # A pair would be unpacked by `map`.
        dataset = indices.map(
            (lambda index, factor: make_batch((index, factor)))
            if has_factor
            else make_batch,
            num_parallel_calls=tf.data.AUTOTUNE,
            deterministic=True,
        )
    else:
        base_seed = _base_seed(seed)
        dataset = indices.enumerate(start=int(start)).map(
            lambda step, element: make_batch(element, step),
            num_parallel_calls=tf.data.AUTOTUNE,
            deterministic=True,
        )
    options = tf.data.Options()
    # At the end of `fit`, TensorFlow waits for the thread that tunes, which
    # sleeps longer after every round. Without it, all cores are used.
    options.autotune.enabled = False
    dataset = dataset.prefetch(tf.data.AUTOTUNE).with_options(options)
    dataset.examples = x  # x lives as long as the dataset
    return dataset


def _label_tensor(labels):
    """Returns labels as an int32 tensor of rank 1 or 2."""
    values = array("labels", labels)
    if values.ndim not in (1, 2):
        raise ValueError(
            "labels must have shape (examples,) or (examples, factors); "
            "received "
            f"shape {values.shape}."
        )
    if values.dtype.kind not in "iu" and values.size:
        raise ValueError(
            f"labels must be integers; received dtype {values.dtype}; "
            "np.unique(labels, return_inverse=True)[1] numbers the classes."
        )
    limits = np.iinfo(np.int32)
    if values.size and not (
        limits.min <= values.min() and values.max() <= limits.max
    ):
        raise ValueError(
            f"labels must fit in int32; received {values.min()} to "
            f"{values.max()}; np.unique(labels, return_inverse=True)[1] "
            "renumbers the classes."
        )
    with tf.device("CPU:0"):
        return tf.convert_to_tensor(values.astype(np.int32))


def _check_indices(indices, labels):
    """Raises unless `indices` are as promised; says if they have factors."""
    if not isinstance(indices, tf.data.Dataset):
        raise ValueError(
            "indices must be a tf.data.Dataset of index vectors, as the "
            "functions of embeddings_tf.sampling give; received "
            f"{type(indices).__name__}."
        )
    spec = indices.element_spec
    is_pair = isinstance(spec, tuple) and len(spec) == 2
    vector, factor = spec if is_pair else (spec, tf.TensorSpec((), tf.int32))
    if not (_is_integer_spec(vector, 1) and _is_integer_spec(factor, 0)):
        raise ValueError(
            "indices must give integer vectors of shape (batch,), or pairs of "
            f"such a vector and an integer scalar; received elements {spec}."
        )
    if is_pair and labels.shape.rank != 2:
        raise ValueError(
            "indices give a factor with each batch, so labels must have shape "
            f"(examples, factors); received shape {tuple(labels.shape)}."
        )
    return is_pair


def _check_arguments(preprocess, count):
    """Raises unless the function accepts this number of arguments."""
    try:
        signature = inspect.signature(preprocess)
    except (TypeError, ValueError):
        return  # its signature is unknown
    try:
        signature.bind(*range(count))
    except TypeError as error:
        called = "preprocess(x)" if count == 1 else "preprocess(x, seed)"
        raise ValueError(
            f"preprocess is called as {called}, but takes {signature}; give "
            "seed to batches if and only if preprocess takes one."
        ) from error


def _as_index(index):
    """Converts integers to a type that TensorFlow accepts as indices."""
    return index if index.dtype == tf.int64 else tf.cast(index, tf.int32)


def _is_integer_spec(spec, rank):
    return (
        isinstance(spec, tf.TensorSpec)
        and spec.dtype.is_integer
        and spec.shape.rank == rank
    )


def _base_seed(seed):
    if isinstance(seed, int) and not -(2**63) <= seed < 2**64:
        seed %= 2**63  # no array has such an integer
    seed = array("seed", seed)
    if seed.dtype.kind not in "iu" or seed.shape not in ((), (2,)):
        raise ValueError(
            "`seed` must be an integer or two integers; received shape "
            f"{seed.shape} and dtype {seed.dtype}."
        )
    seed = seed.astype(np.int64)
    if seed.shape == ():
        seed = np.stack([seed, seed >> 32])
    # Wraps around, so that any integer is a valid seed.
    return seed.astype(np.int32)


def _fold_in(seed, step):
    """Returns the seed of a step: two integers drawn from (seed, step)."""
    return tf.random.stateless_uniform(
        (2,),
        seed=tf.random.fold_in(seed, tf.cast(step, tf.int32), alg="philox"),
        minval=None,
        maxval=None,
        dtype=tf.int32,
        alg="philox",
    )
