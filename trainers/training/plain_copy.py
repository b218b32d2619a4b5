"""An ordinary copy of a model that trains on several replicas.

Callbacks evaluate and save this copy, so checkpoints and metrics are the same
on any number of devices.
"""

import keras


def random_state(model) -> list:
    """The state of every seed generator in the model, in a fixed order."""
    return [v for v in model.variables if v.name == "seed_generator_state"]


def all_variables(model: keras.Model) -> list:
    """Returns weights, optimiser state and random state, in order."""
    if not model.optimizer.built:
        model.optimizer.build(model.trainable_variables)
    return [*model.weights, *model.optimizer.variables, *random_state(model)]


def assign(model: keras.Model, values) -> None:
    """Assigns the values of `all_variables` of another model."""
    for variable, value in zip(all_variables(model), values, strict=True):
        variable.assign(value)


def learning_rates(model: keras.Model) -> list:
    """Returns the optimiser's variable; empty if it follows a schedule."""
    variables = model.optimizer.variables
    return [v for v in variables if v.name == "learning_rate"]


class OnPlainCopy(keras.callbacks.Callback):
    """Calls callbacks with the copy, updated at the end of an epoch.

    Args:
        copy: The ordinary model.
        callbacks: The callbacks.
        params: Parameters of `keras.callbacks.CallbackList`.
    """

    def __init__(self, copy: keras.Model, callbacks: list, **params):
        super().__init__()
        self.copy = copy
        copy.stop_training = False
        self.callbacks = keras.callbacks.CallbackList(
            callbacks, model=copy, **params
        )

    def on_train_begin(self, logs=None):
        self.callbacks.on_train_begin(logs)

    def on_epoch_begin(self, epoch, logs=None):
        self.callbacks.on_epoch_begin(epoch, logs)

    def on_train_batch_begin(self, batch, logs=None):
        self.callbacks.on_train_batch_begin(batch, logs)

    def on_train_batch_end(self, batch, logs=None):
        self.callbacks.on_train_batch_end(batch, logs)

    def on_epoch_end(self, epoch, logs=None):
        assign(self.copy, [v.numpy() for v in all_variables(self.model)])
        self.callbacks.on_epoch_end(epoch, logs)
        self.model.stop_training = self.copy.stop_training
        for variable, rate in zip(
            learning_rates(self.model), learning_rates(self.copy), strict=True
        ):
            variable.assign(rate)

    def on_train_end(self, logs=None):
        self.callbacks.on_train_end(logs)
