"""Every public loss, objective, layer and metric, through one suite.

A new class needs one entry in a table here and a line in docs/api.md.
"""

import dataclasses
import functools
import importlib
import inspect
import math
import re
from functools import partial

import keras
import numpy as np
import pytest
import tensorflow as tf

from embeddings_tf import layers
from embeddings_tf import losses
from embeddings_tf import metrics
from embeddings_tf import objectives
from tests import conformance
from tests.conformance import NUM_CLASSES
from tests.conformance import Layer
from tests.conformance import Loss
from tests.conformance import Metric
from tests.conformance import Objective

LOG_NUM_CLASSES = math.log(NUM_CLASSES)
SUPPORTS_COME_FIRST = (
    "of each class, the first num_support rows in batch order are supports"
)
EPISODES_BY_ROW = "episodes are drawn by row number"

LOSSES = [
    Loss(
        partial(losses.PrototypicalLoss, num_support=2),
        documented={
            "one_class": 0.0,
            "singletons": 0.0,
            "no_queries": 0.0,
            "coinciding_points": LOG_NUM_CLASSES,
            "tiny_scale": LOG_NUM_CLASSES,
        },
        not_applicable={
            "huge_scale": "squared distances leave float32",
            "order_within_class": SUPPORTS_COME_FIRST,
        },
    ),
]

OBJECTIVES = [
    Objective(
        partial(
            objectives.StochasticPrototypes,
            num_support=2,
            sampler=sampler,
            seed=7,
        ),
        label=sampler,
        batch=conformance.gaussians,
        quiet=conformance.without_variance,
        scale=conformance.scaled_gaussians,
        head=partial(layers.GaussianEmbedding, 2, initial_variance=0.05),
        arguments={
            "sampler": "naive",
            "num_samples": 4,
            "initial_noise_variance": 0.5,
            "noise_transform": "exp",
        },
        documented={
            "one_class": 0.0,
            "singletons": 0.0,
            "no_queries": 0.0,
            "coinciding_points": LOG_NUM_CLASSES,
            "tiny_scale": LOG_NUM_CLASSES,
            # Means and standard deviations together: only noise_variance
            # tells one scale from another, and it is negligible in both.
            "huge_scale": lambda entry: entry.value_at_scale(1e9),
        },
        not_applicable={"order_within_class": SUPPORTS_COME_FIRST},
    )
    for sampler in ("intersection", "naive")
]

LAYERS = [
    Layer(
        partial(layers.GaussianEmbedding, dim=3),
        arguments={
            "minimum_variance": 1e-6,
            "initial_variance": 0.05,
            "kernel_initializer": "he_normal",
        },
    ),
]


# Arguments of metrics. Tolerances of chance are five standard deviations.


def rng():
    return np.random.default_rng(0)


def told_apart():
    labels = np.repeat(np.arange(5), 20)
    return {"embeddings": np.eye(5)[labels], "labels": labels}, 1.0, 0.0


def found_by_chance():
    # 600 queries, each with 99 of its class among the other 599. Few queries
    # share a nearest neighbour; that they may is worth a factor of 2.
    labels = np.repeat(np.arange(6), 100)
    rows = {"embeddings": rng().normal(size=(600, 8)), "labels": labels}
    p = 99 / 599
    return rows, p, 5 * math.sqrt(2 * p * (1 - p) / 600)


def named_by_chance():
    # The accuracy of one episode has a variance of at most p (1 - p).
    labels = np.repeat(np.arange(5), 200)
    rows = {"embeddings": rng().normal(size=(1000, 8)), "labels": labels}
    return rows, 1 / 5, 5 * math.sqrt(0.2 * 0.8 / 300)


def episode_accuracy(episodes):
    return np.mean(
        [np.mean(np.argmax(log_prob, 1) == y) for log_prob, y in episodes]
    )


def sure_and_right():
    labels = np.arange(100) % 4
    return {"probabilities": np.eye(4)[labels], "labels": labels}, 0.0, 0.0


def sure_by_chance():
    # Always certain, right in one of four: a gap of 3/4.
    guesses, labels = rng().integers(0, 4, (2, 1000))
    rows = {"probabilities": np.eye(4)[guesses], "labels": labels}
    return rows, 3 / 4, 5 * math.sqrt(0.25 * 0.75 / 1000)


def largest_gap(curve):
    return np.max(np.abs(curve["accuracy"] - curve["confidence"]))


def rejects_errors_first():
    is_error = (np.arange(100) % 5 == 0).astype(float)  # 20 errors
    kept = np.arange(1, 101)
    area = np.mean(np.maximum(0, kept - 80) / kept)
    return {"uncertainty": is_error, "is_error": is_error}, area, 1e-12


def rejects_by_chance():
    # area = sum of errors times weights w[i] = (1/n) (1/i + ... + 1/n), whose
    # squares sum to about 2/n.
    n, p = 2000, 0.2
    is_error = np.arange(n) % 5 == 0
    rows = {"uncertainty": rng().normal(size=n), "is_error": is_error}
    return rows, p, 5 * math.sqrt(2 * p * (1 - p) / n)


def two_factors():
    first, second = np.divmod(np.arange(500) % 25, 5)
    return np.stack([first, second], axis=1)


