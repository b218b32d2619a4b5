"""Divides classes into training, validation and test classes."""

from collections.abc import Iterable

from embeddings_tf.datasets.seeded_digest import seeded_digest
from embeddings_tf.ops.counted import counted


def divide_classes(names: Iterable[str], seed: int = 0) -> dict[str, list[str]]:
    """Divides class names into training, validation and test classes.

    Use it for data without a published split by class. The names are sorted by
    the SHA-256 of `"seed/name"`. The last fifth becomes the test classes, the
    fifth before it the validation classes, each at least two; the rest becomes
    the training classes. The result depends on the set of names and on the
    seed, not on the order of the names. One more class moves at most three
    classes from one part to another.

    Args:
        names: Names of the classes; repeated names count once.
        seed: Another seed gives another division.

    Returns:
        The names in `"train"`, `"validation"` and `"test"`, each sorted.

    Raises:
        ValueError: If there are fewer than six classes, two for each part.

    Example:

    >>> parts = divide_classes(["ant", "bee", "cat", "dog", "eel", "fox"])
    >>> [len(part) for part in parts.values()]
    [2, 2, 2]
    """
    names = sorted(set(names), key=lambda name: seeded_digest(name, seed))
    num_held_out = max(2, round(len(names) / 5))
    num_train = len(names) - 2 * num_held_out
    if num_train < 2:
        raise ValueError(
            f"{counted(len(names), 'class', 'classes')} cannot be divided into "
            "training, validation and test classes; expected at least 6, two "
            "for each."
        )
    return {
        "train": sorted(names[:num_train]),
        "validation": sorted(names[num_train:-num_held_out]),
        "test": sorted(names[-num_held_out:]),
    }
