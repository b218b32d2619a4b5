"""Labels and factors for tests of the samplers."""

import numpy as np

# Seven classes of unequal size, with unsorted ids with gaps.
IDS = [40, -3, 7, 1000, 12, 5, 6]
SIZES = [9, 12, 5, 30, 6, 8, 5]


def shuffled_labels(sizes=SIZES, ids=IDS, seed=0):
    return np.random.default_rng(seed).permutation(np.repeat(ids, sizes))


def two_factors(num_examples=120):
    rng = np.random.default_rng(1)
    return np.stack(
        [
            rng.permutation(num_examples) % 2 + 5,
            rng.permutation(num_examples) % 5,
        ],
        axis=1,
    )


def take(dataset, count):
    return list(dataset.take(count).as_numpy_iterator())
