"""Losses, as functions and as `model.compile` receives them."""

import functools

import numpy as np
import tensorflow as tf

from embeddings_tf import losses
from tests.hostile.entries.data import X
from tests.hostile.entries.data import Y
from tests.hostile.entries.data import rows
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

LABELS = [
    *chosen(
        labels(Y, strict=False),
        "a column",
        "no rows",
        "a list",
    ),
    either("a list", Y.tolist(), Y),
    either("a column", Y[:, np.newaxis], Y),
    either("floats from 2^24 - 20", (Y + 2**24 - 20).astype(np.float32), Y),
    refused("floats beyond 2^24", Y.astype(np.float32) + 2**24 + 1),
    refused("float16 beyond 2^11", (Y + 5000).astype(np.float16)),
]
# NaN is left to the training. The loss of an empty batch is empty.
EMBEDDINGS = [
    *chosen(floats(X, nan=Expected.POISON), "no rows", "no columns"),
    anything("no columns", X[:, :0]),
    refused("images", X.reshape(12, 2, 2, 1)),
    refused("fewer rows", X[:5]),
    refused("one row", X[:1]),
]
TOGETHER = tuple(
    (name, changes)
    for name, changes in rows(X, Y, ("y_pred", "y_true"))
    if name != "no rows"
)

ARGUMENTS = {
    "binomial_deviance_loss": (
        {
            "scale": 2.0,
            "threshold": 0.5,
            "negative_cost": 10.0,
            "form": "published",
        },
        {
            "scale": number(2.0, low=0),
            "threshold": number(0.5),
            "negative_cost": number(10.0, low=0),
            "form": choice("published"),
        },
    ),
    "contrastive_loss": (
        {"margin": 1.0, "average_over": "all"},
        {"margin": number(1.0, low=0), "average_over": choice("all")},
    ),
    "f_statistic_loss": (
        {
            "num_dims": 2,
            "grand_mean": "class_means",
            "direction": "separate",
            "equal_variance": True,
        },
        {
            "num_dims": [*count(2)],
            "grand_mean": choice("class_means"),
            "direction": choice("separate"),
            "equal_variance": [
                refused("text", "no"),
                refused("None", None),
                refused("fraction", 0.5),
            ],
        },
    ),
    "histogram_loss": (
        {"num_nodes": 21},
        {
            "num_nodes": [
                *chosen(count(21), "huge", "beyond int64", "True"),
                refused("1", 1),
            ]
        },
    ),
    "lifted_structure_loss": (
        {"margin": 1.0, "form": "published"},
        {"margin": number(1.0, low=0), "form": choice("published")},
    ),
    "prototypical_loss": ({"num_support": 2}, {"num_support": count(2)}),
    "triplet_loss": (
        {
            "margin": 0.1,
            "mining": "all",
            "distance": "l2",
            "average_over": "all",
        },
        {
            "margin": number(0.1, low=0),
            "mining": choice("all"),
            "distance": choice("l2"),
            "average_over": choice("all"),
        },
    ),
}


def loss_class(name):
    title = name.title().replace("_", "")
    return getattr(losses, title)


def of_class(name):
    make = loss_class(name)

    def call(y_true, y_pred, **arguments):
        return make(**arguments)(y_true, y_pred)

    return call


def in_graph(name):
    """Like in `fit`: traced once per pair of types, without shapes."""
    make = loss_class(name)

    @functools.cache
    def traced(*dtypes):
        loss = make(2) if name == "prototypical_loss" else make()
        return tf.function(
            lambda y_true, y_pred: loss(y_true, y_pred),
            input_signature=[tf.TensorSpec(None, dtype) for dtype in dtypes],
            autograph=False,
        )

    def call(y_true, y_pred):
        y_true, y_pred = np.asarray(y_true), np.asarray(y_pred)
        return traced(y_true.dtype, y_pred.dtype)(y_true, y_pred)

    return call


