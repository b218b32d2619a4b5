"""Loss and gradient of one batch, without changing the model."""

import keras
import numpy as np
import tensorflow as tf

from embeddings_tf.models.require_embeddings import require_embeddings


class BatchGradients:
    """Computes a training step's loss and gradient, and updates nothing.

    Random seeds, moving averages and metrics keep their values, because the
    step runs in a `keras.StatelessScope`.

    Args:
        model: A compiled model.
        x: Inputs of a batch.
        labels: Class ids `(batch,)`.
    """

    def __init__(self, model: keras.Model, x, labels):
        self._model = model
        self._x = keras.tree.map_structure(tf.convert_to_tensor, x)
        self._labels = tf.convert_to_tensor(labels)
        self._run = self._on_replicas
        if not model.run_eagerly:
            self._run = tf.function(self._on_replicas, autograph=False)

    def measure(self) -> tuple[np.ndarray, dict[str, float]]:
        """Returns the embeddings `(batch, width)`, and numbers by name.

        - `loss`, the mean over rows if the loss has `reduction="none"`;
        - `gradient_norm`, the L2 norm of the gradient in all weights;
        - `active_rows`, the share of rows whose embedding has a gradient;
          missing if the loss does not depend on the model's output.
        """
        loss, square, embeddings, is_active = self._run()
        found = {"loss": float(loss), "gradient_norm": float(square) ** 0.5}
        if is_active is not None:
            found["active_rows"] = float(np.mean(is_active.numpy()))
        return embeddings.numpy(), found

    def _on_replicas(self):
        strategy = self._model.distribute_strategy
        parts = strategy.run(self._step)
        loss, square, *of_rows = (
            None if part is None else strategy.experimental_local_results(part)
            for part in parts
        )
        embeddings, is_active = (r and tf.concat(r, 0) for r in of_rows)
        if loss[0].shape.rank:  # one value per row, with reduction="none"
            loss = [tf.reduce_mean(tf.concat(loss, 0))]
        return tf.add_n(loss), square[0], embeddings, is_active

    def _step(self):
        model = self._model
        x = keras.tree.map_structure(_rows_of_replica, self._x)
        labels = _rows_of_replica(self._labels)
        weights = model.trainable_variables
        with keras.StatelessScope(collect_losses=True):
            with tf.GradientTape() as tape:
                embeddings = model(x, training=True)
                require_embeddings(embeddings)
                loss = model.compute_loss(
                    x=x, y=labels, y_pred=embeddings, training=True
                )
                # As in a step, small gradients of half precision do not vanish.
                scaled = model.optimizer.scale_loss(loss)
            of_rows, *gradients = tape.gradient(
                scaled, [embeddings, *(weight.value for weight in weights)]
            )
        scale = tf.cast(model.optimizer.scale_loss(tf.ones([])), tf.float64)
        return loss, _square(gradients) / scale**2, embeddings, _active(of_rows)


def _rows_of_replica(values: tf.Tensor) -> tf.Tensor:
    """Returns contiguous rows, as in a step; sizes differ by at most one."""
    context = tf.distribute.get_replica_context()
    count = context.num_replicas_in_sync
    if count == 1:
        return values
    size, more = divmod(len(values), count)
    number = tf.convert_to_tensor(context.replica_id_in_sync_group)
    first = number * size + tf.minimum(number, more)
    return values[first : first + size + tf.cast(number < more, tf.int32)]


def _square(gradients) -> tf.Tensor:
    """Square of the norm of gradients, summed over replicas; float64."""
    gradients = [tf.convert_to_tensor(g) for g in gradients if g is not None]
    context = tf.distribute.get_replica_context()
    if context is not None and context.num_replicas_in_sync > 1:
        gradients = context.all_reduce(tf.distribute.ReduceOp.SUM, gradients)
    total = tf.zeros([], tf.float64)
    for gradient in gradients:
        total += tf.reduce_sum(tf.square(tf.cast(gradient, tf.float64)))
    return total


def _active(of_rows) -> tf.Tensor | None:
    """Whether the gradient of each row is not 0."""
    if of_rows is None:
        return None
    return tf.reduce_any(tf.convert_to_tensor(of_rows) != 0, axis=-1)
