"""Draws few-shot episodes with queries of classes that are not enrolled."""

import numpy as np


def draw_enrolled(
    rng: np.random.Generator, labels, wanted, num_classes: int, groups=None
) -> tuple[np.ndarray, np.ndarray]:
    """Draws the enrolled classes of an episode, and examples of them.

    Args:
        rng: The generator of the episode.
        labels: Class numbers `(n,)`.
        wanted: Fields with `num_support` and `num_query`.
        num_classes: Number of enrolled classes.
        groups: Group numbers `(n,)`, of which one is drawn first; the enrolled
            classes are of this group. None: any classes.

    Returns:
        Rows of supports `(num_classes, num_support)`, and of known queries
        `(num_classes * num_query,)`, class by class.

    Raises:
        ValueError: If no group has enough classes with enough examples.
    """
    needed = wanted.num_support + wanted.num_query
    classes, first, sizes = np.unique(
        labels, return_index=True, return_counts=True
    )
    eligible = sizes >= needed
    if groups is not None:
        of_class = groups[first]
        eligible &= of_class == _draw_group(
            rng, of_class[eligible], num_classes, needed
        )
    enrolled = rng.choice(classes[eligible], num_classes, replace=False)
    rows = np.stack(
        [
            rng.choice(np.flatnonzero(labels == label), needed, replace=False)
            for label in enrolled
        ]
    )
    support, known = np.split(rows, [wanted.num_support], axis=1)
    return support, known.reshape(-1)


def draw_unknown(rng: np.random.Generator, rows, known) -> np.ndarray:
    """Draws as many of `rows` as there are known queries, at most all."""
    return rng.choice(rows, min(len(known), len(rows)), replace=False)


def _draw_group(rng, of_class, num_classes: int, needed: int) -> int:
    """Draws a group with enough classes; `of_class` has one group a class."""
    numbers, counts = np.unique(of_class, return_counts=True)
    large = numbers[counts >= num_classes]
    if not len(large):
        raise ValueError(
            f"no group has {num_classes} classes with {needed} examples; "
            "lower config.evaluation.num_classes"
        )
    return rng.choice(large)
