"""The training loop for several workers, where Keras's own loop fails."""

import keras
import tensorflow as tf

from embeddings_tf.losses.teachable_rows import LogTeachableRows
from trainers.training.finite_loss import require_finite
from trainers.training.plain_copy import learning_rates
from trainers.training.strategy import from_chief


def loop(
    model: keras.Model,
    batches,
    *,
    epochs: int,
    initial_epoch: int,
    steps_per_epoch: int,
    callbacks=(),
) -> None:
    """Trains like `model.fit`, also under `MultiWorkerMirroredStrategy`.

    There, `fit` fails in Keras 3 (keras-team/keras#20585). On one replica the
    loop equals `fit` bit for bit. It has only the features that the trainers
    use.

    Args:
        model: A built and compiled model, under its strategy's scope.
        batches: The result of `replica_batches`.
        epochs: Number of the last epoch.
        initial_epoch: Number of epochs that were trained before.
        steps_per_epoch: Batches per epoch.
        callbacks: Callbacks of this worker. If a callback of the chief sets
            `model.stop_training` or a new learning rate, every worker does so
            after the epoch.

    Raises:
        FloatingPointError: If the loss is not finite, on every worker.
    """
    strategy = model.distribute_strategy

    @tf.function(jit_compile=model.jit_compile, autograph=False)
    def train_step(batch):
        return strategy.run(model.train_step, args=(batch,))

    callbacks = keras.callbacks.CallbackList(
        [LogTeachableRows(), *callbacks],
        model=model,
        epochs=epochs,
        steps=steps_per_epoch,
    )
    iterator = iter(batches)
    model.stop_training = False
    callbacks.on_train_begin()
    for epoch in range(initial_epoch, epochs):
        model.reset_metrics()
        callbacks.on_epoch_begin(epoch)
        for step in range(steps_per_epoch):
            callbacks.on_train_batch_begin(step)
            logs = train_step(next(iterator))
            # Step logs come from replica 0; epoch logs cover all replicas.
            logs = keras.tree.map_structure(
                lambda value: strategy.experimental_local_results(value)[0],
                logs,
            )
            require_finite(float(logs["loss"]), epoch)
            callbacks.on_train_batch_end(step, logs)
        logs = keras.tree.map_structure(float, model.get_metrics_result())
        callbacks.on_epoch_end(epoch, logs)
        # All workers follow the decisions of the chief's callbacks.
        stop, *rates = from_chief(
            strategy, [model.stop_training, *learning_rates(model)]
        )
        for variable, rate in zip(learning_rates(model), rates, strict=True):
            variable.assign(rate)
        if stop:
            break
    model.optimizer.finalize_variable_values(model.trainable_weights)
    callbacks.on_train_end()