def codes_are_factors(expected):
    factors = two_factors()
    return {"codes": factors * 1.0, "factors": factors}, expected, 1e-9


def codes_know_nothing():
    # 2 n m is chi-squared with (20 - 1) (5 - 1) degrees of freedom, variance
    # twice that; read as the mean over two dimensions and two factors.
    n, freedom = 4000, 19 * 4
    rows = {
        "codes": rng().uniform(size=(n, 2)),
        "factors": rng().integers(0, 5, (n, 2)),
    }
    return rows, freedom / (2 * n), 5 * math.sqrt(2 * freedom) / (2 * n)


def codes_know_both_factors():
    # The second factor is the first by another name.
    factor = rng().integers(0, 5, 500)
    factors = np.stack([factor, 4 - factor], axis=1)
    codes = factors + rng().normal(0, 0.3, (500, 2))
    return {"codes": codes, "factors": factors}, 0.0, 1e-9


def codes_are_turned():
    cos, sin = math.cos(math.radians(30)), math.sin(math.radians(30))
    factors = two_factors()
    codes = factors @ np.array([[cos, sin], [-sin, cos]])
    return {"codes": codes, "factors": factors}, 2 * math.log(5), 1e-9


def codes_are_constant():
    factors = two_factors()
    return {"codes": np.ones((500, 2)), "factors": factors}, 0.0, 0.0


def no_spread():
    return {"values": np.full(30, 0.5)}, 0.0, 0.0


def normal_values():
    # The estimated deviation is off by about 1 / sqrt(2 n) of itself.
    n = 5000
    half_width = 1.959964 / math.sqrt(n)
    rows = {"values": rng().normal(size=n)}
    return rows, half_width, 5 * half_width / math.sqrt(2 * n)


METRICS = [
    Metric(
        partial(metrics.recall_at_k, k=1),
        perfect=told_apart,
        chance=found_by_chance,
        read=lambda recall: recall[1],
    ),
    Metric(
        partial(
            metrics.few_shot_accuracy,
            num_support=1,
            num_query=1,
            num_episodes=300,
        ),
        perfect=told_apart,
        chance=named_by_chance,
        not_applicable={"row_order": EPISODES_BY_ROW},
    ),
    Metric(
        partial(
            metrics.few_shot_episodes,
            num_support=1,
            num_query=1,
            num_episodes=300,
        ),
        perfect=told_apart,
        chance=named_by_chance,
        read=episode_accuracy,
        not_applicable={
            "row_order": EPISODES_BY_ROW,
            "plain_result": "yields one pair of arrays per episode",
        },
    ),
    Metric(
        partial(metrics.expected_calibration_error),
        perfect=sure_and_right,
        chance=sure_by_chance,
    ),
    Metric(
        partial(metrics.reliability_curve),
        perfect=sure_and_right,
        chance=sure_by_chance,
        read=largest_gap,
    ),
    Metric(
        partial(metrics.error_versus_reject),
        perfect=rejects_errors_first,
        chance=rejects_by_chance,
        read=lambda curve: curve["area"],
    ),
    Metric(
        partial(metrics.mutual_information),
        perfect=lambda: codes_are_factors(math.log(5) / 2),
        chance=codes_know_nothing,
        read=np.mean,
    ),
    Metric(
        partial(metrics.modularity),
        perfect=lambda: codes_are_factors(1.0),
        chance=codes_know_both_factors,
    ),
    Metric(
        partial(metrics.best_rotation),
        perfect=codes_are_turned,
        chance=codes_are_constant,
        read=lambda result: result["aligned_sum"],
    ),
    Metric(
        partial(metrics.confidence_interval),
        perfect=no_spread,
        chance=normal_values,
        not_applicable={
            "unequal_lengths": "takes a single array",
            "reference": "the textbook's interval; the formula says it",
        },
    ),
]

# Public names that are no entries, and why.
PLAIN_FUNCTIONS = {
    layers.as_distribution: "a helper that returns a TFP distribution",
}

TABLES = {
    losses: LOSSES,
    objectives: OBJECTIVES,
    layers: LAYERS,
    metrics: METRICS,
}
ENTRIES = [entry for table in TABLES.values() for entry in table]


@pytest.fixture(scope="session")
def fresh_process(tmp_path_factory):
    entries = [e for e in [*ENTRIES, *UNREGISTERED] if hasattr(e, "saved")]
    folder = tmp_path_factory.mktemp("fresh_process")
    return conformance.load_in_fresh_process(entries, folder)


def case(entry, name):
    marks = [
        pytest.mark.xdist_group(fixture)
        for fixture in entry.fixtures(name)
        if fixture == "fresh_process"
    ]
    return pytest.param(entry, name, id=f"{entry}-{name}", marks=marks)


@pytest.fixture(autouse=True)
def seed():
    keras.utils.set_random_seed(0)


def verify(entry, name, request):
    fixtures = map(request.getfixturevalue, entry.fixtures(name))
    entry.verify(name, *fixtures)


@pytest.mark.parametrize(
    ("entry", "name"),
    [case(entry, name) for entry in ENTRIES for name in entry.properties()],
)
def test_property(entry, name, request):
    verify(entry, name, request)


UNREGISTERED = []
