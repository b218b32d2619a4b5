"""Logs steps per second, and the share of time spent waiting for input."""

import time

import keras
import tensorflow as tf


class Throughput(keras.callbacks.Callback):
    """Logs the speed of training, and how long `fit` waits for input.

    Use it to see whether the input pipeline is fast enough. List it before
    callbacks that read the logs. The logs of an epoch contain

    - `steps_per_second`, without the time of validation and other callbacks;
    - `input_wait`, if `fit` reads `measured(dataset)`: the share of the step
      time spent waiting for a batch, from 0 to 1. Close to 0: batches are
      ready in time. Close to 1: steps mostly wait.

    The first step after `fit` starts is not counted, because it compiles. With
    `steps_per_execution`, the first steps that run together are not counted.
    An epoch without other steps has no values.

    The wait is measured where `fit` reads the pipeline. A strategy of several
    devices prefetches; the value is then too large if the pipeline is about as
    fast as the steps.

    Reference:
        - [tf.data performance](https://www.tensorflow.org/guide/data_performance)

    Example:

    >>> x, labels = np.random.rand(20, 8), np.arange(20) % 4
    >>> encoder = keras.Sequential([keras.Input((8,)), keras.layers.Dense(2)])
    >>> encoder.compile(loss=embeddings_tf.losses.TripletLoss())
    >>> throughput = embeddings_tf.callbacks.Throughput()
    >>> batches = tf.data.Dataset.from_tensors((x, labels)).repeat(3)
    >>> history = encoder.fit(
    ...     throughput.measured(batches), callbacks=[throughput], verbose=0
    ... )
    >>> sorted(history.history)[:1]
    ['input_wait']
    """

    def __init__(self):
        super().__init__()
        self._waited = self._seconds = 0.0
        self._steps = 0
        self._compiled = self._has_waited = False

    def measured(self, dataset: tf.data.Dataset) -> tf.data.Dataset:
        """Returns the same batches with measured delays; use it last.

        Raises:
            ValueError: If `dataset` is not a `tf.data.Dataset`.
        """
        if not isinstance(dataset, tf.data.Dataset):
            raise ValueError(
                "`measured` takes a tf.data.Dataset; received "
                f"{type(dataset).__name__}. Other inputs go to `fit` as they "
                "are: the callback then logs `steps_per_second` alone."
            )
        # Not tf.timestamp, which fails in deterministic runs.
        clock = tf.data.Dataset.counter().map(
            lambda _: tf.numpy_function(time.monotonic, [], tf.float64)
        )

        def observe(asked, batch):
            tf.numpy_function(self._add_wait_since, [asked], [])
            return batch

        # A zip reads in order: first the time, then the batch.
        zipped = tf.data.Dataset.zip((clock, dataset)).map(observe)
        options = tf.data.Options()
        # Prefetching here would hide the wait of the step.
        options.experimental_optimization.inject_prefetch = False
        return zipped.with_options(options)

    def _add_wait_since(self, asked):
        self._has_waited = True
        self._waited += time.monotonic() - float(asked)

    def on_train_begin(self, logs=None):
        self._compiled = self._has_waited = False

    def on_epoch_begin(self, epoch, logs=None):
        self._waited = self._seconds = 0.0
        self._steps = 0

    def on_train_batch_begin(self, batch, logs=None):
        self._started, self._first = time.monotonic(), batch

    def on_train_batch_end(self, batch, logs=None):
        self._seconds += time.monotonic() - self._started
        # Several with steps_per_execution, for which Keras also counts steps
        # after the end of the epoch.
        steps = (self.params or {}).get("steps")
        end = min(batch + 1, steps or batch + 1)
        self._steps += end - self._first
        if not self._compiled:
            self._compiled = True
            self._waited = self._seconds = 0.0
            self._steps = 0

    def on_epoch_end(self, epoch, logs=None):
        if not self._seconds or logs is None:
            return
        logs["steps_per_second"] = self._steps / self._seconds
        if self._has_waited:
            logs["input_wait"] = min(1.0, self._waited / self._seconds)
