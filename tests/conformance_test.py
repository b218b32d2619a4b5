"""Checks every public loss, objective, layer and metric with one suite.

A new class needs one entry in a table here and a line in docs/api.md; a loss
that compares pairs, for example:

    Loss(
        partial(losses.TripletLoss, margin=0.1),
        documented={"one_class": 0.0, "singletons": 0.0, ...},
        not_applicable={"no_queries": "every row is an anchor"},
    )
"""

import dataclasses
import math
import operator
import re
import statistics
from functools import partial

import keras
import numpy as np
import pytest
import tensorflow as tf

import embeddings_tf
from embeddings_tf import layers
from embeddings_tf import losses
from embeddings_tf import metrics
from embeddings_tf import objectives
from embeddings_tf.ops.batch_needs import PAIRS
from embeddings_tf.testing import made_up_batches
from embeddings_tf.testing import saved_and_loaded as saving
from embeddings_tf.testing.layer import Layer
from embeddings_tf.testing.loss import Loss
from embeddings_tf.testing.made_up_batches import NUM_CLASSES
from embeddings_tf.testing.made_up_batches import NUM_ROWS
from embeddings_tf.testing.metric import Metric
from embeddings_tf.testing.objective import Objective
from tests import conformance
from tests.conformance import WithOwnLayers

