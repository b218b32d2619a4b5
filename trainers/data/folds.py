"""Folds of cross-validation: whole classes are held out."""

import numpy as np

from embeddings_tf.ops.counted import counted


def class_ids(labels) -> np.ndarray:
    """Returns class numbers 0, 1, ... of labels `(n,)` or `(n, factors)`.

    A class of factors is a combination of their values. Classes are numbered
    by their name "value,value,...", sorted as a string, as in the code of the
    F-statistic loss: "10,0" comes before "2,0".
    """
    labels = np.asarray(labels)
    if labels.ndim == 1:
        return np.unique(labels, return_inverse=True)[1]
    rows, inverse = np.unique(labels, axis=0, return_inverse=True)
    names = np.array([",".join(map(str, row)) for row in rows])
    rank = np.empty(len(names), int)
    rank[np.argsort(names)] = np.arange(len(names))
    return rank[inverse.ravel()]


def number_classes(*labels) -> list[np.ndarray]:
    """Returns class numbers `(n,)` of the labels of several splits.

    Equal labels get equal numbers in all splits. Integers keep their values;
    other labels, and factors `(n, factors)`, are numbered together.
    """
    labels = [np.asarray(of_split) for of_split in labels]
    if all(found.ndim == 1 and found.dtype.kind in "iu" for found in labels):
        return labels
    ends = np.cumsum([len(of_split) for of_split in labels])
    return np.split(class_ids(np.concatenate(labels)), ends[:-1])


def split_classes(
    num_classes: int, fold: int, num_folds: int = 5, *, min_num_test: int = 2
) -> dict[str, np.ndarray]:
    """Returns the classes of a fold: train, validation and test.

    The rule of the authors, with scikit-learn: shuffled `KFold` gives the test
    classes, `train_test_split` uses a fifth of the other classes for
    validation, both with `random_state=0`. In fold 0, 672 classes give 429,
    108 and 135 classes.

    Args:
        num_classes: Number of classes, numbered as by `class_ids`.
        fold: Index of the fold, from 0.
        num_folds: Number of folds.
        min_num_test: Smallest number of test classes. A single class cannot
            be compared with another. For groups that contain all classes,
            such as speakers, one is enough.

    Raises:
        ValueError: If the fold does not exist, or there are too few classes.

    Reference:
        - [Ridgeway & Mozer, 2018](https://arxiv.org/abs/1802.05312),
          Section 4, and the released code. Fold 0 is for tuning, and all
          other folds are reported.
    """
    from sklearn.model_selection import KFold
    from sklearn.model_selection import train_test_split

    if num_folds < 2 or num_classes < max(3, min_num_test * num_folds):
        raise ValueError(
            f"{counted(num_classes, 'class', 'classes')} cannot make "
            f"{counted(num_folds, 'fold')}; expected at least 2 folds, 3 "
            f"classes, and {counted(min_num_test, 'class', 'classes')} for "
            "each fold"
        )
    if not 0 <= fold < num_folds:
        raise ValueError(
            f"there is no fold {fold}; there are 0 to {num_folds - 1}"
        )
    every = KFold(num_folds, shuffle=True, random_state=0)
    rest, test = list(every.split(np.arange(num_classes)))[fold]
    train, validation = train_test_split(rest, test_size=0.2, random_state=0)
    return {"train": train, "validation": validation, "test": test}
