"""Measures whether the input pipeline is fast enough for training."""

import time

import keras
import tensorflow as tf


class InputWait(keras.callbacks.Callback):
    """Logs the share of the step time that `fit` spends waiting for input.

    The logs of an epoch contain `input_wait`, between 0 and 1: close to 0 if
    batches are ready in time, close to 1 if steps mostly wait. The first step
    after `fit` starts is not counted, because it compiles. An epoch without
    another step has no value.

    The wait is measured where `fit` reads the pipeline. A strategy of several
    devices prefetches; the value is then too large if the pipeline is about as
    fast as the steps.

    Example:

        input_wait = InputWait()
        model.fit(input_wait.measured(dataset), callbacks=[input_wait])
    """

    def __init__(self):
        super().__init__()
        self._waited = self._seconds = 0.0
        self._compiled = False

    def measured(self, dataset: tf.data.Dataset) -> tf.data.Dataset:
        """Returns the same batches with measured delays; use it last."""
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
        self._waited += time.monotonic() - float(asked)

    def on_train_begin(self, logs=None):
        self._compiled = False

    def on_epoch_begin(self, epoch, logs=None):
        self._waited = self._seconds = 0.0

    def on_train_batch_begin(self, batch, logs=None):
        self._started = time.monotonic()

    def on_train_batch_end(self, batch, logs=None):
        self._seconds += time.monotonic() - self._started
        if not self._compiled:
            self._compiled = True
            self._waited = self._seconds = 0.0

    def on_epoch_end(self, epoch, logs=None):
        if self._seconds and logs is not None:
            logs["input_wait"] = min(1.0, self._waited / self._seconds)
