"""Objectives: their loss values and their methods."""

import numpy as np
import tensorflow as tf

from embeddings_tf import layers
from embeddings_tf import objectives
from tests.hostile.entries.data import PACKED
from tests.hostile.entries.data import X
from tests.hostile.entries.data import Y
from tests.hostile.entries.data import rows
from tests.hostile.entries.losses import LABELS
from tests.hostile.judging import Entry
from tests.hostile.values import Expected
from tests.hostile.values import anything
from tests.hostile.values import choice
from tests.hostile.values import chosen
from tests.hostile.values import count
from tests.hostile.values import floats
from tests.hostile.values import number
from tests.hostile.values import refused
from tests.hostile.values import seed


def embeddings(x, *more):
    """Keras reads nested lists as several inputs."""
    return [
        *chosen(
            floats(x, nan=Expected.POISON),
            "a list",
            "no rows",
            "no columns",
            # A variance must not be negative.
            *(("int8", "booleans", "times 1e38") if x is PACKED else ()),
        ),
        refused("images", x.reshape(12, 1, -1, 1)),
        refused("fewer rows", x[:5]),
        refused("one row", x[:1]),
        *more,
    ]


ODD = refused("an odd width", PACKED[:, :3])
LABELS_OF_12 = chosen(LABELS, "a list")
NO_LABELS = ("None", "text", "a dictionary", "a ragged list", "an object")


def together(x):
    return tuple(
        (name, changes)
        for name, changes in rows(x, Y, ("y_pred", "y_true"))
        if name != "no rows"
    )


def stochastic(y_true, y_pred, **arguments):
    return objectives.StochasticPrototypes(**arguments)(y_true, y_pred)


def prototypes(packed, labels, num_classes):
    objective = objectives.StochasticPrototypes(2)
    return objective.prototypes(packed, labels, num_classes)


def log_prob(packed_queries, packed_prototypes, num_samples, seed, sampler):
    objective = objectives.StochasticPrototypes(2)
    return objective.log_prob(
        packed_queries, packed_prototypes, num_samples, seed, sampler=sampler
    )


class Own(objectives.EmbeddingObjective):
    def build(self, y_true_shape, y_pred_shape):
        self.scale = self.add_weight(name="scale", initializer="ones")

    def call(self, y_true, y_pred):
        return self.scale * tf.reduce_sum(y_pred / 100, axis=1)


def own(y_true, y_pred):
    return Own()(y_true, y_pred)


def hedged(y_true, y_pred, **arguments):
    return objectives.HedgedInstances(**arguments)(y_true, y_pred)


def full(y_true, y_pred, **arguments):
    return objectives.FullCovariancePrototypes(**arguments)(y_true, y_pred)


def hedged_log_prob(**arguments):
    return objectives.HedgedInstances(4).log_prob(**arguments)


def soft(y_true, y_pred):
    return objectives.SoftContrastive()(y_true, y_pred)


def soft_log_prob(**arguments):
    return objectives.SoftContrastive().log_prob(**arguments)


def learned(y_true, y_pred, hidden_units=(4,), **arguments):
    distance = arguments.pop("distance", None) or layers.PairDistance(
        hidden_units, seed=1
    )
    return objectives.LearnedDistance(distance, **arguments)(
        y_true, y_pred, training=False
    )


def distance_or(distance):
    return objectives.LearnedDistance(
        layers.PairDistance((4,), seed=1) if distance == "valid" else distance
    )(Y, X, training=False)


IDS = [
    h
    for h in LABELS
    if h.name
    in (
        "fractions",
        "NaN",
        "one row too few",
        "strings",
        "a scalar",
        "complex",
        "None",
        "a ragged list",
    )
]
USUAL_ROWS = (
    "a tensor",
    "float64",
    "float16",
    "long double",
    "complex",
    "strings",
    "text",
    "None",
    "a ragged list",
    "NaN",
    "one axis less",
    "a scalar",
    "Python objects",
    "times 1e-40",
    "times 1e19",
)


def few(x):
    """The values of `floats` that differ most from each other."""
    values = floats(x, nan=Expected.POISON)
    return [value for value in values if value.name in USUAL_ROWS]


