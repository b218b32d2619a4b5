"""Checks of your own losses, objectives, layers and metrics."""

import functools

import numpy as np

from embeddings_tf import layers
from embeddings_tf import losses
from embeddings_tf import metrics
from embeddings_tf import objectives
from embeddings_tf import testing
from tests.hostile.judging import Entry
from tests.hostile.values import function
from tests.hostile.values import refused
from tests.hostile.values import same


def only(*names):
    return [
        same("a tuple", names, [*names]),
        same("a set", {*names}, [*names]),
        refused("unknown", ["hostile"]),
        refused("text", names[0]),
        refused("a number", 3),
        refused("numbers", [1, 2]),
        refused("unhashable", [[]]),
    ]


def not_applicable(name):
    return [
        same("empty", {}, None),
        refused("unknown", {"hostile": "no such property"}),
        refused("no reason", {name: ""}),
        refused("None for a reason", {name: None}),
        refused("of one that holds", {name: "it holds"}),
        refused("text", "hostile"),
        refused("a number", 3),
        refused("a list", [name]),
    ]


def arguments():
    return [
        refused("unknown", {"hostile": 1}),
        refused("text", "hostile"),
        refused("a number", 3),
        refused("a list", ["hostile"]),
        refused("a name that is no text", {3: 1}),
        refused("a value that is refused", {"name": 3.5, "dtype": "hostile"}),
    ]


def functions(**returned):
    """Values that are not functions, and functions with wrong results."""
    return [
        *function(),
        *(
            refused(f"returns {name}", lambda value=value: value)
            for name, value in {
                "None": None,
                "text": "hostile",
                "a number": 3,
                **returned,
            }.items()
        ),
    ]


def names_of(check):
    """Returns a call that counts the checked properties."""
    return lambda **given: len(check(**given))


def separated():
    is_target = np.arange(20) % 2 == 0
    return {"scores": 1.0 * is_target, "is_target": is_target}, 1.0, 0.0


def not_separated():
    rows, _, _ = separated()
    return {**rows, "scores": np.ones(20)}, 0.5, 0.0


def not_finite():
    return np.arange(12) % 3, np.full((12, 2), np.nan, np.float32)


ENTRIES = {
    "testing.check_loss": Entry(
        names_of(testing.check_loss),
        {
            "make": losses.ContrastiveLoss,
            "arguments": {"margin": 2.0, "average_over": "each_kind"},
            "not_applicable": None,
            "only": ["config", "vector"],
        },
        {
            "make": function(),
            "arguments": arguments(),
            "not_applicable": not_applicable("vector"),
            "batch": functions(NaN=not_finite()),
            "only": only("config", "vector"),
        },
        raises=(AssertionError,),
    ),
    "testing.check_objective": Entry(
        names_of(testing.check_objective),
        {
            "make": functools.partial(
                objectives.HedgedInstances, num_samples=4
            ),
            "arguments": None,
            "not_applicable": None,
            "gaussian": True,
            "draws_samples": True,
            "only": ["samples", "vector"],
        },
        {
            "make": function(),
            "arguments": arguments(),
            "not_applicable": not_applicable("vector"),
            "gaussian": [refused("points", False)],
            "draws_samples": [refused("but checks samples", False)],
            "batch": [
                value
                for value in functions(NaN=not_finite())
                if value.name != "None"  # the default
            ],
            "only": only("samples", "vector"),
        },
        raises=(AssertionError,),
    ),
    "testing.check_layer": Entry(
        names_of(testing.check_layer),
        {
            "make": functools.partial(layers.AdditiveMargin, 3),
            "not_applicable": None,
            "only": ["gradients", "rows"],
        },
        {
            "make": function(),
            "arguments": arguments(),
            "not_applicable": not_applicable("rows"),
            "inputs": functions(),
            "only": only("gradients", "rows"),
        },
        raises=(AssertionError,),
    ),
    "testing.check_metric": Entry(
        names_of(testing.check_metric),
        {
            "make": metrics.roc_auc,
            "perfect": separated,
            "chance": not_separated,
            "read": float,
            "not_applicable": None,
            "only": ["chance", "perfect"],
        },
        {
            "make": function(),
            "perfect": functions(chance=not_separated()[:1]),
            "chance": functions(perfect=separated()[:1]),
            "read": function(),
            "not_applicable": not_applicable("perfect"),
            "only": only("chance", "perfect"),
        },
        raises=(AssertionError,),
    ),
    "testing.two_replicas": Entry(
        lambda: testing.two_replicas().num_replicas_in_sync,
        {},
        {},
        (("called again", {}),),
    ),
}
