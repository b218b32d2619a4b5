"""The shape of a model's inputs."""

import tensorflow as tf


def input_shape(model) -> tf.TensorShape:
    """Returns the shape of the single input, as far as it is known."""
    for source in (model, getattr(model, "encoder", None)):
        shape = getattr(source, "input_shape", None)
        if isinstance(shape, tuple):
            try:
                return tf.TensorShape(shape)
            except TypeError:  # several inputs
                break
    return tf.TensorShape(None)


def require_input_shape(name: str, batch, model, exact: bool = False) -> None:
    """Raises ValueError unless a batch has the shape of the model's inputs.

    Unless `exact`, a last axis of one may be missing or added, because Keras
    adds or removes it.
    """
    expected, received = input_shape(model), tf.TensorShape(batch.shape)
    forms = [received]
    if received.rank and not exact:
        forms += [received + [1], received[: -1 if received[-1] == 1 else None]]
    if not any(map(expected.is_compatible_with, forms)):
        raise ValueError(
            f"`{name}` must have the shape of the model's inputs, "
            f"{tuple(expected)}; received shape {tuple(received)}. For a "
            "single example, make a batch: x[None]."
        )
