"""Whether the input keeps up with the training."""

import time

import keras
import tensorflow as tf


class InputWait(keras.callbacks.Callback):
    """Logs the share of the step time that `fit` spends waiting for input.

    `input_wait` in the logs of an epoch, between 0 and 1, from the time that
    each step waits for its batch: next to 0 if batches lie ready, next to 1
    if steps do little but wait. The first step after `fit` starts, which
    compiles, does not count; an epoch without another step has no value.

    Measured where `fit` takes batches out of the pipeline. A strategy of
    several devices fetches ahead of its steps; there the value is too large
    while the pipeline is about as fast as the steps.

    Example:

        input_wait = InputWait()
        model.fit(input_wait.measured(dataset), callbacks=[input_wait])
    """

    def __init__(self):
        super().__init__()
        self._waited = self._seconds = 0.0
        self._compiled = False

    def measured(self, dataset: tf.data.Dataset) -> tf.data.Dataset:
        """The same batches, their delays observed; nothing may follow it."""
        # Not tf.timestamp, which deterministic runs may not call.
        clock = tf.data.Dataset.counter().map(
            lambda _: tf.numpy_function(time.monotonic, [], tf.float64)
        )

        def observe(asked, batch):
            tf.numpy_function(self._add_wait_since, [asked], [])
            return batch

        # A zip reads one after the other: first the time, then the batch.
        zipped = tf.data.Dataset.zip((clock, dataset)).map(observe)
        options = tf.data.Options()
        # Reading ahead here would hide that the step waits.
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
