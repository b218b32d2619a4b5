"""Checks that images have pixels of 0 to 255."""

import contextlib
import contextvars

import keras
import numpy as np
import tensorflow as tf

from embeddings_tf import compat
from embeddings_tf.ops import pixels
from embeddings_tf.ops.arguments import one_of
from embeddings_tf.ops.tensors import real_numbers

CHOICES = ("warn", "refuse", "accept")
# The choice for the graph that is being exported, and the name of the input
# that it embeds, a string tensor; (None, None) outside an export.
_EXPORTED: contextvars.ContextVar[tuple[str | None, tf.Tensor | None]] = (
    contextvars.ContextVar("embeddings_tf_exported", default=(None, None))
)


@keras.saving.register_keras_serializable(package="embeddings_tf")
class PixelRange(keras.layers.Layer):
    """Warns about, or refuses, images of 0 to 1 instead of 0 to 255.

    Use it as the first layer of an encoder of images, before
    `keras.layers.Rescaling(1 / 255)` or a normalisation. It returns its input.
    The published encoders of this library start with it, because a model
    trained on pixels of 0 to 255 returns wrong embeddings for pixels of 0 to
    1 without an error.

    A batch is suspicious if its dtype is floating, all values lie in [0, 1],
    and some are not whole numbers. Black images and masks of 0 and 1 pass.
    `"refuse"` looks at each image, not at the batch: a server joins requests to
    one batch, where pixels of 0 to 255 would hide an image of 0 to 1.

    To refuse such images in a published encoder, before it is compiled or
    called:

        encoder.get_layer("pixel_range").unit_range = "refuse"

    XLA can neither warn nor raise: `jit_compile=True` disables the check.
    `embeddings_tf.export.export_saved_model` exports the check. For other
    exporters and converters, such as `keras.Model.export`, set `unit_range`
    to `"accept"` first: a graph with `"warn"` calls back into Python.

    Args:
        unit_range: What to do with a suspicious batch: `"warn"` (a
            `UserWarning`, once by Python's default), `"refuse"` (an error for
            a batch with a suspicious image) or `"accept"`.

    Input shape: `(batch, ...)`.
    Output shape: `(batch, ...)`, the input's.

    Raises:
        ValueError: If `unit_range` is not one of these; with `"refuse"`, for
            a suspicious image (in a graph: `tf.errors.InvalidArgumentError`).

    Reference:
        - [Rescaling in Keras](https://keras.io/api/layers/preprocessing_layers/image_preprocessing/rescaling/),
          which accepts any range.

    Example:

    >>> layer = embeddings_tf.layers.PixelRange(unit_range="refuse")
    >>> layer(np.array([[0.0, 128.5, 255.0]])).numpy()
    array([[  0. , 128.5, 255. ]])
    """

    def __init__(
        self, unit_range: str = "warn", *, name="pixel_range", **kwargs
    ):
        # Half precision would round the pixels.
        super().__init__(name=name, autocast=False, **kwargs)
        self.unit_range = unit_range
        self.built = True

    @property
    def unit_range(self) -> str:
        """The action for a batch whose pixels look like 0 to 1."""
        return self._unit_range

    @unit_range.setter
    def unit_range(self, value: str):
        self._unit_range = one_of("unit_range", value, CHOICES)

    def call(self, inputs):
        images = real_numbers("Images", inputs)
        exported, input_name = _EXPORTED.get()
        unit_range = self.unit_range
        if exported == "accept" or (exported and unit_range == "warn"):
            unit_range = exported
        if not images.dtype.is_floating or unit_range == "accept":
            return inputs
        if unit_range == "refuse":
            is_suspicious = pixels.any_in_unit_range(images)
            return _refuse(images, is_suspicious, _message(input_name))
        is_suspicious = pixels.in_unit_range(images)
        if tf.executing_eagerly():
            if is_suspicious:
                pixels.warn()
        elif exported or not compat.is_traced_for_xla():

            def tell():
                if exported:
                    return _print(_message(input_name))
                return _call_python()

            tf.cond(is_suspicious, tell, lambda: False)
        return inputs

    def compute_output_shape(self, input_shape):
        return input_shape

    def compute_output_spec(self, inputs, **kwargs):
        return keras.KerasTensor(inputs.shape, inputs.dtype)

    def get_config(self):
        config = super().get_config()
        return {**config, "unit_range": self.unit_range}


@contextlib.contextmanager
def exported_checks(unit_range: str, input_name: tf.Tensor | None = None):
    """Traces the checks inside the block for an exported graph.

    `"accept"` removes the checks. Otherwise `unit_range` replaces the choice
    of layers that warn. An exported graph warns by printing to stderr.
    Messages start with the name of the input, a string tensor, since one
    graph embeds all inputs of an export.
    """
    token = _EXPORTED.set((unit_range, input_name))
    try:
        yield
    finally:
        _EXPORTED.reset(token)


def _message(input_name: tf.Tensor | None) -> str | tf.Tensor:
    if input_name is None:
        return pixels.MESSAGE
    return tf.strings.join(["`", input_name, "`: ", pixels.MESSAGE])


def _refuse(images, is_suspicious, message):
    if tf.executing_eagerly():
        if is_suspicious:
            raise ValueError(pixels.MESSAGE)
        return images
    check = tf.debugging.Assert(tf.logical_not(is_suspicious), [message])
    with tf.control_dependencies([check]):
        return tf.identity(images)


def _print(message) -> tf.Tensor:
    # Unlike `tf.print`, without quotes around the text of a tensor.
    printed = tf.raw_ops.PrintV2(
        input=tf.strings.join(["warning: ", message]), output_stream="stderr"
    )
    with tf.control_dependencies([printed]):
        return tf.constant(True)


def _call_python() -> tf.Tensor:
    def warn():
        pixels.warn()
        return np.True_

    return tf.ensure_shape(tf.numpy_function(warn, [], tf.bool), ())
