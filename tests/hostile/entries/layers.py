"""Layers."""

import math

import numpy as np

from embeddings_tf import layers
from tests.hostile.entries.data import FRAMES
from tests.hostile.entries.data import PACKED
from tests.hostile.entries.data import X
from tests.hostile.entries.data import Y
from tests.hostile.judging import Entry
from tests.hostile.values import Expected
from tests.hostile.values import anything
from tests.hostile.values import choice
from tests.hostile.values import chosen
from tests.hostile.values import count
from tests.hostile.values import either
from tests.hostile.values import floats
from tests.hostile.values import labels
from tests.hostile.values import number
from tests.hostile.values import refused
from tests.hostile.values import same
from tests.hostile.values import seed


def inputs(x, *without):
    """Keras casts the inputs of a layer and accepts NaN."""
    values = chosen(
        floats(x, nan=Expected.POISON),
        "a list",  # Keras reads nested lists as several inputs
        "no rows",
        "no columns",
        "one more axis",
        *without,
    )
    return [
        *values,
        anything("no rows", x[:0]),
        anything("no columns", x[..., :0]),
    ]


def additive_margin(inputs, labels, **arguments):
    layer = layers.AdditiveMargin(**arguments)
    return layer(inputs, labels=labels), layer(inputs)


def dimension_dropout(inputs, rate, seed):
    layer = layers.DimensionDropout(rate, seed=seed)
    return layer(inputs, training=True), layer(inputs)


def pair_distance(first, second, **arguments):
    layer = layers.PairDistance(**arguments)
    return layer((first, second)), layer((first, second), training=True)


def all_pairs(first, second):
    layer = layers.PairDistance((4, 3), seed=1)
    return layer.all_pairs(first, second)


IMAGE = FRAMES[np.newaxis, :, :, np.newaxis]
MASK = np.arange(9)[np.newaxis] < 6
ONE_MORE_ROW = np.concatenate([X, X[:1]])
LABELS = chosen(
    labels(Y, arbitrary=False, strict=False),
    "all different",
    "a column",
    "two columns",
    "one hot",
    "a list",
    "None",
)
SIZES = [
    refused("no layer", ()),
    refused("an integer", 4),
    refused("0 units", (4, 0)),
    refused("fraction of a unit", (4.5,)),
    refused("text", "44"),
    refused("None", None),
    refused("True", (True,)),
    same("a list", [4, 3], (4, 3)),
    either("an array", np.array([4, 3]), (4, 3)),
]


def uncertainty_head(features, **arguments):
    layer = layers.UncertaintyHead(**arguments)
    return layer(features), layer(features, training=True)


