"""Lowers the learning rate when validation stops improving."""

import keras

from trainers.training.monitor import is_better
from trainers.training.monitor import worst


class ReduceOnPlateau(keras.callbacks.Callback):
    """Lowers the learning rate when the monitor stops improving.

    Like `keras.callbacks.ReduceLROnPlateau`, but its memory is part of the
    run's state, so a killed run continues as if uninterrupted. The learning
    rate is a variable of the optimiser and is saved with it.

    After more than `patience` epochs in a row without a new best value, the
    learning rate is multiplied by `factor`, and counting starts again. List
    the callback after the one that logs `monitor` and before the one that saves
    `state`. The logs contain the epoch's rate as `learning_rate`.

    Args:
        monitor: Name in the logs, with a direction (`training.monitor`).
        state: The run's dictionary, `Checkpoint.state`; the memory is under
            `"plateau"`.
        factor: Between 0 and 1.
        patience: Number of epochs to wait for an improvement.
        min_learning_rate: Lower limit of the learning rate.

    Raises:
        ValueError: If the optimiser follows a schedule when training starts.
    """

    def __init__(
        self,
        monitor: str,
        state: dict,
        *,
        factor: float,
        patience: int,
        min_learning_rate: float,
    ):
        super().__init__()
        self.monitor = monitor
        self.factor = factor
        self.patience = patience
        self.min_learning_rate = min_learning_rate
        self.memory = state.setdefault(
            "plateau", {"best_value": worst(monitor), "epochs": 0}
        )

    def on_train_begin(self, logs=None):
        optimizer = self.model.optimizer
        try:
            optimizer.learning_rate = float(optimizer.learning_rate)
        except TypeError as error:
            raise ValueError(
                "config.plateau lowers a learning rate that is a number; "
                "config.optimizer.learning_rate is a schedule. Choose one of "
                "them."
            ) from error

    def on_epoch_end(self, epoch, logs):
        optimizer, memory = self.model.optimizer, self.memory
        rate = float(optimizer.learning_rate)
        value = float(logs[self.monitor])
        logs["learning_rate"] = rate
        if is_better(self.monitor, value, memory["best_value"]):
            memory["best_value"], memory["epochs"] = value, 0
            return
        memory["epochs"] += 1
        if memory["epochs"] > self.patience:
            memory["epochs"] = 0
            lower = max(rate * self.factor, self.min_learning_rate)
            optimizer.learning_rate = min(rate, lower)
