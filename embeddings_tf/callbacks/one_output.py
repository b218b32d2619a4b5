"""Refuses models with several or named outputs."""

from collections.abc import Mapping

import keras


def require_one_output(output) -> None:
    """Raises ValueError unless a model's output is one tensor.

    Args:
        output: The outputs of a model, or `model.output`. None passes: the
            model has not been traced.
    """
    if isinstance(output, Mapping):
        received = f"a dictionary with {', '.join(map(repr, output))}"
    elif len(parts := keras.tree.flatten(output)) > 1:
        received = f"{len(parts)} outputs"
    else:  # Keras returns the tensor of a list with one tensor
        return
    raise ValueError(
        "The model must return one tensor, the embeddings (batch, width); "
        f"received {received}. Fit `keras.Model(inputs, embeddings)`, which "
        "returns the embeddings alone."
    )
