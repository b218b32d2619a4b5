"""Calls a score function block by block and checks its results."""

from collections.abc import Callable
from typing import Any

import numpy as np

from embeddings_tf.metrics import arrays
from embeddings_tf.ops import arguments


def two_sides(
    first: Any, second: Any, names: tuple[str, str] = ("first", "second")
) -> tuple[np.ndarray, np.ndarray]:
    """Returns both as arrays; checks only once if they are the same."""
    same = second is first
    first = arrays.numbers(names[0], first, 2, "(rows, dim)")
    if same:
        return first, first
    second = arrays.numbers(names[1], second, 2, "(rows, dim)")
    if first.shape[1] != second.shape[1]:
        raise ValueError(
            f"`{names[0]}` and `{names[1]}` must have the same dim; received "
            f"shapes {first.shape} and {second.shape}. Use one encoder."
        )
    return first, second


def call_score(
    score: Callable, first: np.ndarray, second: np.ndarray, pairs: bool = False
) -> np.ndarray:
    arguments.function("score", score, "two arrays of embeddings")
    scores = arrays.result("score", score(first, second))
    shape = (len(first),) if pairs else (len(first), len(second))
    if scores.shape != shape:
        raise ValueError(
            f"The score of embeddings {first.shape} and {second.shape} must "
            f"have shape {shape}; received {scores.shape}."
        )
    if np.isnan(scores).any():
        raise ValueError(
            "Scores must be numbers; received NaN from the score of finite "
            "embeddings. Check it for a division by 0."
        )
    return scores
