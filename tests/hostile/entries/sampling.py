"""Samplers."""

import numpy as np

from embeddings_tf import sampling
from tests.hostile.entries.data import Y
from tests.hostile.judging import Entry
from tests.hostile.values import anything
from tests.hostile.values import chosen
from tests.hostile.values import count
from tests.hostile.values import either
from tests.hostile.values import labels
from tests.hostile.values import refused
from tests.hostile.values import same
from tests.hostile.values import seed

FACTORS = np.stack([Y, np.arange(12) % 2], axis=1)
# Making a pipeline is slow.
LABELS = chosen(
    labels(Y),
    "one row too few",
    "one row too many",
    "strings",
    "a tensor",
    "Fortran order",
    "every second row of an array",
    "read-only",
    "rows backwards in memory",
    "int8",
    "int16",
    "uint16",
)
SEED = seed(3)
START = [*chosen(count(2, least=0), "True", "huge", "beyond int64")]
FEWER = [refused("text", "no"), refused("None", None), refused("2", 2)]


def first_two(sampler):
    def call(**arguments):
        return list(sampler(**arguments).take(2))

    return call


ENTRIES = {
    "sampling.class_balanced_batches": Entry(
        first_two(sampling.class_balanced_batches),
        {
            "labels": Y,
            "num_classes": 2,
            "num_per_class": 3,
            "seed": 3,
            "start": 2,
            "allow_fewer": False,
        },
        {
            "labels": LABELS,
            "num_classes": count(2),
            "num_per_class": count(3),
            "seed": SEED,
            "start": START,
            "allow_fewer": FEWER,
        },
    ),
    "sampling.episodes": Entry(
        first_two(sampling.episodes),
        {
            "labels": Y,
            "num_classes": 2,
            "num_support": 2,
            "num_query": 1,
            "seed": 3,
            "start": 2,
        },
        {
            "labels": LABELS,
            "num_classes": count(2),
            "num_support": count(2),
            "num_query": count(1),
            "seed": SEED,
            "start": START,
        },
    ),
    "sampling.factor_batches": Entry(
        first_two(sampling.factor_batches),
        {
            "factors": FACTORS,
            "num_values": 2,
            "num_per_value": 3,
            "seed": 3,
            "start": 2,
            "allow_fewer": False,
        },
        {
            "factors": [
                same("a list", FACTORS.tolist(), FACTORS),
                same("int64", FACTORS.astype(np.int64), FACTORS),
                either(
                    "from 2^53 + 1",
                    FACTORS.astype(np.int64) + 2**53 + 1,
                    FACTORS,
                ),
                refused("floats", FACTORS.astype(float)),
                refused("NaN", FACTORS * np.nan),
                refused("a vector", Y),
                refused("no rows", FACTORS[:0]),
                refused("no factor", FACTORS[:, :0]),
                refused("None", None),
                refused("text", "hostile"),
                refused("ragged", [[1, 2], [1]]),
                refused("complex", FACTORS + 1j),
                anything("one value each", FACTORS * 0),
            ],
            "num_values": count(2),
            "num_per_value": count(3),
            "seed": SEED,
            "start": START,
            "allow_fewer": FEWER,
        },
    ),
}