PACKED_ROWS = [*few(PACKED), ODD]
POINTS = few(X)
# Means, raw variances and raw correlations.
FULL = np.concatenate([X, X[:, :1]], axis=1)
FULL_ROWS = [*few(FULL), refused("no correlation", FULL[:, :4])]
# Means, variances and covariances of three classes.
FULL_CLASSES = np.float32([[0, 1, 2, 3, 1], [1, 0, 2, 3, 1], [1, 1, 2, 2, 0]])
NUM_CLASSES = [
    *chosen(count(3), "True", "huge", "beyond int64"),
    refused("a class without support", 4),
]
OF_THREE = [*IDS, refused("a class beyond", Y + 1), refused("negative", Y - 1)]
NUM_SAMPLES = chosen(count(3, optional=True), "huge", "beyond int64")


def stochastic_method(name):
    return lambda **a: getattr(objectives.StochasticPrototypes(2), name)(**a)


def hedged_method(name):
    return lambda **a: getattr(objectives.HedgedInstances(4), name)(**a)


def full_method(name):
    return lambda **a: getattr(objectives.FullCovariancePrototypes(2), name)(
        **a
    )


def soft_method(name):
    return lambda **a: getattr(objectives.SoftContrastive(), name)(**a)


def learned_method(name):
    def call(**arguments):
        distance = layers.PairDistance((4,), seed=1)
        objective = objectives.LearnedDistance(distance)
        return getattr(objective, name)(**arguments)

    return call


def methods(name, method, x, embeddings):
    """Entries of the methods that every objective calls alike.

    Args:
        name: The class.
        method: Function from a name to a call of the method.
        x: Valid embeddings.
        embeddings: Hostile ones.
    """
    samples, hostile_samples = {}, {}
    if name == "HedgedInstances":
        samples = {"num_samples": 2, "seed": 1}
        hostile_samples = {
            "num_samples": NUM_SAMPLES,
            "seed": chosen(seed(1, optional=True)),
        }
    represent = {"embeddings": x, "class_ids": Y, "num_classes": 3}
    pair = {"first": x, "second": x[::-1].copy()}
    return {
        f"objectives.{name}.represent": Entry(
            method("represent"),
            represent,
            {
                "embeddings": embeddings,
                "class_ids": OF_THREE,
                "num_classes": NUM_CLASSES,
            },
        ),
        f"objectives.{name}.score_pairs": Entry(
            method("score_pairs"),
            {**pair, **samples},
            {
                "first": [*embeddings, refused("fewer", x[:5])],
                "second": [*few(x[::-1].copy()), refused("narrower", x[:, :2])],
                **hostile_samples,
            },
        ),
    }


