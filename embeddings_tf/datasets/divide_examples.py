"""Divides the examples of every class into training, validation and test."""

from collections.abc import Sequence

import numpy as np

from embeddings_tf.datasets.seeded_digest import seeded_digest
from embeddings_tf.ops.counted import counted

_LEAST = 6


def divide_examples(
    classes: Sequence[int],
    names: Sequence[str],
    seed: int = 0,
    class_names: Sequence[str] | None = None,
) -> dict[str, np.ndarray]:
    """Divides the examples of each class into three parts.

    Use it for closed sets: every class is in training, validation and test.
    Within a class, the examples are sorted by the SHA-256 of `"seed/name"`.
    The last fifth is for the test, the fifth before it for validation, each at
    least two examples; the rest is for training. One more example moves at
    most three examples of its class from one part to another.

    Args:
        classes: Class of each example, `(examples,)`.
        names: Name of each example, `(examples,)`; names differ.
        seed: Another seed gives another division.
        class_names: Names of the classes, sorted by class, for messages.

    Returns:
        Rows of the examples in `"train"`, `"validation"` and `"test"`, sorted.

    Raises:
        ValueError: If a class has fewer than six examples, two for each part.

    Example:

    >>> names = [f"{number}.png" for number in range(10)]
    >>> parts = divide_examples([0] * 10, names)
    >>> [len(part) for part in parts.values()]
    [6, 2, 2]
    """
    found, inverse, counts = np.unique(
        np.asarray(classes), return_inverse=True, return_counts=True
    )
    few = np.flatnonzero(counts < _LEAST)
    if len(few):
        called = found if class_names is None else class_names
        raise ValueError(
            f"the class {str(called[few[0]])!r} has "
            f"{counted(counts[few[0]], 'example')}, too few for training, "
            f"validation and test: expected at least {_LEAST}, two for each; "
            f"{len(few)} of {counted(len(found), 'class', 'classes')} "
            f"{'has' if len(few) == 1 else 'have'} too few."
        )
    digests = [seeded_digest(name, seed) for name in names]
    order = np.array(sorted(range(len(names)), key=digests.__getitem__))
    order = order[np.argsort(inverse[order], kind="stable")]
    # Position of each example within its class, counted from the end.
    from_end = np.repeat(np.cumsum(counts), counts) - 1 - np.arange(len(order))
    num_held_out = np.maximum(2, np.round(counts / 5).astype(int))
    part = from_end // np.repeat(num_held_out, counts)
    return {
        "train": np.sort(order[part >= 2]),
        "validation": np.sort(order[part == 1]),
        "test": np.sort(order[part == 0]),
    }
