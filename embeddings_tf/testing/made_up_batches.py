"""Small batches for the checks of losses, objectives and layers."""

from collections.abc import Callable

import numpy as np

from embeddings_tf.ops import arguments

NUM_CLASSES, NUM_PER_CLASS = 3, 4
NUM_ROWS, NUM_FEATURES = NUM_CLASSES * NUM_PER_CLASS, 6


def points():
    """Returns labels and points of three classes, in mixed order.

    Shapes `(rows,)` and `(rows, 2)`; the classes overlap slightly.
    """
    rng = np.random.default_rng(0)
    labels = np.tile(np.arange(NUM_CLASSES), NUM_PER_CLASS).astype("int32")
    labels = rng.permutation(labels)
    centres = np.array([[0, 0], [1, 0], [0, 1]])
    z = centres[labels] + rng.normal(0, 0.5, (NUM_ROWS, 2))
    return labels, z.astype("float32")


def gaussians():
    """Returns labels `(rows,)` and packed Gaussians `(rows, 4)`."""
    labels, mean = points()
    variance = np.random.default_rng(1).uniform(0.1, 1, mean.shape)
    return labels, np.concatenate([mean, variance], 1).astype("float32")


def without_variance(packed):
    """Sets tiny variances, so that samples equal the means."""
    mean, variance = np.split(np.asarray(packed), 2, axis=-1)
    return np.concatenate([mean, 1e-12 * np.ones_like(variance)], -1)


def points_as_gaussians(packed):
    """Sets the variances to exactly zero."""
    mean, variance = np.split(np.asarray(packed), 2, axis=-1)
    return np.concatenate([mean, 0 * variance], -1)


def scaled(z, factor):
    return z * np.float32(factor)


def scaled_gaussians(packed, factor):
    mean, variance = np.split(packed, 2, axis=-1)
    stddev = np.sqrt(variance) * np.float32(factor)
    return np.concatenate([mean * np.float32(factor), stddev**2], -1)


def separable(labels, deviation=0.1):
    """Inputs of a model, `(rows, features)`, with one direction per class."""
    rng = np.random.default_rng(2)
    x = np.eye(NUM_FEATURES)[labels] + rng.normal(
        0, deviation, (len(labels), NUM_FEATURES)
    )
    return x.astype("float32")


def with_numbered_classes(batch) -> tuple[Callable, int]:
    """Returns a user's batch with classes numbered from 0, and its width.

    Raises:
        ValueError: If it is not a function that returns labels and embeddings,
            or the labels have one class, or more than the checks can tell
            apart.
    """
    arguments.function("batch", batch, "nothing")
    found = batch()
    try:
        labels, z = found
        (rows,), (_, width) = np.shape(labels), np.shape(z)
    except (TypeError, ValueError) as error:
        raise ValueError(
            "`batch` must return labels (rows,) and embeddings (rows, width); "
            f"it returned {found!r}."
        ) from error
    count = len(np.unique(labels))
    if not 2 <= count <= NUM_FEATURES or rows != len(z):
        raise ValueError(
            f"`batch` must return rows of 2 to {NUM_FEATURES} classes, and one "
            f"label for each; it returned {rows} labels of {count} classes, "
            f"and {len(z)} embeddings."
        )

    def numbered():
        labels, z = batch()
        labels = np.unique(np.asarray(labels), return_inverse=True)[1]
        return labels.astype("int32"), np.asarray(z)

    return numbered, width


def in_class_order(labels, order):
    """Changes `order` so that the rows of each class keep their order."""
    order = np.array(order)
    for label in np.unique(labels):
        of_class = labels[order] == label
        order[of_class] = np.sort(order[of_class])
    return order


def features():
    """Returns one input of a layer, `(rows, features)`."""
    return [separable(points()[0])]
