"""The preprocessing of a network of `keras.applications`, as a layer."""

import inspect
import sys

import keras
import tensorflow as tf

from embeddings_tf.ops.arguments import one_of


def application_names() -> tuple[str, ...]:
    """Returns the names of the networks of `keras.applications`."""
    return tuple(
        name
        for name, value in vars(keras.applications).items()
        if inspect.isfunction(value) and name[0].isupper()
    )


@keras.saving.register_keras_serializable(package="embeddings_tf")
class ApplicationInput(keras.layers.Layer):
    """Converts pixels of 0 to 255 to the input of a Keras application.

    Each network of `keras.applications` was trained on pixels of another range
    and order of colours; its module's `preprocess_input` converts them.

    Args:
        application: A function of `keras.applications`, such as `"ResNet50"`.

    Input shape: `(batch, height, width, 3)`, red, green, blue.
    Output shape: the same, float32.
    """

    def __init__(self, application: str, **kwargs):
        super().__init__(dtype="float32", **kwargs)
        self.application = one_of(
            "application", application, application_names()
        )
        self.built = True

    def call(self, inputs):
        # A copy: for arrays, the function would change its argument.
        return _module(self.application).preprocess_input(
            tf.identity(tf.cast(inputs, tf.float32))
        )

    def compute_output_spec(self, inputs, **kwargs):
        return keras.KerasTensor(inputs.shape, "float32")

    def get_config(self):
        config = super().get_config()
        del config["dtype"]
        return {**config, "application": self.application}


def _module(application: str):
    """Returns the module of an application, with its `preprocess_input`."""
    return sys.modules[getattr(keras.applications, application).__module__]