ENTRIES = {}
for _name, (_valid, _hostile) in ARGUMENTS.items():
    _title = loss_class(_name).__name__
    ENTRIES[f"losses.{_name}"] = Entry(
        getattr(losses, _name),
        {"y_true": Y, "y_pred": X, **_valid},
        {"y_true": LABELS, "y_pred": EMBEDDINGS, **_hostile},
        TOGETHER,
    )
    ENTRIES[f"losses.{_title}"] = Entry(
        of_class(_name),
        {"y_true": Y, "y_pred": X, **_valid},
        {
            "y_true": LABELS,
            "y_pred": [
                e
                for e in EMBEDDINGS
                # The loss is a mean over rows.
                if e.name not in ("no columns",)
            ],
            **_hostile,
        },
        TOGETHER,
    )
    ENTRIES[f"losses.{_title}.in_graph"] = Entry(
        in_graph(_name),
        {"y_true": Y, "y_pred": X},
        {
            "y_true": [
                h
                for h in LABELS
                if h.name
                in (
                    "fractions",
                    "NaN",
                    "infinity",
                    "from 2^24 + 1",
                    "from 2^53 + 1",
                    "from 2^32 + 0, 1, ...",
                    "one row too few",
                    "one row too many",
                    "two columns",
                    "one hot",
                    "whole floats",
                    "complex",
                    "uint64 from 2^63",
                    "one class",
                    "all different",
                )
            ],
            "y_pred": [
                h
                for h in EMBEDDINGS
                if h.name
                in (
                    "NaN",
                    "images",
                    "fewer rows",
                    "one more axis",
                    "one axis less",
                    "times 1e38",
                    "zeros",
                    "complex",
                )
            ],
        },
        raises=(tf.errors.InvalidArgumentError,),
    )


class Own(losses.EmbeddingLoss):
    def call(self, y_true, y_pred):
        return tf.reduce_sum(y_pred / 100, axis=1)


def total(labels, z):
    return tf.reduce_sum(z / 100)


ENTRIES["losses.EmbeddingLoss"] = Entry(
    lambda y_true, y_pred: Own()(y_true, y_pred),
    {"y_true": Y, "y_pred": X},
    {"y_true": LABELS, "y_pred": chosen(EMBEDDINGS, "no columns")},
    TOGETHER,
)
ENTRIES["losses.set_wise"] = Entry(
    lambda y_true, y_pred: losses.set_wise(total, y_true, y_pred),
    {"y_true": Y, "y_pred": X},
    {"y_true": LABELS, "y_pred": EMBEDDINGS},
    TOGETHER,
)
ENTRIES["losses.BatchNeeds"] = Entry(
    lambda labels, **needs: losses.BatchNeeds(**needs).teachable_rows(labels),
    {"labels": Y, "rows": 3, "rows_of_other": 2, "sampler": "a call"},
    {
        # It has only labels.
        "labels": chosen(
            LABELS, "a scalar", "one row too few", "one row too many"
        ),
        "rows": count(3, least=2),
        "rows_of_other": count(2),
        "sampler": [refused("None", None), refused("a number", 1)],
    },
)


def diagnosed(make):
    return lambda labels, embeddings: make().batch_diagnostics(
        labels, embeddings
    )


for _class, _arguments in (
    (losses.BinomialDevianceLoss, {}),
    (losses.ContrastiveLoss, {}),
    (losses.FStatisticLoss, {}),
    (losses.HistogramLoss, {}),
    (losses.LiftedStructureLoss, {}),
    (losses.PrototypicalLoss, {"num_support": 2}),
    (losses.TripletLoss, {}),
):
    ENTRIES[f"losses.{_class.__name__}.batch_diagnostics"] = Entry(
        diagnosed(functools.partial(_class, **_arguments)),
        {"labels": Y, "embeddings": X},
        {
            "labels": LABELS,
            "embeddings": [
                h
                for h in EMBEDDINGS
                # A share of pairs says nothing of a number that is none.
                if h.name not in ("NaN", "infinity", "-infinity", "all NaN")
            ],
        },
        rows(X, Y, ("embeddings", "labels"))[1:],
    )
