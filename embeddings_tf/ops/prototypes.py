"""Computes class prototypes from checked, labelled supports."""

import math

import numpy as np
import tensorflow as tf

from embeddings_tf.ops import distances
from embeddings_tf.ops.arguments import positive_integer
from embeddings_tf.ops.counted import counted
from embeddings_tf.ops.labelled_batch import class_labels
from embeddings_tf.ops.labelled_batch import labelled_batch
from embeddings_tf.ops.numerics import finite


def require_support(labels: tf.Tensor, num_classes) -> tf.Tensor:
    """Returns int32 `labels`, checked to contain each class.

    Raises:
        ValueError: If labels are not class ids, or `num_classes` is not a
            positive integer. In eager mode also if labels are outside
            `range(num_classes)`, or a class is missing.
        tf.errors.InvalidArgumentError: The same, inside a graph.
    """
    labels = class_labels(labels)
    if not tf.is_tensor(num_classes):
        num_classes = positive_integer("num_classes", num_classes)
    num_classes = tf.cast(num_classes, labels.dtype)
    if tf.executing_eagerly():
        values, count = labels.numpy(), int(num_classes)
        if not values.size:
            raise ValueError(
                "Every class needs at least one support; received none for "
                f"{counted(count, 'class', 'classes')}."
            )
        if values.min() < 0 or values.max() >= count:
            raise ValueError(
                f"Support labels must lie in [0, {count}) for "
                f"{counted(count, 'class', 'classes')}; received "
                f"{values.min()} to {values.max()}. Number the "
                "classes from 0: np.unique(labels, return_inverse=True)[1]."
            )
        empty = np.setdiff1d(np.arange(count), values)
        if empty.size:
            raise ValueError(
                f"Every class needs at least one support; {empty.size} of "
                f"{counted(count, 'class', 'classes')} "
                f"{'has' if empty.size == 1 else 'have'} none, the first is "
                f"{empty[0]}. Give supports for it, or number the classes "
                "without gaps."
            )
        return tf.cast(labels, tf.int32)
    counts = tf.math.unsorted_segment_sum(
        tf.ones_like(labels), labels, num_classes
    )
    checks = [
        tf.debugging.assert_positive(
            counts, "Every class needs at least one support."
        ),
        tf.debugging.assert_less(
            labels, num_classes, "A support label is not below num_classes."
        ),
        tf.debugging.assert_non_negative(
            labels, "A support label is negative."
        ),
    ]
    with tf.control_dependencies([check for check in checks if check]):
        return tf.cast(labels, tf.int32)


def all_supports(embeddings, class_ids, num_classes) -> tuple:
    """Returns checked embeddings, int32 classes and their number."""
    class_ids, embeddings = labelled_batch(class_ids, embeddings)
    return (
        embeddings,
        require_support(class_ids, num_classes),
        tf.cast(num_classes, tf.int32),
    )


def class_means(
    embeddings: tf.Tensor, class_ids: tf.Tensor, num_classes: tf.Tensor
) -> tf.Tensor:
    """Mean of the rows of each class, `(num_classes, dim)`."""
    return tf.math.unsorted_segment_mean(embeddings, class_ids, num_classes)


def best_of_class(
    scores: tf.Tensor, class_ids: tf.Tensor, num_classes
) -> tf.Tensor:
    """Largest score of each class, `(queries, classes)`.

    `scores` is `(queries, supports)`, `class_ids` `(supports,)`, checked here.
    """
    class_ids = require_support(class_ids, num_classes)
    best = tf.math.unsorted_segment_max(
        tf.transpose(scores), class_ids, num_classes
    )
    return tf.transpose(best)


def mean_of_class(
    scores: tf.Tensor, class_ids: tf.Tensor, num_classes
) -> tf.Tensor:
    """Mean score of each class, as `best_of_class`."""
    class_ids = require_support(class_ids, num_classes)
    mean = tf.math.unsorted_segment_mean(
        tf.transpose(scores), class_ids, num_classes
    )
    return tf.transpose(mean)


def nearest_mean_log_prob(
    queries: tf.Tensor, prototypes: tf.Tensor, dtype: tf.DType
) -> tf.Tensor:
    """`log softmax(-||query - prototype||^2)`, `(queries, classes)`."""
    return log_prob_of_scores(-distances.squared_l2(queries, prototypes), dtype)


def log_prob_of_scores(scores: tf.Tensor, dtype: tf.DType) -> tf.Tensor:
    """`log softmax(scores)` in `dtype`, `(queries, classes)`.

    Where rounding makes probabilities equal, the class with the largest score
    still has the largest, by the rounding error of `dtype`.
    """
    log_prob = finite(tf.nn.log_softmax(scores), dtype)
    # NumPy does not know the `eps` of bfloat16.
    eps = 2 * (1 - math.frexp(dtype.max)[0])
    best = tf.one_hot(
        tf.argmax(scores, axis=-1), tf.shape(scores)[-1], dtype=dtype
    )
    return log_prob * (1 - 2 * eps * best)
