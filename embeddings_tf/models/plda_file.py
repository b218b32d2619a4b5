"""A fitted PLDA as a file: NumPy's npz, without pickled data."""

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from embeddings_tf.ops import arguments
from embeddings_tf.ops.atomic_file import atomic_file
from embeddings_tf.ops.read_npz import read_npz
from embeddings_tf.ops.require_no_pipe import require_no_pipe

FITTED = ("offset", "mean", "between_covariance", "within_covariance")


def write(path: str | os.PathLike, model) -> None:
    """Writes a fitted model, atomically."""
    content = {name: getattr(model, name) for name in FITTED}
    if model.projection is not None:
        content["projection"] = model.projection
    path = arguments.path("path", path)
    with atomic_file(path) as temporary, open(temporary, "wb") as file:
        np.savez(
            file,
            num_dims=model.num_dims or 0,
            center=model.center,
            length_normalize=model.length_normalize,
            max_iterations=model.max_iterations,
            tolerance=model.tolerance,
            log_likelihoods=model.log_likelihoods,
            **content,
        )


def read(path: str | os.PathLike, make: Callable[..., Any]) -> Any:
    """Reads a model that `write` wrote, and checks its content.

    Args:
        path: Path of the file.
        make: Function that makes an unfitted model, such as `PLDA`.

    Raises:
        OSError: If the file does not exist, or does not contain such a model.
    """
    path = arguments.path("path", path)
    require_no_pipe(path)
    try:
        with open(path, "rb") as file:
            content = read_npz(file)
        model = make(
            int(content["num_dims"]) or None,
            center=bool(content["center"]),
            length_normalize=bool(content["length_normalize"]),
            max_iterations=int(content["max_iterations"]),
            tolerance=float(content["tolerance"]),
        )
        for name in FITTED:
            setattr(model, name, content[name])
        model.projection = content.get("projection")
        model.log_likelihoods = content["log_likelihoods"].tolist()
        _check_content(model)
    except (KeyError, TypeError, ValueError) as error:
        raise OSError(
            f"{os.fspath(path)!r} must be a file written by PLDA.save; "
            f"reading it failed: {error}. Save the model again."
        ) from error
    return model


def _check_content(model) -> None:
    dims = len(model.mean)
    shapes = {
        "mean": (dims,),
        "between_covariance": (dims, dims),
        "within_covariance": (dims, dims),
        "offset": (len(model.offset),),
    }
    if model.projection is not None:
        shapes["projection"] = (len(model.offset), dims)
    elif len(model.offset) != dims:
        raise ValueError("projection is missing")
    for name, shape in shapes.items():
        value = getattr(model, name)
        if value.shape != shape or value.dtype != np.float64:
            raise ValueError(f"{name} is not float64 of shape {shape}")
        if not np.all(np.isfinite(value)):
            raise ValueError(f"{name} is not finite")
    for name in ("between_covariance", "within_covariance"):
        value = getattr(model, name)
        spread = np.linalg.eigvalsh((value + value.T) / 2)
        # Rounding may make a variance of 0 slightly negative.
        least = -1e-6 * np.max(np.abs(spread), initial=0)
        if not np.allclose(value, value.T) or spread.min() < least:
            raise ValueError(f"{name} is not a covariance")
