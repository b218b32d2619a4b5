"""A short hash that distinguishes data sets."""

import hashlib
from collections.abc import Sequence

import numpy as np

from trainers.data.data import Data

NUM_EXAMPLES = 32


def fingerprint(
    data: Data, *splits: str, lists: Sequence[tuple[str, str, int]] = ()
) -> str:
    """Returns sixteen hexadecimal digits for splits of a run's data.

    Two runs with the same fingerprint almost certainly had the same data. The
    hash covers the number of examples of each split, all their labels, and 32
    examples spread evenly over the split, before front end, resizing and
    augmentation. It does not cover other examples, other splits, and the order
    of examples in batches.

    Args:
        data: The data of the run.
        *splits: Names of splits; by default the training split.
        lists: Arguments of `data.trials`; these lists are covered, too.
    """
    digest = hashlib.sha256()
    for split in splits or (data.run.data.split,):
        _add(digest, *data.unprocessed(split))
    for arguments in lists:
        x, *sides, is_target = data.trials(*arguments)
        _add(digest, x, is_target)
        for side in sides:  # places in `x`, the examples in the list
            digest.update(np.ascontiguousarray(side).tobytes())
    return digest.hexdigest()[:16]


def evaluation_fingerprint(data: Data) -> str:
    """Returns the fingerprint of the splits and lists that are evaluated."""
    wanted = data.run.evaluation
    split = getattr(wanted, "trials_split", "")
    lists = [
        (split, path, 0) for path in getattr(wanted, "trials", {}).values()
    ]
    splits = wanted.splits or (split,) * bool(lists)
    return fingerprint(data, *splits, lists=lists)


def _add(digest, x, labels) -> None:
    """Adds the examples and labels of a split to a hash."""
    labels = np.asarray(labels)
    digest.update(repr(labels.shape).encode())
    digest.update("\n".join(map(str, labels.ravel())).encode())
    rows = np.unique(np.linspace(0, len(x) - 1, NUM_EXAMPLES).astype(int))
    for row in rows:
        example = np.ascontiguousarray(x[int(row)])
        digest.update(f"{example.shape} {example.dtype}".encode())
        digest.update(example.tobytes())