ENTRIES = {
    "objectives.EmbeddingObjective": Entry(
        own,
        {"y_true": Y, "y_pred": X},
        {"y_true": LABELS_OF_12, "y_pred": embeddings(X)},
        together(X),
    ),
    "objectives.StochasticPrototypes": Entry(
        stochastic,
        {
            "y_true": Y,
            "y_pred": PACKED,
            "num_support": 2,
            "sampler": "intersection",
            "num_samples": 2,
            "initial_noise_variance": 0.1,
            "noise_transform": "softplus",
            "beta": 0.1,
            "seed": 1,
        },
        {
            "y_true": LABELS_OF_12,
            "y_pred": embeddings(PACKED, ODD),
            "num_support": count(2),
            "sampler": choice("intersection"),
            "num_samples": chosen(count(2), "huge", "beyond int64"),
            "initial_noise_variance": number(
                0.1, low=0, includes_low=False, optional=True
            ),
            "noise_transform": choice("softplus"),
            "beta": number(0.1, low=0),
            "seed": seed(1, optional=True),
        },
        together(PACKED),
        # Samples depend on the position of a class in the batch.
        tolerance=1e-4,
    ),
    "objectives.StochasticPrototypes.prototypes": Entry(
        prototypes,
        {"packed": PACKED, "labels": Y, "num_classes": 3},
        {
            "packed": PACKED_ROWS,
            "labels": [
                *IDS,
                refused("a class beyond", Y + 1),
                refused("negative", Y - 1),
            ],
            "num_classes": [
                *chosen(count(3), "True", "huge", "beyond int64"),
                refused("a class without support", 4),
            ],
        },
    ),
    "objectives.StochasticPrototypes.log_prob": Entry(
        log_prob,
        {
            "packed_queries": PACKED,
            "packed_prototypes": PACKED[::4],
            "num_samples": 3,
            "seed": 1,
            "sampler": "naive",
        },
        {
            "packed_queries": PACKED_ROWS,
            "packed_prototypes": [refused("narrower", PACKED[:, :2])],
            "num_samples": chosen(count(3), "huge", "beyond int64"),
            "seed": chosen(seed(1, optional=True)),
            "sampler": choice("naive"),
        },
    ),
    "objectives.HedgedInstances": Entry(
        hedged,
        {
            "y_true": Y,
            "y_pred": PACKED,
            "num_samples": 3,
            "beta": 1e-3,
            "average": "probability",
            "seed": 1,
        },
        {
            "y_true": LABELS_OF_12,
            "y_pred": embeddings(PACKED, ODD),
            "num_samples": chosen(count(3), "huge", "beyond int64"),
            "beta": number(1e-3, low=0),
            "average": choice("probability"),
            "seed": seed(1, optional=True),
        },
        together(PACKED),
        tolerance=1e-4,
    ),
    "objectives.HedgedInstances.log_prob": Entry(
        hedged_log_prob,
        {
            "queries": PACKED[:5],
            "supports": PACKED,
            "class_ids": Y,
            "num_classes": 3,
            "num_samples": 2,
            "seed": 1,
        },
        {
            "queries": PACKED_ROWS,
            "class_ids": [
                *IDS,
                refused("a class beyond", Y + 1),
                refused("negative", Y - 1),
            ],
            "num_classes": [
                *chosen(count(3), "True", "huge", "beyond int64"),
                refused("a class without support", 4),
            ],
            "num_samples": chosen(
                count(2, optional=True), "huge", "beyond int64"
            ),
        },
    ),
    "objectives.SoftContrastive": Entry(
        soft,
        {"y_true": Y, "y_pred": X},
        {"y_true": LABELS_OF_12, "y_pred": embeddings(X)},
        together(X),
    ),
    "objectives.SoftContrastive.log_prob": Entry(
        soft_log_prob,
        {
            "queries": X[:5],
            "supports": X,
            "class_ids": Y,
            "num_classes": 3,
        },
        {
            "queries": POINTS,
            "class_ids": [
                *IDS,
                refused("a class beyond", Y + 1),
                refused("negative", Y - 1),
            ],
            "num_classes": [
                *chosen(count(3), "True", "huge", "beyond int64"),
                refused("a class without support", 4),
            ],
        },
    ),
    "objectives.LearnedDistance": Entry(
        learned,
        {
            "y_true": Y,
            "y_pred": X,
            "num_classes": 3,
            "auxiliary": "softmax",
            "label_smoothing": 0.1,
            "pair_weighting": "balanced",
            "divergence": "jensen_shannon",
            "train_encoder": True,
            "updates": "simultaneous",
            "seed": 1,
        },
        {
            "y_true": [
                # With a classifier, class ids are columns of its weights.
                *(
                    h
                    for h in LABELS_OF_12
                    if "from" not in h.name
                    and "2^" not in h.name
                    and h.name != "all different"
                ),
                refused("a class beyond", Y + 1),
                refused("negative", Y - 1),
            ],
            "y_pred": embeddings(X),
            "num_classes": [
                *chosen(count(3), "True", "huge", "beyond int64"),
                refused("one", 1),
            ],
            "auxiliary": choice("softmax", optional=True),
            "label_smoothing": number(0.1, low=0, high=1),
            "pair_weighting": choice("balanced"),
            "divergence": choice("jensen_shannon"),
            "projection": [refused("text", "hostile"), refused("3", 3)],
            "encoder_loss": [refused("text", "hostile"), refused("3", 3)],
            "train_encoder": [refused("text", "no"), refused("a number", 0.5)],
            "updates": choice("simultaneous"),
            "seed": seed(1, optional=True),
        },
        together(X),
    ),
    **methods(
        "StochasticPrototypes",
        stochastic_method,
        PACKED,
        PACKED_ROWS,
    ),
    "objectives.StochasticPrototypes.log_evidence": Entry(
        stochastic_method("log_evidence"),
        {"queries": PACKED, "prototypes": PACKED[::4]},
        {
            "queries": PACKED_ROWS,
            "prototypes": [
                *few(PACKED[::4]),
                refused("narrower", PACKED[:, :2]),
            ],
        },
    ),
    **methods(
        "HedgedInstances",
        hedged_method,
        PACKED,
        PACKED_ROWS,
    ),
    **{
        f"objectives.HedgedInstances.{name}": Entry(
            hedged_method(name),
            {
                "first": PACKED[:5],
                "second": PACKED,
                "num_samples": 2,
                "seed": 1,
            },
            {
                "first": PACKED_ROWS,
                "second": [*few(PACKED), refused("odd", PACKED[:, :3])],
                "num_samples": NUM_SAMPLES,
                "seed": chosen(seed(1, optional=True)),
            },
        )
        for name in ("match_log_probability", "score_all_pairs")
    },
    "objectives.HedgedInstances.log_evidence": Entry(
        hedged_method("log_evidence"),
        {
            "queries": PACKED[:5],
            "supports": PACKED,
            "class_ids": Y,
            "num_classes": 3,
            "num_samples": 2,
            "seed": 1,
        },
        {
            "queries": PACKED_ROWS,
            "supports": few(PACKED),
            "class_ids": OF_THREE,
            "num_classes": NUM_CLASSES,
            "num_samples": NUM_SAMPLES,
        },
    ),
    "objectives.FullCovariancePrototypes": Entry(
        full,
        {
            "y_true": Y,
            "y_pred": FULL,
            "num_support": 2,
            "num_samples": 2,
            "seed": 1,
        },
        {
            "y_true": LABELS_OF_12,
            "y_pred": embeddings(FULL, refused("no correlation", FULL[:, :4])),
            "num_support": count(2),
            "num_samples": chosen(count(2), "huge", "beyond int64"),
            "seed": seed(1, optional=True),
        },
        together(FULL),
        # Samples depend on the position of a class in the batch.
        tolerance=1e-4,
    ),
    **methods(
        "FullCovariancePrototypes",
        full_method,
        FULL,
        FULL_ROWS,
    ),
    **{
        f"objectives.FullCovariancePrototypes.{name}": Entry(
            full_method(name),
            {"embeddings": FULL},
            # Other columns than the one with NaN are right.
            {"embeddings": [h for h in FULL_ROWS if h.name != "NaN"]},
        )
        for name in ("points", "variances")
    },
    **{
        f"objectives.FullCovariancePrototypes.{name}": Entry(
            full_method(name),
            {
                "queries": FULL,
                "prototypes": FULL_CLASSES,
                **samples,
            },
            {
                "queries": FULL_ROWS,
                "prototypes": [refused("narrower", FULL_CLASSES[:, :4])],
                **(
                    {
                        "num_samples": chosen(count(3), "huge", "beyond int64"),
                        "seed": chosen(seed(1, optional=True)),
                    }
                    if samples
                    else {}
                ),
            },
        )
        for name, samples in {
            "log_prob": {"num_samples": 3, "seed": 1},
            "log_evidence": {},
        }.items()
    },
    **methods(
        "SoftContrastive",
        soft_method,
        X,
        POINTS,
    ),
    "objectives.SoftContrastive.score_all_pairs": Entry(
        soft_method("score_all_pairs"),
        {"first": X[:5], "second": X},
        {
            "first": POINTS,
            "second": [*POINTS, refused("narrower", X[:, :2])],
        },
    ),
    "objectives.SoftContrastive.log_evidence": Entry(
        soft_method("log_evidence"),
        {
            "queries": X[:5],
            "supports": X,
            "class_ids": Y,
            "num_classes": 3,
        },
        {
            "queries": [*POINTS, refused("narrower", X[:, :2])],
            "supports": POINTS,
            "class_ids": OF_THREE,
            "num_classes": NUM_CLASSES,
        },
    ),
    **methods(
        "LearnedDistance",
        learned_method,
        X,
        POINTS,
    ),
    "objectives.LearnedDistance.score_all_pairs": Entry(
        learned_method("score_all_pairs"),
        {"first": X[:5], "second": X},
        {
            "first": few(X),
            "second": [*few(X), refused("narrower", X[:, :2])],
        },
    ),
    **{
        f"objectives.LearnedDistance.{name}": Entry(
            learned_method(name),
            {
                "queries": X[:5],
                "supports": X,
                "class_ids": Y,
                "num_classes": 3,
            },
            {
                "queries": [*few(X), refused("narrower", X[:, :2])],
                "supports": few(X),
                "class_ids": OF_THREE,
                "num_classes": NUM_CLASSES,
            },
        )
        for name in ("log_prob", "log_evidence")
    },
    "objectives.LearnedDistance.distance": Entry(
        distance_or,
        {"distance": "valid"},
        {
            "distance": [
                refused("None", None),
                refused("text", "l2"),
                refused("a class", layers.PairDistance),
                refused("a loss", np.ones(3)),
                anything("another", layers.PairDistance((2,), seed=2)),
            ]
        },
    ),
}
