"""Steps of losses: the value and its gradient in the embeddings of a batch.

A contender is a function of a module with one argument, such as the name of a
loss. It returns two functions: the first makes tensors of arrays; the second
takes a step on these embeddings and labels and returns the loss.
"""

import functools
import os
import time

from benchmarks import _side_by_side as side_by_side
from benchmarks._aims import OURS
from benchmarks._worker import LARGEST_SECONDS
from benchmarks._worker import Stopped


def batch(name):
    """Returns embeddings `(rows, dim)` of overlapping classes, and labels.

    The name has the number of classes, instances of a class, and dimensions,
    such as "12x10x500".
    """
    import numpy as np

    num_classes, num_per_class, dim = map(int, name.split("x"))
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(num_classes), num_per_class)
    centres = 0.2 * rng.normal(size=(num_classes, dim))
    z = centres[labels] + rng.normal(size=(len(labels), dim))
    # Distances of about 1, so that every loss has some active hinges.
    return (z / np.sqrt(2 * dim)).astype("float32"), labels.astype("int32")


def tensorflow_contender(function, jit_compile=None):
    """Makes a contender of a function with one value per row.

    With `jit_compile`, XLA compiles it as in `model.compile(jit_compile=True)`.
    """
    import tensorflow as tf

    @tf.function(
        input_signature=[
            tf.TensorSpec([None, None], tf.float32),
            tf.TensorSpec([None], tf.int32),
        ],
        jit_compile=jit_compile,
    )
    def step(z, labels):
        with tf.GradientTape() as tape:
            tape.watch(z)
            value = tf.reduce_mean(function(labels, z))
        return value, tape.gradient(value, z)

    # The single traced function, because choosing among several takes time
    # at each call and does not belong to a loss.
    step = step.get_concrete_function()
    return tf.constant, lambda z, labels: step(z, labels)[0].numpy()


def compare(together, functions, argument, batch_name, seconds):
    """Returns measurements of contenders by name."""
    contenders = {
        name: (function, argument, batch_name)
        for name, function in functions.items()
    }
    found = together.compare(prepare, turn, contenders, seconds)
    for name in found:
        if name.startswith(OURS) and "seconds" in found[name]:
            try:
                case = contenders[name]
                peak = together.call(f"memory: {name}", memory, *case)
            except Stopped:
                peak = None
            found[name]["peak_bytes"] = peak
    return found


# The following functions run in the processes of the contenders.


@functools.cache
def made(contender, argument):
    return contender(argument)


@functools.lru_cache(1)
def ready_step(contender, argument, batch_name):
    to_tensor, step = made(contender, argument)
    z, labels = batch(batch_name)
    return functools.partial(step, to_tensor(z), to_tensor(labels))


def prepare(*case):
    """Returns the value, and the peak memory of a second step."""
    step = ready_step(*case)
    value = float(step())
    started = time.perf_counter()
    peak = side_by_side.peak_bytes(step)
    if time.perf_counter() - started > LARGEST_SECONDS:
        raise Stopped(f"over {LARGEST_SECONDS:g} s")
    return {"value": value, "peak_bytes": peak}


def turn(*case):
    return side_by_side.timed(ready_step(*case))


def memory(*case):
    """Returns the peak memory of a second step, in a process of its own.

    TensorFlow's allocator for oneDNN keeps memory, so a second step would seem
    to need none. Without oneDNN, memory is returned.
    """
    os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"
    step = ready_step(*case)
    step()
    return side_by_side.peak_bytes(step)
