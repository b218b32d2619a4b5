"""Cross-validation by class: whole classes are held out, never images."""

import numpy as np


def class_ids(labels) -> np.ndarray:
    """Class numbers 0, 1, ... of labels `(n,)` or factors `(n, factors)`.

    A class of factors is a conjunction of their values. It is numbered by its
    name "value,value,...", sorted as a string, as the authors of the
    F-statistic loss do: "10,0" comes before "2,0".
    """
    labels = np.asarray(labels)
    if labels.ndim == 1:
        return np.unique(labels, return_inverse=True)[1]
    rows, inverse = np.unique(labels, axis=0, return_inverse=True)
    names = np.array([",".join(map(str, row)) for row in rows])
    rank = np.empty(len(names), int)
    rank[np.argsort(names)] = np.arange(len(names))
    return rank[inverse.ravel()]


def split_classes(
    num_classes: int, fold: int, num_folds: int = 5, *, min_num_test: int = 2
) -> dict[str, np.ndarray]:
    """The classes of a fold's parts: train, validation and test.

    The authors' rule, with scikit-learn: `KFold`, shuffled, gives the test
    classes, `train_test_split` withholds a fifth of the others for
    validation, both with `random_state=0`. 672 classes give 429, 108 and 135
    in fold 0.

    Args:
        num_classes: Classes in all, numbered as by `class_ids`.
        fold: Which fold, from 0.
        num_folds: How many folds.
        min_num_test: Classes that the test must have at least. A single one
            has nothing to be told from; where these are groups with all
            classes in each, such as speakers, one is enough.

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
            f"{num_classes} classes cannot make {num_folds} folds; expected at "
            f"least 2 folds, 3 classes, and {min_num_test} classes for each "
            "fold"
        )
    if not 0 <= fold < num_folds:
        raise ValueError(
            f"there is no fold {fold}; there are 0 to {num_folds - 1}"
        )
    every = KFold(num_folds, shuffle=True, random_state=0)
    rest, test = list(every.split(np.arange(num_classes)))[fold]
    train, validation = train_test_split(rest, test_size=0.2, random_state=0)
    return {"train": train, "validation": validation, "test": test}
