"""Chooses how many training steps one call of the graph takes."""

import time

import keras
import tensorflow as tf

# A call from Python costs milliseconds: larger steps gain nothing.
SMALL_STEP = 0.02
MOST_STEPS = 10
# More operations take longer than a small step on any CPU.
MOST_OPERATIONS = 2e9


def steps_per_execution(
    model: keras.Model, batch: tuple, steps_per_epoch: int
) -> int:
    """Returns Keras's `steps_per_execution` for a model: 1, unless it is small.

    Small networks are bound by the overhead of the calls from Python, so
    several of their steps run in one call. The weights after an epoch are the
    same: the number divides `steps_per_epoch`.

    The model is run on the batch to measure its time, and does not change.
    """
    steps = largest_divisor(steps_per_epoch)
    if steps == 1 or _is_large(model, batch[0]):
        return 1
    # A step also computes gradients, twice the work.
    return steps if 3 * _seconds(model, *batch) < SMALL_STEP else 1


def largest_divisor(number: int) -> int:
    """Returns the largest divisor up to `MOST_STEPS` and half of the number.

    The first call of a run compiles and is not timed, so an epoch has two.
    """
    most = max(1, min(MOST_STEPS, number // 2))
    return max(n for n in range(1, most + 1) if number % n == 0)


def _is_large(model: keras.Model, x) -> bool:
    rows = int(tf.shape(keras.tree.flatten(x)[0])[0])
    # Every row multiplies every weight, in a step three times.
    return 6 * rows * model.count_params() > MOST_OPERATIONS


def _seconds(model: keras.Model, x, y) -> float:
    """Returns the seconds of the loss of a batch."""

    @tf.function(autograph=False)
    def loss(x, y):
        # Nothing in the model changes.
        with keras.StatelessScope(collect_losses=True):
            return model.compute_loss(x, y, model(x, training=True))

    loss(x, y)  # compiles
    started = time.perf_counter()
    loss(x, y).numpy()
    return time.perf_counter() - started
