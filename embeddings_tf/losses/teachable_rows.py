"""Counts the training rows that a loss can learn from."""

import warnings

import keras
import tensorflow as tf

from embeddings_tf import compat
from embeddings_tf.ops.batch_needs import BatchNeeds
from embeddings_tf.ops.global_batch import gather_global_batch

# Name of the metric in the logs.
NAME = "teachable_rows"


class TeachableRows(keras.metrics.Metric):
    """Counts rows with a training signal; warns if most batches have none.

    Keras resets the metric at the start of an epoch and reads it at the end.
    Its result is empty, so `train_on_batch` and `evaluate` return the same
    values as without it.

    Args:
        source: The loss or objective that is trained.
        needs: The rows and classes that it needs in a batch.

    Attributes:
        share: Share of the rows of the last epoch with a training signal;
            None before the end of the first epoch.
    """

    def __init__(self, source, needs: BatchNeeds):
        super().__init__(name=NAME, dtype="float32")
        self.source = source
        self.needs = needs
        # All rows, rows with a signal, rows of batches in which some have one.
        self.counts = self.add_variable((3,), "zeros", name="counts")
        self._has_been_read = True
        self.share: float | None = None

    def update_state(self, labels):
        is_teachable = self.needs.teachable_rows(labels)
        rows = tf.cast(tf.size(labels), tf.float32)
        teachable = tf.reduce_sum(tf.cast(is_teachable, tf.float32))
        in_teaching = tf.where(teachable > 0, rows, 0)
        self.counts.assign_add(tf.stack([rows, teachable, in_teaching]))
        self._has_been_read = False

    def result(self) -> dict:
        # Keras reads a metric once in each step (eagerly if the model runs
        # eagerly), and once more after the last step of an epoch.
        if tf.executing_eagerly() and self._has_been_read:
            self._end_epoch()
        self._has_been_read = True
        return {}

    def _end_epoch(self) -> None:
        rows, teachable, in_teaching = self.counts.numpy()
        if not rows:  # in an evaluation
            return
        is_first = self.share is None
        self.share = float(teachable / rows)
        if is_first and in_teaching < rows / 2:
            warnings.warn(
                f"{type(self.source).__name__} had nothing to compare in most "
                f"batches: only {self.share:.0%} of the rows of the epoch had "
                "enough rows of their class and of another class in their "
                "batch. "
                f"{self.needs.describe()}",
                stacklevel=2,
            )


def count_teachable_rows(source, labels: tf.Tensor) -> None:
    """Counts the labels of a batch if `source` trains a model.

    Does nothing outside the `compute_loss` of a model. Call it with the
    integer labels of this replica.
    """
    model, is_training = compat.model_being_trained()
    if model is None:
        return
    metric = teachable_rows_of(model, source)
    if metric is None:
        context = tf.distribute.get_replica_context()
        if context is None or context.num_replicas_in_sync == 1:
            metric = watch_teachable_rows(model, source)
    # On several replicas, Keras builds a model before it traces a step.
    # Without this step, variables must be created beforehand.
    if is_training and metric is not None:
        (labels,) = gather_global_batch(labels)
        metric.update_state(labels)


def watch_teachable_rows(model: keras.Model, source) -> TeachableRows:
    """Adds the count of teachable rows of a loss or objective to a model.

    The losses of this library do so for the model that they train.
    """
    metric = TeachableRows(source, source.batch_needs)
    compat.add_metric(model, metric)
    return metric


def teachable_rows_of(model: keras.Model, source) -> TeachableRows | None:
    """Returns the metric that counts rows of a loss or objective, or None."""
    for metric in model.metrics:
        if isinstance(metric, TeachableRows) and metric.source is source:
            return metric
    return None


class LogTeachableRows(keras.callbacks.Callback):
    """Logs the share of rows with a training signal after an epoch."""

    def on_epoch_end(self, epoch, logs=None):
        for metric in self.model.metrics:
            if isinstance(metric, TeachableRows) and metric.share is not None:
                logs[NAME] = metric.share