ENTRIES = {
    "layers.UncertaintyHead": Entry(
        uncertainty_head,
        {
            "features": X,
            "hidden_units": (4, 3),
            "dropout": 0.2,
            "novelty_weight": 0.3,
            "num_samples": 2,
            "seed": 3,
        },
        {
            "features": inputs(X, "one axis less", "times 1e38"),
            "hidden_units": [h for h in SIZES if h.name != "no layer"],
            "dropout": number(0.2, low=0, high=1),
            "novelty_weight": number(0.3, low=0),
            "num_samples": chosen(count(2), "True", "huge", "beyond int64"),
            "seed": seed(3, optional=True),
        },
    ),
    "layers.AdditiveMargin": Entry(
        additive_margin,
        {
            "inputs": X,
            "labels": Y,
            "num_classes": 3,
            "scale": 10.0,
            "margin": 0.3,
        },
        {
            "inputs": inputs(X),
            "labels": [
                *LABELS,
                # An unknown label has no margin; without labels there is none.
                anything("all different", np.arange(len(Y))),
                anything("negative", Y - 1),
            ],
            "num_classes": chosen(count(3), "True", "huge", "beyond int64"),
            "scale": number(10.0, low=0, includes_low=False),
            "margin": number(0.3, low=0),
        },
    ),
    "layers.DimensionDropout": Entry(
        dimension_dropout,
        {"inputs": X, "rate": 0.5, "seed": 3},
        {
            "inputs": chosen(
                inputs(X, "one axis less", "times 1e38"),
            ),
            "rate": number(0.5, low=0, high=1),
            "seed": seed(3, optional=True),
        },
    ),
    "layers.GaussianEmbedding": Entry(
        lambda inputs, **arguments: layers.GaussianEmbedding(**arguments)(
            inputs
        ),
        {
            "inputs": X,
            "dim": 2,
            "minimum_variance": 1e-6,
            "initial_variance": 0.05,
            "projection": True,
        },
        {
            "inputs": inputs(X),
            "dim": chosen(count(2), "huge", "beyond int64"),
            "minimum_variance": number(1e-6, low=0, includes_low=False),
            "initial_variance": [
                *number(0.05, low=0, optional=True),
                refused("the least variance", 1e-6),
            ],
            "projection": [
                refused("text", "no"),
                refused("None", None),
            ],
        },
    ),
    "layers.GaussianEmbedding.without_projection": Entry(
        lambda inputs, **arguments: layers.GaussianEmbedding(
            2, projection=False, **arguments
        )(inputs),
        {"inputs": X, "minimum_variance": 1e-6},
        {
            # A raw variance of -infinity is a variance of `minimum_variance`.
            "inputs": inputs(X, "-infinity"),
            "minimum_variance": number(1e-6, low=0, includes_low=False),
        },
    ),
    "layers.LocalResponseNormalization": Entry(
        lambda inputs, **arguments: layers.LocalResponseNormalization(
            **arguments
        )(inputs),
        {
            "inputs": IMAGE,
            "depth_radius": 2,
            "bias": 1.0,
            "alpha": 0.5,
            "beta": 0.5,
        },
        {
            "inputs": inputs(IMAGE),
            "depth_radius": count(2),
            "bias": number(1.0, low=0, includes_low=False),
            "alpha": number(0.5, low=0),
            "beta": number(0.5, low=0, includes_low=False),
        },
    ),
    "layers.PairDistance": Entry(
        pair_distance,
        {
            "first": X,
            "second": X[::-1].copy(),
            "hidden_units": (4, 3),
            "dropout": 0.2,
            "symmetric": False,
            "seed": 1,
        },
        {
            "first": [
                *inputs(X, "no rows"),
                refused("more rows", ONE_MORE_ROW),
            ],
            "second": [refused("other dimensions", X[:, :3])],
            "hidden_units": SIZES,
            "dropout": number(0.2, low=0, high=1),
            "symmetric": [refused("text", "no"), refused("a number", 0.5)],
            "seed": seed(1, optional=True),
        },
    ),
    "layers.PairDistance.all_pairs": Entry(
        all_pairs,
        {"first": X, "second": X[:5]},
        {
            "first": chosen(floats(X, nan=Expected.POISON), "no rows")
            + [anything("no rows", X[:0])],
            "second": [refused("other dimensions", X[:, :3])],
        },
    ),
    "layers.PixelRange": Entry(
        lambda inputs, unit_range: layers.PixelRange(unit_range)(inputs),
        {"inputs": 100 * IMAGE, "unit_range": "refuse"},
        {
            "inputs": [
                # The layer checks pixels and leaves other numbers to later
                # layers.
                *chosen(
                    inputs(100 * IMAGE),
                    "complex",
                    "strings",
                    "a scalar",
                    "one axis less",
                    "booleans",
                ),
                refused("0 to 1", np.abs(IMAGE) / np.abs(IMAGE).max()),
            ],
            "unit_range": choice("refuse"),
        },
    ),
    "layers.StatisticsPooling": Entry(
        lambda inputs, mask: layers.StatisticsPooling()(inputs, mask=mask),
        {"inputs": FRAMES[np.newaxis], "mask": MASK},
        {
            "inputs": inputs(FRAMES[np.newaxis], "NaN", "infinity", "-infinity")
            + [
                # The last frames are padding.
                same(
                    "NaN where padded",
                    np.where(MASK[..., np.newaxis], FRAMES, np.nan),
                    FRAMES[np.newaxis],
                ),
            ],
            "mask": [
                either("0 and 1", MASK.astype(int), MASK),
                anything("nothing kept", MASK & False),
                refused("one frame too few", MASK[:, :-1]),
                refused("a vector", MASK[0]),
                refused("one more row", np.repeat(MASK, 2, axis=0)),
                refused("lengths", np.array([6])),
                refused("NaN", np.where(MASK, 1.0, math.nan)),
                refused("fractions", MASK * 0.5),
                refused("text", "hostile"),
            ],
        },
    ),
    "layers.as_distribution": Entry(
        lambda packed: (
            (found := layers.as_distribution(packed)).mean(),
            found.stddev(),
        ),
        {"packed": PACKED},
        {
            "packed": [
                *chosen(
                    floats(PACKED, nan=Expected.POISON),
                    "no rows",
                    "one more axis",
                    "one axis less",
                    "no columns",
                    # A variance of 0 is the limit of small variances.
                ),
                refused("an odd width", PACKED[:, :3]),
                refused("no columns", PACKED[:, :0]),
            ]
        },
    ),
}