LOG_NUM_CLASSES = math.log(NUM_CLASSES)
SUPPORTS_COME_FIRST = (
    "of each class, the first num_support rows in batch order are supports"
)
LOOP = "XLA has no gradient of a loop over rows of an unknown number"
INFINITE_SCORES = "-inf and inf are scores; NaN is refused in their own tests"
EPISODES_BY_ROW = "episodes are drawn by row number"
NO_SUPPORTS = "supports and queries are not told apart"
# J of a lifted structure if the points coincide; its margin is 1.
ALL_NEGATIVES_TOUCH = 1 + math.log(2 * (NUM_ROWS - NUM_ROWS // NUM_CLASSES))


def same_at_scale_1(entry):
    return entry.value_at_scale(1)


def distances_of_pairs(entry, between=lambda a, b: np.linalg.norm(a - b)):
    """Distances of the pairs of a batch, each pair once."""
    z = entry.batch()[1].astype("float64")
    return np.array([between(a, b) for i, a in enumerate(z) for b in z[:i]])


def mean_deviance(entry, slope):
    """Mean over all pairs, as if all were positive or all negative."""
    cosines = distances_of_pairs(
        entry, lambda a, b: a @ b / np.linalg.norm(a) / np.linalg.norm(b)
    )
    return np.mean(np.log1p(np.exp(slope * (cosines - 0.5))))


def all_phi_at_smallest_ratio(entry):
    """Coinciding points; Phi is 2 / B(1/2, n/2) = 1.875 of the root, n = 6."""
    loss = entry.make()
    if loss.direction == "merge":
        return 0.0
    num_pairs = math.comb(NUM_CLASSES, 2)
    return num_pairs * loss.num_dims * (18.5 * math.log(10) - math.log(1.875))


LOSSES = [
    Loss(
        partial(losses.PrototypicalLoss, num_support=2),
        documented={
            "one_class": 0.0,
            "singletons": 0.0,
            "no_queries": 0.0,
            "coinciding_points": LOG_NUM_CLASSES,
            "tiny_scale": LOG_NUM_CLASSES,
            # Squared distances are cut to one largest value.
            "huge_scale": LOG_NUM_CLASSES,
        },
        not_applicable={"order_within_class": SUPPORTS_COME_FIRST},
    ),
    *(
        Loss(
            partial(losses.TripletLoss, **arguments),
            label="-".join(arguments.values()),
            arguments={
                "margin": 0.2,
                "mining": "semi_hard",
                "distance": "l2",
                "average_over": "active",
                **arguments,
            },
            documented={
                "one_class": 0.0,
                "singletons": 0.0,
                "coinciding_points": 0.1,
                "tiny_scale": 0.1,
                "huge_scale": lambda entry: 1e18 * entry.value_at_scale(1e9),
            },
            not_applicable={"no_queries": NO_SUPPORTS},
            # Rounding may choose another of the few semi-hard negatives.
            half_precision_atol=0.05
            if arguments.get("mining") == "semi_hard"
            else 0.02,
        )
        for arguments in (
            {},
            {"mining": "hard"},
            {"mining": "semi_hard", "average_over": "active"},
        )
    ),
    Loss(
        partial(losses.TripletLoss, distance="cosine"),
        label="cosine",
        arguments={"margin": 0.2, "mining": "hard", "average_over": "active"},
        documented={
            "one_class": 0.0,
            "singletons": 0.0,
            "coinciding_points": 0.1,
            "tiny_scale": same_at_scale_1,
            "huge_scale": same_at_scale_1,
        },
        not_applicable={"no_queries": NO_SUPPORTS},
    ),
    Loss(
        # Coarse, for few pairs: between distant nodes the slope is noise.
        partial(losses.HistogramLoss, num_nodes=21),
        documented={
            "one_class": 0.0,
            "singletons": 0.0,
            "coinciding_points": 1.0,
            "tiny_scale": same_at_scale_1,
            "huge_scale": same_at_scale_1,
        },
        not_applicable={"no_queries": NO_SUPPORTS},
    ),
    Loss(
        partial(losses.BinomialDevianceLoss),
        arguments={
            "scale": 3.0,
            "threshold": 0.25,
            "negative_cost": 25.0,
            "form": "authors",
        },
        documented={
            "one_class": lambda entry: mean_deviance(entry, -2),
            "singletons": lambda entry: mean_deviance(entry, 20),
            "coinciding_points": math.log1p(math.exp(-1))
            + math.log1p(math.exp(10)),
            "tiny_scale": same_at_scale_1,
            "huge_scale": same_at_scale_1,
        },
        not_applicable={"no_queries": NO_SUPPORTS},
    ),
    *(
        Loss(
            partial(losses.LiftedStructureLoss, **arguments),
            label="-".join(arguments.values()),
            arguments={"margin": 2.0, "form": "authors"} | arguments,
            documented={
                "one_class": 0.0,
                "singletons": 0.0,
                "coinciding_points": at_one_place,
                "tiny_scale": at_one_place,
                "huge_scale": lambda entry: 1e18 * entry.value_at_scale(1e9),
            },
            not_applicable={"no_queries": NO_SUPPORTS},
        )
        for arguments, at_one_place in (
            ({}, ALL_NEGATIVES_TOUCH**2 / 2),
            ({"form": "authors"}, ALL_NEGATIVES_TOUCH / 4),
        )
    ),
    Loss(
        partial(losses.ContrastiveLoss),
        arguments={"margin": 2.0, "average_over": "each_kind"},
        documented={
            "one_class": lambda entry: (
                np.mean(distances_of_pairs(entry) ** 2) / 2
            ),
            "singletons": lambda entry: np.mean(
                np.maximum(0, 1 - distances_of_pairs(entry)) ** 2 / 2
            ),
            # 8 of 11 other rows are negative and cost margin^2 / 2.
            "coinciding_points": 8 / 11 / 2,
            "tiny_scale": 8 / 11 / 2,
            "huge_scale": lambda entry: 1e18 * entry.value_at_scale(1e9),
        },
        not_applicable={"no_queries": NO_SUPPORTS},
    ),
    *(
        Loss(
            partial(losses.FStatisticLoss, **arguments),
            label=label,
            arguments={
                "num_dims": 1,
                "grand_mean": "instances",
                "direction": "merge",
                "equal_variance": False,
                **arguments,
            },
            documented={
                "one_class": 0.0,
                "singletons": 0.0,
                "coinciding_points": all_phi_at_smallest_ratio,
                "tiny_scale": same_at_scale_1,
                "huge_scale": same_at_scale_1,
            },
            not_applicable={"no_queries": NO_SUPPORTS},
        )
        for label, arguments in {
            "": {},
            "1": {"num_dims": 1},
            "instances": {"num_dims": 1, "grand_mean": "instances"},
            "merge": {"num_dims": 1, "direction": "merge"},
            "welch": {"num_dims": 1, "equal_variance": False},
            "welch-merge": {
                "num_dims": 1,
                "direction": "merge",
                "equal_variance": False,
            },
        }.items()
    ),
]

BY_CLASS_ID = "the classifier has an output for each class id"
CLASSIFIER = {
    "num_classes": NUM_ROWS,
    "auxiliary": "additive_margin",
    "projection": partial(
        keras.layers.Dense,
        4,
        kernel_initializer=keras.initializers.GlorotUniform(seed=3),
        dtype="float32",  # as a head: its gradients are scaled by 30
    ),
}


def learned_distance_by_hand(
    one_class=False, singletons=False, one_place=False, factor=1.0
):
    """Function from an entry to its value on a batch changed like this."""

    def value(entry):
        labels, z = entry.batch()
        labels = 0 * labels if one_class else labels
        labels = np.arange(NUM_ROWS) if singletons else labels
        z = np.float32(factor) * (
            np.repeat(z[:1], NUM_ROWS, 0) if one_place else z
        )
        objective = entry.new()
        objective.build(labels.shape, z.shape)
        i, j = np.nonzero(~np.eye(NUM_ROWS, dtype=bool))
        logits = objective.distance((z[i], z[j])).numpy()
        same = labels[i] == labels[j]
        halves = [
            np.log1p(np.exp(x))
            for x in (-logits[same], logits[~same])
            if x.size
        ]
        pairs = sum(map(np.mean, halves)) / 2
        if objective.classifier is None:
            return pairs
        x = objective.projection(z).numpy() / factor
        x /= np.linalg.norm(x, axis=1, keepdims=True)
        kernel = objective.classifier.kernel.numpy()
        kernel = kernel / np.linalg.norm(kernel, axis=0)
        scores = 30 * (x @ kernel - 0.35 * np.eye(NUM_ROWS)[labels])
        scores -= scores.max(axis=1, keepdims=True)
        log_sum = np.log(np.exp(scores).sum(axis=1))
        return pairs + np.mean(log_sum - scores[np.arange(NUM_ROWS), labels])

    return value


OBJECTIVES = [
    Objective(
        partial(
            objectives.StochasticPrototypes,
            num_support=2,
            sampler=sampler,
            num_samples=num_samples,
            seed=7,
        ),
        label=f"{sampler}-{num_samples}",
        batch=made_up_batches.gaussians,
        quiet=made_up_batches.without_variance,
        narrow=made_up_batches.points_as_gaussians,
        scale=made_up_batches.scaled_gaussians,
        head=partial(layers.GaussianEmbedding, 2, initial_variance=0.05),
        arguments={
            "sampler": "naive",
            "num_samples": 4,
            "initial_noise_variance": 0.5,
            "noise_transform": "exp",
            "beta": 0.1,
        },
        documented={
            "one_class": 0.0,
            "singletons": 0.0,
            "no_queries": 0.0,
            "coinciding_points": LOG_NUM_CLASSES,
            "tiny_scale": LOG_NUM_CLASSES,
            # Means and standard deviations are equal, so only noise_variance
            # depends on the scale, and it is negligible in both.
            "huge_scale": lambda entry: entry.value_at_scale(1e9),
        },
        not_applicable={
            "order_within_class": SUPPORTS_COME_FIRST,
            **({} if sampler == "intersection" else {"xla": LOOP}),
        },
    )
    for sampler, num_samples in [("intersection", 1), ("naive", 3)]
]


def full_gaussians():
    """Returns labels, and means with raw variances and correlations."""
    labels, mean = made_up_batches.points()
    raw = np.random.default_rng(1).uniform(0.1, 1, (NUM_ROWS, 3))
    return labels, np.concatenate([mean, raw], 1).astype("float32")


def full_without_variance(packed):
    """The smallest variances: samples are nearly the means."""
    mean, raw = np.split(np.asarray(packed), [2], axis=-1)
    return np.concatenate([mean, raw * 0 + [-30, -30, 0]], -1).astype("f4")


def scaled_full_gaussians(packed, factor):
    """Scales means only; without variance if that matters."""
    z = packed if factor > 1 else full_without_variance(packed)
    return np.concatenate([z[:, :2] * factor, z[:, 2:]], -1).astype("f4")


OBJECTIVES += [
    Objective(
        partial(objectives.FullCovariancePrototypes, num_support=2, seed=7),
        batch=full_gaussians,
        quiet=full_without_variance,
        narrow=full_without_variance,
        scale=scaled_full_gaussians,
        head=partial(keras.layers.Dense, 5, dtype="float32"),
        arguments={"num_samples": 4},
        documented={
            "one_class": 0.0,
            "singletons": 0.0,
            "no_queries": 0.0,
            "coinciding_points": LOG_NUM_CLASSES,
            "tiny_scale": LOG_NUM_CLASSES,
            # Distances grow by the square of the scale, variances do not.
            "huge_scale": lambda entry: 1e18 * entry.value_at_scale(1e9),
        },
        not_applicable={"order_within_class": SUPPORTS_COME_FIRST},
    )
]
OBJECTIVES += [
    Objective(
        WithOwnLayers(
            objectives.LearnedDistance,
            distance=partial(layers.PairDistance, (16, 16), seed=1),
            seed=7,
            **arguments,
        ),
        label=arguments.get("auxiliary", arguments.get("updates", "")),
        # Far enough apart for steps of comparable size.
        head=partial(
            keras.layers.Dense,
            2,
            kernel_initializer=keras.initializers.RandomNormal(
                stddev=10, seed=1
            ),
            dtype="float32",
        ),
        arguments={
            "label_smoothing": 0.2,
            "pair_weighting": "authors",
            "divergence": "kullback_leibler",
            "encoder_loss": losses.TripletLoss(margin=0.2),
            "train_encoder": False,
            "updates": "alternating",
            **classifier,
        }
        | arguments,
        documented={
            "one_class": learned_distance_by_hand(one_class=True),
            "singletons": learned_distance_by_hand(singletons=True),
            "coinciding_points": learned_distance_by_hand(one_place=True),
            "tiny_scale": learned_distance_by_hand(factor=1e-18),
            # The contribution of the biases to a logit is negligible.
            "huge_scale": lambda entry: 1e18 * entry.value_at_scale(1e9) / 1e9,
        },
        not_applicable={
            "no_queries": NO_SUPPORTS,
            "samples": "targets are drawn, and units dropped, in training",
            **exemptions,
        },
        set_wise="auxiliary" not in arguments,
    )
    for arguments, classifier, exemptions in [
        ({}, CLASSIFIER, {}),
        (
            {"updates": "alternating"},
            CLASSIFIER,
            {},
        ),
        (
            CLASSIFIER,
            {},
            {
                "class_names": BY_CLASS_ID,
                "class_ids": BY_CLASS_ID,
            },
        ),
    ]
]


def match_of_points(labels, points):
    """Mean of the mean cost of positive pairs and of negative pairs."""
    i, j = np.nonzero(~np.eye(NUM_ROWS, dtype=bool))
    points = points.astype("float64")
    logits = -np.linalg.norm(points[i] - points[j], axis=1)
    same = labels[i] == labels[j]
    halves = [
        np.mean(np.logaddexp(0, x))
        for x in (-logits[same], logits[~same])
        if x.size
    ]
    return sum(halves) / 2


def soft_contrastive_by_hand(
    one_class=False, singletons=False, one_place=False, factor=1.0
):
    """Function from an entry to its value of a batch changed like this."""

    def value(entry):
        labels, z = entry.batch()
        labels = 0 * labels if one_class else labels
        labels = np.arange(NUM_ROWS) if singletons else labels
        z = np.repeat(z[:1], NUM_ROWS, 0) if one_place else z
        return match_of_points(labels, np.float32(factor) * z)

    return value


def hedged_instances_by_hand(
    one_class=False, singletons=False, one_place=False, factor=1.0
):
    """Function from an entry to its value on a batch changed like this.

    Uses points, except at huge scale, where only the divergence matters.
    """

    def value(entry):
        labels, packed = entry.batch()
        labels = 0 * labels if one_class else labels
        labels = np.arange(NUM_ROWS) if singletons else labels
        packed = np.repeat(packed[:1], NUM_ROWS, 0) if one_place else packed
        packed = made_up_batches.scaled_gaussians(packed, factor)
        packed = packed if factor > 1 else entry.quiet(packed)
        mean, variance = np.split(packed.astype("float64"), 2, axis=1)
        divergence = np.sum(mean**2 + variance - np.log(variance) - 1, 1) / 2
        beta = entry.make().beta
        return match_of_points(labels, mean) + 2 * beta * np.mean(divergence)

    return value


OBJECTIVES += [
    Objective(
        partial(objectives.HedgedInstances, num_samples=2, seed=7, **arguments),
        label="-".join(arguments.values()),
        batch=made_up_batches.gaussians,
        quiet=made_up_batches.without_variance,
        narrow=made_up_batches.points_as_gaussians,
        scale=made_up_batches.scaled_gaussians,
        head=partial(layers.GaussianEmbedding, 2, initial_variance=0.05),
        arguments={"num_samples": 4, "beta": 0.01, "average": "loss"},
        documented={
            "one_class": hedged_instances_by_hand(one_class=True),
            "singletons": hedged_instances_by_hand(singletons=True),
            "coinciding_points": hedged_instances_by_hand(one_place=True),
            "tiny_scale": hedged_instances_by_hand(factor=1e-18),
            "huge_scale": hedged_instances_by_hand(factor=1e18),
        },
        not_applicable={"no_queries": NO_SUPPORTS},
    )
    for arguments in ({}, {"average": "loss"})
]
OBJECTIVES += [
    Objective(
        partial(objectives.SoftContrastive),
        documented={
            "one_class": soft_contrastive_by_hand(one_class=True),
            "singletons": soft_contrastive_by_hand(singletons=True),
            "coinciding_points": soft_contrastive_by_hand(one_place=True),
            "tiny_scale": soft_contrastive_by_hand(factor=1e-18),
            "huge_scale": soft_contrastive_by_hand(factor=1e18),
        },
        not_applicable={
            "no_queries": NO_SUPPORTS,
            "samples": "nothing is drawn",
        },
    )
]


def two_embeddings():
    (x,) = made_up_batches.features()
    return [x, np.roll(x, 1, axis=0)]


LAYERS = [
    Layer(
        partial(layers.GaussianEmbedding, dim=3),
        arguments={
            "minimum_variance": 1e-6,
            "initial_variance": 0.05,
            "kernel_initializer": "he_normal",
            "projection": False,
        },
    ),
    Layer(
        partial(layers.DimensionDropout, 0.25),
        arguments={"seed": 3},
    ),
    Layer(
        partial(layers.LocalResponseNormalization),
        inputs=lambda: [made_up_batches.features()[0][:, None, None]],
        arguments={
            "depth_radius": 2,
            "bias": 2.0,
            "alpha": 0.1,
            "beta": 0.75,
        },
        not_applicable={
            "mixed_precision": "a hidden layer gives what the next one takes"
        },
    ),
    Layer(
        partial(layers.PairDistance, (16, 8)),
        inputs=two_embeddings,
        arguments={"dropout": 0.2, "symmetric": True, "seed": 3},
        not_applicable={"sequential": "takes two inputs"},
    ),
    Layer(
        partial(layers.PixelRange),
        inputs=lambda: [255 * np.abs(made_up_batches.features()[0])],
        arguments={"unit_range": "refuse"},
        not_applicable={"mixed_precision": "gives what it takes"},
    ),
    Layer(
        partial(layers.StatisticsPooling),
        inputs=lambda: [made_up_batches.features()[0].reshape(NUM_ROWS, 3, -1)],
    ),
    Layer(
        partial(layers.UncertaintyHead, (8,)),
        arguments={
            "dropout": 0.1,
            "novelty_weight": 0.5,
            "num_samples": 4,
            "seed": 3,
        },
    ),
    Layer(
        partial(layers.AdditiveMargin, num_classes=3),
        arguments={
            "scale": 10.0,
            "margin": 0.2,
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
    # share a nearest neighbour; a factor of 2 allows for it.
    labels = np.repeat(np.arange(6), 100)
    rows = {"embeddings": rng().normal(size=(600, 8)), "labels": labels}
    p = 99 / 599
    return rows, p, 5 * math.sqrt(2 * p * (1 - p) / 600)


def ranked_by_chance():
    # Any order of the 99 among the 599; the variance is at most p (1 - p).
    rows, _, _ = found_by_chance()
    first = sum(1 / rank for rank in range(1, 600)) / 599
    p = first + (1 - first) * 98 / 598
    return rows, p, 5 * math.sqrt(2 * p * (1 - p) / 600)


def named_by_chance():
    # The accuracy of one episode has variance p (1 - p) at most.
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


def wrong_neighbours_are_uncertain():
    # Pairs of rows; the last two pairs are of two classes.
    embeddings = np.repeat(np.arange(10) * 5.0, 2) + np.arange(20) % 2
    labels = np.repeat([0, 1, 2, 3, 0, 1, 2, 3], 2)
    labels = np.append(labels, [0, 1, 2, 3])
    rows = {
        "uncertainty": (np.arange(20) >= 16) * 1.0,
        "embeddings": embeddings[:, np.newaxis],
        "labels": labels,
    }
    return rows, 1.0, 0.0


def neighbours_are_wrong_by_chance():
    # An area has a variance of (n + 1) / 12 n+ n-; p = 99 / 599 are right.
    rows, p, _ = found_by_chance()
    uncertainty = np.random.default_rng(3).normal(size=600)
    spread = math.sqrt(601 / (12 * 600 * 600 * p * (1 - p)))
    return {"uncertainty": uncertainty, **rows}, 0.5, 5 * spread


def unknown_is_uncertain():
    return {"known": np.arange(50), "unknown": 50 + np.arange(50)}, 1.0, 0.0


def unknown_by_chance():
    # (n + m + 1) / (12 n m) is the variance of the area.
    known, unknown = rng().normal(size=(2, 1000))
    rows = {"known": known, "unknown": unknown}
    return rows, 0.5, 5 * math.sqrt(2001 / (12 * 1000 * 1000))


def unknown_passes_by_chance():
    # The threshold is at the share 0.95, with the variance of both samples.
    rows, _, _ = unknown_by_chance()
    spread = sum(0.95 * 0.05 / len(values) for values in rows.values())
    return rows, 0.95, 5 * math.sqrt(spread)


def two_factors():
    first, second = np.divmod(np.arange(500) % 25, 5)
    return np.stack([first, second], axis=1)


def codes_are_factors(expected):
    factors = two_factors()
    return {"codes": factors * 1.0, "factors": factors}, expected, 1e-9


def codes_know_nothing():
    # 2 n m is chi-squared with (20 - 1) (5 - 1) degrees of freedom; its
    # variance
    # is twice this. The test reads the mean over two dimensions and two
    # factors.
    n, freedom = 4000, 19 * 4
    rows = {
        "codes": rng().uniform(size=(n, 2)),
        "factors": rng().integers(0, 5, (n, 2)),
    }
    return rows, freedom / (2 * n), 5 * math.sqrt(2 * freedom) / (2 * n)


def codes_know_both_factors():
    # The second factor equals the first, renamed.
    factor = rng().integers(0, 5, 500)
    factors = np.stack([factor, 4 - factor], axis=1)
    codes = factors + rng().normal(0, 0.3, (500, 2))
    return {"codes": codes, "factors": factors}, 0.0, 1e-9


def codes_have_a_dimension_per_value():
    factors = two_factors()
    codes = np.concatenate([np.eye(5)[factor] for factor in factors.T], axis=1)
    return {"codes": codes, "factors": factors}, 1.0, 1e-9


def other_codes_know_nothing():
    # An area has variance (n + 1) / 12 n+ n-; the mean of ten has no more.
    fitted, _, _ = codes_know_nothing()
    n = len(fitted["codes"])
    tests = {
        "test_codes": rng().normal(size=(n, 2)),
        "test_factors": rng().permutation(fitted["factors"]),
    }
    spread = math.sqrt((n + 1) / (12 * n * n * 0.2 * 0.8))
    return {**fitted, **tests}, 0.5, 5 * spread


def best_of_two_knows_nothing():
    # The larger of two areas in distance from 1/2: for two normal variables
    # the larger size is 2 / sqrt(pi) standard deviations on average.
    rows, _, _ = codes_know_nothing()
    n = len(rows["codes"])
    spread = math.sqrt((n + 1) / (12 * n * n * 0.2 * 0.8))
    return rows, 0.5 + 2 / math.sqrt(math.pi) * spread, 5 * spread


def mean_auc(found):
    return np.mean(found["auc"])


def codes_are_turned():
    cos, sin = math.cos(math.radians(30)), math.sin(math.radians(30))
    factors = two_factors()
    codes = factors @ np.array([[cos, sin], [-sin, cos]])
    return {"codes": codes, "factors": factors}, 2 * math.log(5), 1e-9


def codes_are_constant():
    factors = two_factors()
    return {"codes": np.ones((500, 2)), "factors": factors}, 0.0, 0.0


def codes_are_binary_factors():
    """The wrong dimension predicts half of the examples."""
    factors = np.stack([np.arange(80) % 2, np.arange(80) // 2 % 2], axis=1)
    return {"codes": 10.0 * factors, "factors": factors}, 0.5, 1e-9


def binary_factors_are_not_in_the_codes():
    rows, _, _ = codes_are_binary_factors()
    return {**rows, "codes": np.ones((80, 2))}, 0.0, 0.0


def no_spread():
    return {"values": np.full(30, 0.5)}, 0.0, 0.0


def normal_values():
    # The estimated deviation has a relative error of about 1 / sqrt(2 n).
    n = 5000
    half_width = statistics.NormalDist().inv_cdf(0.975) / math.sqrt(n)
    rows = {"values": rng().normal(size=n)}
    return rows, half_width, 5 * half_width / math.sqrt(2 * n)


def targets_score_higher(expected):
    is_target = np.arange(1000) % 4 == 0
    return {"scores": is_target * 1.0, "is_target": is_target}, expected, 0.0


def scores_know_nothing(expected, deviation):
    """`deviation`: standard deviation of the metric times sqrt(n)."""
    n = 1000  # per kind
    rows = {
        "scores": rng().normal(size=2 * n),
        "is_target": np.arange(2 * n) % 2 == 0,
    }
    return rows, expected, 5 * deviation / math.sqrt(n)


def sure_ratios():
    rows, _, _ = targets_score_higher(0.0)
    # 100 nats for and against.
    rows["scores"] = 200 * rows["scores"] - 100
    return rows, 0.0, 1e-12


def no_ratios():
    rows, _, _ = targets_score_higher(0.0)
    rows["scores"] = 0 * rows["scores"]
    return rows, 1.0, 1e-12


def scores_near_chance():
    # Both rates have variance 1 / (4 n) at the middle, and the EER is half of
    # their sum.
    return scores_know_nothing(0.5, math.sqrt(1 / 8))


def scores_of_no_use():
    # Less than 1 by 1 / n for every target above the first nontarget. With
    # probability 1e-6 there are twenty such targets.
    rows, expected, _ = scores_know_nothing(1.0, 0.0)
    return rows, expected, 20 / 1000


def pairs_won_by_chance():
    # (n + n + 1) / (12 n n) is the variance of the area.
    return scores_know_nothing(0.5, math.sqrt(1 / 6))


def lowest_of_larger_rate(curve):
    return np.min(np.maximum(curve["false_alarm"], curve["miss"]))


def clusters_are_classes():
    labels = np.arange(120) % 5
    return {"labels": labels, "clusters": 7 - labels}, 1.0, 0.0


def clusters_know_nothing():
    # 2 n I is chi-squared with 4 * 4 degrees of freedom, and H = ln 5.
    n, freedom = 4000, 4 * 4
    labels, clusters = rng().integers(0, 5, (2, n))
    spread = math.sqrt(2 * freedom)
    unit = 2 * n * math.log(5)
    rows = {"labels": labels, "clusters": clusters}
    return rows, freedom / unit, 5 * spread / unit


METRICS = [
    Metric(
        partial(metrics.recall_at_k, k=1),
        perfect=told_apart,
        chance=found_by_chance,
        read=lambda recall: recall[1],
    ),
    Metric(
        partial(metrics.mean_average_precision),
        perfect=told_apart,
        chance=ranked_by_chance,
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
        partial(metrics.area_under_risk_coverage),
        perfect=rejects_errors_first,
        chance=rejects_by_chance,
    ),
    Metric(
        partial(metrics.recall_auroc),
        perfect=wrong_neighbours_are_uncertain,
        chance=neighbours_are_wrong_by_chance,
    ),
    Metric(
        partial(metrics.out_of_distribution_auroc),
        perfect=unknown_is_uncertain,
        chance=unknown_by_chance,
        not_applicable={
            "unequal_lengths": "the two arrays are about different inputs"
        },
    ),
    Metric(
        partial(metrics.out_of_distribution_fpr),
        perfect=lambda: (unknown_is_uncertain()[0], 0.0, 0.0),
        chance=unknown_passes_by_chance,
        not_applicable={
            "unequal_lengths": "the two arrays are about different inputs"
        },
    ),
    Metric(
        partial(metrics.mutual_information_gap),
        perfect=lambda: codes_are_factors(1.0),
        chance=codes_are_constant,
    ),
    Metric(
        partial(metrics.separated_attribute_predictability),
        perfect=codes_are_binary_factors,
        chance=codes_are_constant,
    ),
    Metric(
        partial(metrics.dci),
        perfect=lambda: (codes_are_binary_factors()[0], 1.0, 1e-6),
        chance=binary_factors_are_not_in_the_codes,
        read=lambda found: found["disentanglement"],
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
    *(
        Metric(
            partial(metrics.explicitness, variant=variant),
            label=variant,
            perfect=codes_have_a_dimension_per_value,
            chance=other_codes_know_nothing,
        )
        for variant in ("paper", "disentanglement_lib")
    ),
    Metric(
        partial(metrics.explicitness_by_value),
        perfect=codes_have_a_dimension_per_value,
        chance=other_codes_know_nothing,
        read=mean_auc,
    ),
    Metric(
        partial(metrics.single_dimension_auc),
        perfect=codes_have_a_dimension_per_value,
        chance=best_of_two_knows_nothing,
    ),
    Metric(
        partial(metrics.single_dimension_auc_by_value),
        perfect=codes_have_a_dimension_per_value,
        chance=best_of_two_knows_nothing,
        read=mean_auc,
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
    Metric(
        partial(metrics.equal_error_rate),
        perfect=lambda: targets_score_higher(0.0),
        chance=scores_near_chance,
        read=lambda found: found[0],
        not_applicable={"not_finite": INFINITE_SCORES},
    ),
    Metric(
        partial(metrics.roc_auc),
        perfect=lambda: targets_score_higher(1.0),
        chance=pairs_won_by_chance,
        not_applicable={"not_finite": INFINITE_SCORES},
    ),
    Metric(
        partial(metrics.min_dcf),
        perfect=lambda: targets_score_higher(0.0),
        chance=scores_of_no_use,
        not_applicable={"not_finite": INFINITE_SCORES},
    ),
    Metric(
        partial(metrics.cllr),
        perfect=sure_ratios,
        chance=no_ratios,
        not_applicable={"not_finite": INFINITE_SCORES},
    ),
    Metric(
        partial(metrics.min_cllr),
        perfect=lambda: targets_score_higher(0.0),
        chance=scores_of_no_use,
        not_applicable={"not_finite": INFINITE_SCORES},
    ),
    Metric(
        partial(metrics.det_curve),
        perfect=lambda: targets_score_higher(0.0),
        chance=scores_near_chance,
        read=lowest_of_larger_rate,
        not_applicable={"not_finite": INFINITE_SCORES},
    ),
    Metric(
        partial(metrics.bootstrap_interval, metrics.roc_auc, num_resamples=50),
        perfect=lambda: targets_score_higher(1.0),
        chance=pairs_won_by_chance,
        read=np.mean,
        not_applicable={
            "not_finite": INFINITE_SCORES,
            "row_order": "trials are drawn by row number",
        },
    ),
    Metric(
        partial(metrics.normalized_mutual_information),
        perfect=clusters_are_classes,
        chance=clusters_know_nothing,
        not_applicable={"not_finite": "both arguments are integers"},
    ),
]

# Public names without an entry, and the reason.
WITHOUT_ENTRY = {
    losses.BatchNeeds: "what a loss says of its batches; not a loss",
    losses.EmbeddingLoss: "abstract; tests/testing/own_classes_test.py",
    losses.set_wise: "calls a loss; not a loss",
    objectives.EmbeddingObjective: "abstract; own_classes_test.py",
    layers.as_distribution: "a helper that returns a TFP distribution",
    metrics.TrialHistogram: "fed in blocks; compared with the functions",
    metrics.assign_clusters: "gives clusters, not a measure",
    metrics.chance_information: "the floor of a measure, not a measure",
    metrics.class_means: "gives centroids, not a measure",
    metrics.conformal_threshold: "gives a threshold, not a measure",
    metrics.cosine_score_pairs: "gives scores, not a measure",
    metrics.cosine_scores: "gives scores, not a measure",
    metrics.distance_properties: "gives distances, not one number",
    metrics.error_rates: "two rates at a given threshold; loops in their tests",
    metrics.fuse_scores: "gives scores, not a measure",
    metrics.k_means_centroids: "gives centroids, not a measure",
    metrics.learn_then_test: "gives a threshold, not a measure",
    metrics.likelihood_ratio_curve: "a curve; compared with a loop",
    metrics.score_all_pairs: "gives scores, not a measure",
    metrics.score_enrollments: "gives scores, not a measure",
    metrics.score_trials: "gives scores, not a measure",
    metrics.threshold_at_false_accept_rate: "gives a threshold, not a measure",
    metrics.within_subject_interval: "an interval of numbers, not a measure",
    metrics.stream_trials: "hands on scores, gives no measure",
}

TABLES = {
    losses: LOSSES,
    objectives: OBJECTIVES,
    layers: LAYERS,
    metrics: METRICS,
}
ENTRIES = [entry for table in TABLES.values() for entry in table]


# Properties that take seconds because they trace or compile graphs. `make test`
# checks them on the first entry of a class, `make test-all` on its variants and
# on the copies that are broken on purpose. `make test` checks the values on
# replicas, but trains on replicas with no entry.
GRAPH_HEAVY = {
    "bad_embeddings",
    "bad_labels",
    "compiled",
    "export",
    "mixed_precision",
    "pieces",
    "replicas",
    "replicas_fit",
    "saving",
    "teachable_rows_warning",
    "training_lowers_it",
    "xla",
}
SLOW_PROPERTIES = {"mixed_precision", "replicas_fit", "xla"}
FIRST = set({entry.make.func: entry for entry in reversed(ENTRIES)}.values())


@pytest.fixture
def saved_and_loaded():
    """Saves and loads in this process."""
    return saving.saved_and_loaded


def case(entry, name):
    is_variant = name in GRAPH_HEAVY and entry not in FIRST
    marks = [pytest.mark.slow] * (is_variant or name in SLOW_PROPERTIES)
    return pytest.param(entry, name, id=f"{entry}-{name}", marks=marks)


CASES = [case(entry, name) for entry in ENTRIES for name in entry.properties()]


def verify(entry, name, request):
    """Checks one property with its fixtures."""
    fixtures = map(request.getfixturevalue, entry.fixtures(name))
    entry.verify(name, *fixtures)


@pytest.mark.parametrize(("entry", "name"), CASES)
def test_property(entry, name, request):
    verify(entry, name, request)


SAVED = [entry for entry in ENTRIES if "saving" in entry.properties()]


@pytest.fixture(scope="session")
def in_fresh_process(tmp_path_factory):
    """Saves all entries and loads them in one process."""
    folder = tmp_path_factory.mktemp("fresh_process")
    return conformance.load_in_fresh_process([*SAVED, NOT_REGISTERED], folder)


@pytest.mark.slow
@pytest.mark.xdist_group("in_fresh_process")
@pytest.mark.parametrize("entry", SAVED, ids=str)
def test_saving_in_a_fresh_process(entry, in_fresh_process):
    entry.verify("saving", in_fresh_process)


@pytest.mark.slow
@pytest.mark.xdist_group("in_fresh_process")
def test_a_fresh_process_finds_that_a_class_is_not_registered(
    in_fresh_process,
):
    with pytest.raises(AssertionError):
        NOT_REGISTERED.verify("saving", in_fresh_process)


# --- The tables are complete ------------------------------------------------


def test_make_test_has_every_property_of_every_class():
    """`make test-all` runs it for every entry: `CASES` is complete.

    Training on replicas, in mixed precision and with XLA is left to
    `make test-all`.
    """
    assert {case.values for case in CASES} == {
        (entry, name) for entry in ENTRIES for name in entry.properties()
    }
    is_slow = {
        case.id: any(m.name == "slow" for m in case.marks) for case in CASES
    }
    quick = {
        (entry.make.func, name)
        for entry, name in (case.values for case in CASES)
        if not is_slow[f"{entry}-{name}"]
    }
    assert quick == {
        (entry.make.func, name)
        for entry in ENTRIES
        for name in entry.properties()
        if name not in SLOW_PROPERTIES
    }
    assert any(is_slow.values())


PUBLIC = {
    f"{group}.{name}": operator.attrgetter(f"{group}.{name}")(embeddings_tf)
    for group in (
        "losses",
        "layers",
        "objectives",
        "optimizers",
        "models",
        "metrics",
        "sampling",
        "scoring",
        "datasets",
        "datasets.speech",
        "callbacks",
        "export",
        "viz",
        "testing",
    )
    for name in conformance.public_names(
        operator.attrgetter(group)(embeddings_tf)
    )
}


@pytest.mark.parametrize("module", TABLES, ids=lambda m: m.__name__)
def test_every_public_name_has_an_entry(module):
    covered = {entry.make.func for entry in TABLES[module]}
    covered |= {
        entry.its_function()
        for entry in TABLES[module]
        if isinstance(entry, Loss)
    }
    public = {getattr(module, name) for name in module.__all__}
    assert public == covered | (public & set(WITHOUT_ENTRY))
    assert not covered & set(WITHOUT_ENTRY)
    assert all(reason.strip() for reason in WITHOUT_ENTRY.values())


# The examples of these functions run all checks.
SLOW_EXAMPLES = {"testing.check_loss"}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW_EXAMPLES))
        for name in PUBLIC
    ],
)
def test_examples_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    conformance.run_examples(PUBLIC[name], name)


def test_api_page_lists_every_public_name():
    page = (conformance.ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    listed = re.findall(r"^- `([\w.]+)", page, flags=re.MULTILINE)
    assert sorted(listed) == sorted(PUBLIC)


def test_what_keras_may_compile_is_what_xla_can_compile():
    for entry in OBJECTIVES:
        assert entry.make().supports_jit == ("xla" not in entry.not_applicable)


# --- The checks find defects ------------------------------------------------


def broken(entry, **members):
    """The entry with some members of its class replaced, without exemptions."""
    cls = type(entry.make.func.__name__, (entry.make.func,), members)
    make = partial(cls, *entry.make.args, **entry.make.keywords)
    changes = {"make": make, "not_applicable": {}}
    if isinstance(entry, Loss):
        changes["function"] = entry.its_function()
    return dataclasses.replace(entry, **changes)


NOT_REGISTERED = broken(LAYERS[0])


def broken_value(change):
    """A PrototypicalLoss with values changed by `change(y, z, values)`."""

    def call(self, y, z):
        return change(y, z, losses.prototypical_loss(y, z, self.num_support))

    return broken(LOSSES[0], call=call)


def broken_call(change):
    """A loss with `change(y, z, sample_weight)` as `Loss.__call__`."""

    def __call__(self, y, z, sample_weight=None):
        return change(self, y, z, sample_weight)

    return broken(LOSSES[0], __call__=__call__)


def local(y, z, values):
    """Uses only the replica's own rows, and the sum rather than the mean."""
    return tf.fill(tf.shape(z)[:1], tf.reduce_sum(z**2))


def overflow(y, z, values):
    mixed = keras.config.dtype_policy().name.startswith("mixed")
    return values * np.inf if mixed else values


def no_negative_labels(y, z, values):
    return losses.prototypical_loss(tf.nn.relu(y), z, 2)


def half_precision_labels(y, z, values):
    y = tf.cast(tf.cast(y, "bfloat16"), "int64")
    return losses.prototypical_loss(y, z, 2)


def float32_ids(y, z, values):
    y = tf.cast(tf.cast(y, "float32"), "int64")
    return losses.prototypical_loss(y, z, 2)


def truncated_labels(self, y, z, sample_weight):
    y = tf.cast(np.asarray(y) if not tf.is_tensor(y) else y, tf.int32)
    return losses.PrototypicalLoss.__call__(self, y, z, sample_weight)


def flat_embeddings(self, y, z, sample_weight):
    z = tf.reshape(z, [len(z), -1])
    return losses.PrototypicalLoss.__call__(self, y, z, sample_weight)


def root_of_zero(y, z, values):
    """Right value, but the root has no gradient at 0."""
    distances = tf.sqrt(tf.reduce_sum((z - z[:1]) ** 2, -1))
    return values + tf.reduce_sum(distances)


def mean_over_pairs_of_classes(y, z, values):
    num_classes = tf.size(tf.unique(tf.reshape(y, [-1])).y)
    return values / tf.cast(num_classes * (num_classes - 1), values.dtype)


def in_python(y, z, values):
    return values + tf.numpy_function(lambda: np.float32(0), [], tf.float32)


def unused_weight(self, y_true_shape, y_pred_shape):
    objectives.StochasticPrototypes.build(self, y_true_shape, y_pred_shape)
    self.unused = self.add_weight(name="unused", shape=())


def log_prob_reversed(self, *args, **kwargs):
    found = objectives.StochasticPrototypes.log_prob(self, *args, **kwargs)
    return tf.reverse(found, [0])


def broken_layer(change):
    """A GaussianEmbedding with output `change(layer, x, output)`."""

    def call(self, inputs):
        output = layers.GaussianEmbedding.call(self, inputs)
        return change(self, inputs, output)

    return broken(LAYERS[0], call=call)


def untracked_weights(self, input_shape):
    self.kernel = np.random.normal(size=(input_shape[-1], 2 * self.dim))
    self.kernel = self.kernel.astype("float32")
    self.bias = np.zeros(2 * self.dim, "float32")


def no_gradient(self, inputs, output):
    return tf.matmul(inputs, tf.stop_gradient(self.kernel)) + self.bias


def broken_metric(function):
    """`recall_at_k` replaced by `function(recall_at_k, embeddings, labels)`."""

    def recall_at_k(embeddings, labels, k):
        def recall(embeddings, labels):
            return metrics.recall_at_k(embeddings, labels, k)

        return function(recall, embeddings, labels)

    return dataclasses.replace(METRICS[0], make=partial(recall_at_k, k=1))


def refuses_without_saying_what(recall, embeddings, labels):
    try:
        return recall(embeddings, labels)
    except ValueError as error:
        raise ValueError("bad input") from error


@pytest.mark.parametrize("entry", [*LOSSES, *OBJECTIVES], ids=str)
def test_a_row_needs_another_of_its_class_or_its_supports(entry):
    """The check of own classes takes the number that they state."""
    made = entry.make()
    if hasattr(made, "batch_needs"):
        least = getattr(made, "num_support", 1) + 1
        assert made.batch_needs.rows == least


PROTOTYPICAL, INTERSECTION, NAIVE = *LOSSES[:1], *OBJECTIVES[:2]
BROKEN = [
    # Losses and objectives.
    (broken_call(truncated_labels), "bad_labels"),
    (broken_call(flat_embeddings), "bad_embeddings"),
    (broken_value(lambda y, z, v: v + z[0, 0]), "batch_order"),
    (broken_value(float32_ids), "class_ids"),
    (broken_value(no_negative_labels), "class_ids"),
    (broken_value(half_precision_labels), "class_ids"),
    (broken_value(lambda y, z, v: v + tf.cast(y[0], v.dtype)), "class_names"),
    (broken_value(root_of_zero), "coinciding_points"),
    (
        broken_value(lambda y, z, v: v + float(tf.inside_function())),
        "compiled",
    ),
    (
        broken(
            PROTOTYPICAL,
            get_config=lambda self: {
                "name": self.name,
                "reduction": self.reduction,
                "num_support": self.num_support,
            },
        ),
        "config",
    ),
    (
        broken(
            INTERSECTION,
            get_config=lambda self: {
                **objectives.StochasticPrototypes.get_config(self),
                "num_samples": 1,
            },
        ),
        "config",
    ),
    (
        broken_value(lambda y, z, v: v + tf.random.normal(())),
        "deterministic",
    ),
    (broken(PROTOTYPICAL, __doc__="A loss of `(batch,)`."), "docstring"),
    (broken(PROTOTYPICAL, __doc__="Reference: a book."), "reference"),
    (broken_value(lambda y, z, v: tf.concat([v, [0.0]], 0)), "empty_batch"),
    (broken(PROTOTYPICAL), "saving"),  # not registered
    (broken_value(lambda y, z, v: 2 * v), "function"),
    (
        dataclasses.replace(
            PROTOTYPICAL,
            make=partial(losses.PrototypicalLoss, 2, dtype="float16"),
        ),
        "half_precision",
    ),
    (
        broken_value(lambda y, z, v: v + 0 * tf.reduce_sum(z**3)),
        "huge_scale",
    ),
    (
        broken_call(
            lambda self, y, z, w: (
                tf.cast(tf.rank(y), tf.float32)
                + losses.PrototypicalLoss.__call__(self, y, z, w)
            )
        ),
        "label_types",
    ),
    (broken_value(overflow), "mixed_precision"),
    (
        dataclasses.replace(PROTOTYPICAL, head=partial(keras.layers.Dense, 2)),
        "mixed_precision",
    ),
    (broken_value(lambda y, z, v: v + 1), "no_queries"),
    (broken_value(mean_over_pairs_of_classes), "one_class"),
    (broken(PROTOTYPICAL), "order_within_class"),
    (
        dataclasses.replace(PROTOTYPICAL, head=keras.layers.BatchNormalization),
        "pieces",
    ),
    (
        broken_call(
            lambda self, y, z, w: losses.prototypical_loss(
                y, z, self.num_support
            )
        ),
        "reduction",
    ),
    (broken_value(local), "replicas"),
    (broken_value(local), "replicas_fit"),
    (
        broken_call(
            lambda self, y, z, w: losses.PrototypicalLoss.__call__(self, y, z)
        ),
        "sample_weight",
    ),
    (broken_value(lambda y, z, v: v + 1), "singletons"),
    (
        broken_value(lambda y, z, v: v + 0 * tf.reduce_sum(1 / z**2)),
        "tiny_scale",
    ),
    (
        broken_value(lambda y, z, v: 2 * tf.stop_gradient(v) - v),
        "training_lowers_it",
    ),
    (broken_value(lambda y, z, v: v[0]), "vector"),
    (broken_value(lambda y, z, v: v * tf.cast(1 + y, v.dtype)), "vector"),
    (broken_value(lambda y, z, v: tf.stop_gradient(v)), "vector"),
    (broken(PROTOTYPICAL, batch_needs=PAIRS), "teachable_rows"),
    (
        broken_call(
            lambda self, y, z, w: tf.reduce_mean(
                losses.prototypical_loss(y, z, self.num_support)
            )
        ),
        "teachable_rows_warning",
    ),
    (broken_value(in_python), "xla"),
    (broken_value(lambda y, z, v: v + tf.norm(z)), "zeros"),
    (broken(INTERSECTION, build=unused_weight), "weights"),
    (broken(INTERSECTION, log_prob=log_prob_reversed), "few_shot"),
    (broken(INTERSECTION, is_gaussian=False), "kind_of_embedding"),
    (
        broken(INTERSECTION, _next_seed=lambda self: tf.constant([1, 2])),
        "samples",
    ),
    # Layers.
    (
        broken(
            LAYERS[0],
            get_config=lambda self: keras.layers.Layer.get_config(self),
        ),
        "config",
    ),
    (NOT_REGISTERED, "saving"),
    (
        broken(
            LAYERS[0],
            compute_output_shape=lambda self, shape: (*shape[:-1], self.dim),
        ),
        "output_shape",
    ),
    (broken(LAYERS[0], build=untracked_weights), "functional"),
    (broken(LAYERS[0], build=untracked_weights), "sequential"),
    (
        broken_layer(lambda self, x, output: output - tf.reduce_mean(x)),
        "rows",
    ),
    (
        broken_layer(
            lambda self, x, output: tf.cast(
                output, keras.config.dtype_policy().compute_dtype
            )
        ),
        "mixed_precision",
    ),
    (
        broken_layer(
            lambda self, x, output: output + float(tf.inside_function())
        ),
        "export",
    ),
    (broken_layer(no_gradient), "gradients"),
    (
        broken(
            LAYERS[0],
            call=lambda self, x: tf.cast(x, tf.float32) @ self.kernel,
        ),
        "complex",
    ),
    (broken_layer(lambda self, x, output: tf.exp(output)), "huge_inputs"),
    # Metrics.
    (broken_metric(lambda recall, x, y: {1: 0.9}), "perfect"),
    (broken_metric(lambda recall, x, y: {1: 1.0}), "chance"),
    (broken_metric(lambda recall, x, y: {1: float(x[0, 0])}), "row_order"),
    (
        broken_metric(lambda recall, x, y: {1: float(tf.is_tensor(x))}),
        "tensors",
    ),
    (
        broken_metric(lambda recall, x, y: {1: np.float32(recall(x, y)[1])}),
        "plain_result",
    ),
    (
        broken_metric(lambda recall, x, y: recall(np.nan_to_num(x), y)),
        "not_finite",
    ),
    (broken_metric(refuses_without_saying_what), "not_finite"),
    (
        broken_metric(lambda recall, x, y: recall(x[: len(y)], y[: len(x)])),
        "unequal_lengths",
    ),
    (
        broken_metric(lambda recall, x, y: recall(x, y) if len(x) else {1: 0}),
        "empty",
    ),
]


@pytest.mark.parametrize(("entry", "name"), [case(*pair) for pair in BROKEN])
def test_breakage_is_found(entry, name, request):
    with pytest.raises(AssertionError):
        verify(entry, name, request)


@pytest.mark.parametrize(
    ("original", "copy", "names"),
    [
        pytest.param(
            PROTOTYPICAL,
            broken_value(lambda y, z, v: v),
            Loss.properties(),
            marks=pytest.mark.slow,
            id="loss",
        ),
        pytest.param(
            INTERSECTION,
            broken(INTERSECTION),
            ["config", "weights", "samples"],
            id="objective",
        ),
        pytest.param(
            LAYERS[0],
            broken_layer(lambda self, x, v: v),
            Layer.properties(),
            id="layer",
        ),
        pytest.param(
            METRICS[0],
            broken_metric(lambda f, x, y: f(x, y)),
            ["perfect"],
            id="metric",
        ),
    ],
)
def test_only_what_is_broken_is_found(original, copy, names, request):
    """A copy made like the broken entries, but without a defect, passes."""
    for name in set(names) - {"saving", *original.not_applicable}:
        verify(copy, name, request)


def test_every_check_is_tried_on_something_broken():
    def checks(entries_and_names):
        return {getattr(type(e), f"check_{n}") for e, n in entries_and_names}

    every = [(entry, name) for entry in ENTRIES for name in entry.properties()]
    assert checks(every) == checks(BROKEN)


@pytest.mark.parametrize(
    "change",
    [
        {"not_applicable": {"speed": "is not a property"}},
        {"not_applicable": {"xla": ""}},
        {"not_applicable": {"xla": None}},
        {"documented": {"full_moon": 0.0}},
    ],
)
def test_entry_with_a_mistake_is_refused(change):
    with pytest.raises(ValueError, match="property|properties|Give the reason"):
        dataclasses.replace(PROTOTYPICAL, **change)


def test_exemption_that_is_not_needed_is_found():
    entry = dataclasses.replace(
        PROTOTYPICAL, not_applicable={"vector": "out of caution"}
    )
    with pytest.raises(AssertionError, match="remove the exemption"):
        entry.verify("vector")


def test_degenerate_batch_without_documented_value_is_found():
    entry = dataclasses.replace(PROTOTYPICAL, documented={})
    with pytest.raises(AssertionError, match="documented value"):
        entry.verify("one_class")


def test_wrong_example_is_found():
    def wrong():
        """Has an example.

        >>> 1 + 1
        3
        """

    def none():
        """Has no example."""

    for function in (wrong, none):
        with pytest.raises(AssertionError):
            conformance.run_examples(function, "function")
