"""A short hash that distinguishes data sets."""

import hashlib

import numpy as np

NUM_EXAMPLES = 32


def fingerprint(data) -> str:
    """Returns sixteen hexadecimal digits for the training split of a run.

    Two runs with the same fingerprint almost certainly had the same training
    data. The hash covers the number of training examples, all their labels,
    and 32 examples spread evenly over the split, before front end, resizing
    and augmentation. It does not cover other examples, other splits, and the
    order of examples in batches.

    Args:
        data: The `trainers.data.Data` of the run.
    """
    x, labels = data.unprocessed(data.run.data.split)
    labels = np.asarray(labels)
    digest = hashlib.sha256()
    digest.update(repr(labels.shape).encode())
    digest.update("\n".join(map(str, labels.ravel())).encode())
    rows = np.unique(np.linspace(0, len(x) - 1, NUM_EXAMPLES).astype(int))
    for row in rows:
        example = np.ascontiguousarray(x[int(row)])
        digest.update(f"{example.shape} {example.dtype}".encode())
        digest.update(example.tobytes())
    return digest.hexdigest()[:16]
