"""Embeds one batch of inputs, checked before and after."""

from collections.abc import Mapping

import numpy as np

from embeddings_tf.models.gaussian_output import has_gaussian_output
from embeddings_tf.models.input_shape import require_input_shape
from embeddings_tf.models.require_embeddings import require_embeddings
from embeddings_tf.models.training_loss import OwnLossModel
from embeddings_tf.ops import gaussian
from embeddings_tf.ops.arguments import array
from embeddings_tf.ops.arguments import num_rows
from embeddings_tf.ops.first_not_finite import first_not_finite

# Squares of larger embeddings overflow.
LARGEST = 1e150
SEVERAL_INPUTS = (
    "A model with several inputs is not called here: embed them with "
    "model.predict, and pass the embeddings with embedded=True."
)


class NotFiniteError(ValueError):
    """A model returns NaN or infinity for a finite input."""


def num_inputs(name: str, x, remedy: str = SEVERAL_INPUTS) -> int:
    """Returns the number of inputs.

    Args:
        name: Name of the argument `x` in error messages.
        x: Inputs of the model.
        remedy: What to do with a model of several inputs.

    Raises:
        ValueError: If `x` has no rows, or is a dictionary of several inputs.
    """
    if isinstance(x, Mapping):
        raise ValueError(
            f"`{name}` must have one row per input, like an array; received a "
            f"dictionary with {', '.join(map(repr, x))}. {remedy}"
        )
    return num_rows(name, x)


def embed_batch(name: str, model, x, rows: slice) -> np.ndarray:
    """Embeds `x[rows]`, checked for shape, type and finite numbers.

    Args:
        name: Name of the argument `x` in error messages.
        model: A Keras model of embeddings.
        x: Inputs of the model, all of one shape.
        rows: The rows of the batch.

    Raises:
        ValueError: If inputs do not have the model's shape or are complex, or
            an input or an embedding is not finite, or an embedding is a
            Gaussian with a negative variance, or if the model does not return
            one matrix.
    """
    batch = checked_batch(name, model, x, rows)
    found = model.predict_on_batch(batch)
    require_embeddings(found)
    # Under a strategy, every replica embeds the whole batch.
    return checked_embeddings(model, found[: len(batch)], rows.start)


def checked_embeddings(model, found: np.ndarray, first: int) -> np.ndarray:
    """Returns what a model made of checked inputs, as embeddings.

    Args:
        model: A Keras model of embeddings.
        found: Its output, one matrix.
        first: The number of the first input, for error messages.

    Raises:
        ValueError: If an embedding is not finite, or is a Gaussian with a
            negative variance.
    """
    embeddings = at_least_single(found)
    require_finite_output("The embedding of input", embeddings, first)
    _require_variances("The embedding of input", model, embeddings, first)
    return embeddings


def at_least_single(embeddings: np.ndarray) -> np.ndarray:
    """Returns embeddings in half precision as float32, for finer scores.

    Integers become float32 or float64.
    """
    return embeddings.astype(np.result_type(embeddings, np.float32), copy=False)


def checked_batch(
    name: str, model, x, rows: slice, remedy: str = SEVERAL_INPUTS
) -> np.ndarray:
    """Returns the inputs `x[rows]`, checked as in `embed_batch`.

    `remedy` is as in `num_inputs`.
    """
    found = x[rows]
    if isinstance(found, Mapping):
        raise ValueError(
            f"`{name}[first:last]` must be an array of inputs; received a "
            f"dictionary with {', '.join(map(repr, found))}. {remedy}"
        )
    batch = array(name, found)
    require_input_shape(name, batch, model)
    require_real(name, batch)
    # Inputs are also checked: max-pooling and ReLU can hide NaN.
    require_finite("Input", batch, rows.start)
    return batch


def embedded_rows(name: str, model, x, rows: slice) -> np.ndarray:
    """Returns `x[rows]`, which are already embeddings of the model.

    Raises:
        ValueError: If they do not have the width of the model's output, or are
            not finite real numbers, or are Gaussians with negative variances.
    """
    batch = array(name, x[rows])
    width = _width(model)
    if batch.ndim != 2 or width not in (None, batch.shape[1]):
        kind = "packed Gaussians" if has_gaussian_output(model) else "rows"
        raise ValueError(
            f"`{name}` must be embeddings of the model, {kind} of shape "
            f"(n, {width or 'dim'}); received shape {batch.shape}. Embed them "
            "with this model."
        )
    require_real(name, batch)
    if batch.dtype.kind not in "biuf" and batch.dtype.name != "bfloat16":
        raise ValueError(
            f"`{name}` must be numbers; received dtype {batch.dtype}."
        )
    require_finite("The embedding", batch, rows.start)
    _require_variances("The embedding", model, batch, rows.start)
    return batch


def require_squares(name: str, embeddings: np.ndarray) -> np.ndarray:
    """Returns embeddings; ValueError if the squares of a class overflow."""
    largest = float(np.max(np.abs(embeddings), initial=0))
    if largest > LARGEST:
        raise ValueError(
            f"`{name}` must be embeddings up to {LARGEST:g}; received "
            f"{largest:g}. Divide all embeddings by a number."
        )
    return embeddings


def _width(model) -> int | None:
    """Returns the width of the model's embeddings, if it is known."""
    shape = getattr(model, "output_shape", None)
    if isinstance(model, OwnLossModel):
        inputs = getattr(model.encoder, "input_shape", None)
        shape = inputs and model.compute_output_shape(inputs)
    return shape[-1] if isinstance(shape, tuple) else None


def require_real(name: str, batch: np.ndarray) -> None:
    """Raises ValueError for complex numbers; TensorFlow would only warn."""
    if batch.dtype.kind == "c":
        raise ValueError(
            f"`{name}` must be real numbers; received the type "
            f"{batch.dtype}. The imaginary part would be lost: pass both "
            "parts as separate numbers."
        )


def require_finite(what: str, rows: np.ndarray, first: int) -> None:
    """Raises ValueError for the first row with NaN or infinity."""
    row = first_not_finite(rows)
    if row is not None:
        raise ValueError(
            f"{what} {first + row} is not finite: it contains NaN or infinite "
            "values. Remove them first."
        )


def require_finite_output(what: str, rows: np.ndarray, first: int) -> None:
    """Raises NotFiniteError for the first output with NaN or infinity.

    The inputs must have passed `require_finite`.
    """
    row = first_not_finite(rows)
    if row is not None:
        raise NotFiniteError(
            f"{what} {first + row} is not finite, although the input is: "
            "weights of the model are NaN, or values became too large. Train "
            "the model with a lower learning rate, or scale the inputs."
        )


def _require_variances(what: str, model, rows: np.ndarray, first: int) -> None:
    """Raises ValueError for the first Gaussian with a negative variance.

    Its density is NaN, and the largest of several NaN is the first.
    """
    if not has_gaussian_output(model):
        return
    variance = gaussian.unpack(at_least_single(rows))[1].numpy()
    for row in np.flatnonzero((variance < 0).any(axis=1))[:1]:
        raise ValueError(
            f"{what} {first + row} has the negative variance "
            f"{variance[row].min():g}; the second half of a packed Gaussian "
            "must be variances of at least 0. End the encoder with "
            "embeddings_tf.layers.GaussianEmbedding(dim), or apply a softplus "
            "to your own variances."
        )
