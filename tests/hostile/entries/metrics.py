"""Metrics."""

import functools

import numpy as np

from embeddings_tf import metrics
from tests.hostile.entries.data import SCORES
from tests.hostile.entries.data import TARGET
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
from tests.hostile.values import function
from tests.hostile.values import labels
from tests.hostile.values import number
from tests.hostile.values import refused
from tests.hostile.values import returning
from tests.hostile.values import same
from tests.hostile.values import seed
from tests.hostile.values import truths

CODES = np.concatenate([X, X[::-1] * 2, X + 1], axis=0)
FACTORS = np.stack([np.tile(Y, 3), np.arange(36) % 2], axis=1).astype(np.int32)
PROBABILITY = np.linspace(0.05, 0.95, 36).reshape(12, 3)
PROBABILITY = PROBABILITY / PROBABILITY.sum(axis=1, keepdims=True)


def factor_values():
    damaged = FACTORS.astype(float)
    damaged[0, 0] = np.nan
    return [
        same("a list", FACTORS.tolist(), FACTORS),
        same("int64", FACTORS.astype(np.int64), FACTORS),
        same("uint8", FACTORS.astype(np.uint8), FACTORS),
        same("from 2^24 + 1", FACTORS + 2**24 + 1, FACTORS),
        either("from 2^53 + 1", FACTORS.astype(np.int64) + 2**53 + 1, FACTORS),
        same("negative", -FACTORS - 5, -FACTORS),
        refused("floats", FACTORS.astype(float)),
        refused("fractions", FACTORS * 0.3),
        refused("NaN", damaged),
        refused("complex", FACTORS + 1j),
        either("strings", FACTORS.astype(str), FACTORS),
        refused("no factor", FACTORS[:, :0]),
        refused("no rows", FACTORS[:0]),
        refused("one row too few", FACTORS[:-1]),
        refused("one more axis", FACTORS[np.newaxis]),
        refused("a ragged list", [[1, 2], [3]]),
        refused("None", None),
        refused("text", "hostile"),
        anything("one value each", np.ones_like(FACTORS)),
        anything("all different", np.arange(72).reshape(36, 2)),
        anything("one factor", FACTORS[:, :1]),
    ]


BINNED = {
    "codes": floats(CODES),
    "factors": factor_values(),
    "bins": [*count(5)],
    "binning": choice("uniform"),
}
CHANCE = {
    "correction": choice("permutation", optional=True),
    "num_permutations": chosen(
        count(20, least=20), "True", "huge", "beyond int64"
    ),
    "seed": seed(),
}
CHANCE_VALID = {
    "correction": "permutation",
    "num_permutations": 20,
    "seed": 0,
}
CODED = rows(CODES, FACTORS, ("codes", "factors"))
SEARCH = {
    "embeddings": floats(X),
    "labels": labels(Y),
    "distance": [*choice("l2"), *returning((12, 12))],
    "gallery": [refused("without labels", X)],
    "gallery_labels": [refused("without gallery", Y)],
    "exclude": [
        refused("text", "hostile"),
        refused("integers", np.zeros((12, 12), int)),
        refused("a vector", np.zeros(12, bool)),
        refused("all of it", np.ones((12, 12), bool)),
        same("nothing", np.zeros((12, 12), bool), None),
        same(
            "nothing, said by a function",
            lambda i, j: np.zeros((len(i), j.shape[1]), bool),
            None,
        ),
        refused("a function of integers", lambda i, j: i + j),
        refused("a function of another shape", lambda i, j: np.zeros(5, bool)),
        refused("a function of None", lambda i, j: None),
    ],
}
PAIRED = rows(X, Y, ("embeddings", "labels"))
# Making a pipeline is slow.
SLOW_FORMS = (
    "a tensor",
    "Fortran order",
    "every second row of an array",
    "read-only",
    "rows backwards in memory",
    "another byte order",
)
FEW_SHOT = {
    # Each call makes a pipeline, so other metrics test the other types.
    "embeddings": chosen(
        floats(X), *SLOW_FORMS, "uint8", "booleans", "float16", "long double"
    ),
    "labels": chosen(labels(Y), *SLOW_FORMS, "int8", "int16", "uint16"),
    "num_support": count(2),
    "num_query": count(1),
    "num_classes": count(3, optional=True),
    "num_episodes": [*chosen(count(2), "huge", "beyond int64")],
    "seed": seed(),
    "gaussian": [
        refused("text", "no"),
        refused("None", None),
        refused("fraction", 0.5),
    ],
    "log_prob": [
        refused("text", "hostile"),
        refused("a number", 3),
        *returning((3, 3)),
    ],
    "query_embeddings": [
        refused("fewer rows", X[:5]),
        refused("NaN", X * np.nan),
        refused("text", "hostile"),
        refused("one axis less", X[0]),
    ],
}
FEW_SHOT_VALID = {
    "embeddings": X,
    "labels": Y,
    "num_support": 2,
    "num_query": 1,
    "num_classes": 3,
    "num_episodes": 2,
    "seed": 0,
    "query_embeddings": X,
    "gaussian": False,
}


def shifted(scores):
    """Scores of trials: infinity is allowed, NaN is not."""
    big = np.arange(10) + 2**53
    return [
        *chosen(
            floats(scores, nan=Expected.ANY), "NaN", "all NaN", "one more axis"
        ),
        refused("NaN", np.where(TARGET, np.nan, scores)),
        refused("a matrix", scores.reshape(2, 5)),
        # Integers beyond 2^53 that differ by 1 are different scores.
        either("int64 from 2^53", big, np.arange(10)),
        either(
            "uint64 from 2^63",
            np.arange(10, dtype=np.uint64) + np.uint64(2**63),
            np.arange(10),
        ),
    ]


def trial_entry(function, more=None, valid=None, **options):
    return Entry(
        function,
        {"scores": SCORES, "is_target": TARGET, **(valid or {})},
        {
            "scores": shifted(SCORES),
            "is_target": truths(TARGET),
            **(more or {}),
        },
        rows(SCORES, TARGET, ("scores", "is_target")),
        **options,
    )


COSTS = {
    "target_prior": number(0.1, low=0, high=1, includes_low=False),
    "miss_cost": number(1.0, low=0, includes_low=False),
    "false_alarm_cost": number(1.0, low=0, includes_low=False),
}
COST = {"target_prior": 0.1, "miss_cost": 1.0, "false_alarm_cost": 1.0}


def rates(scores, is_target):
    """Only the rates, since thresholds equal the given scores."""
    found = metrics.det_curve(scores, is_target)
    return found["false_alarm"], found["miss"]


def only_rate(scores, is_target):
    return metrics.equal_error_rate(scores, is_target)[0]


def histogram(scores, is_target, num_bits, **costs):
    made = metrics.TrialHistogram(num_bits)
    made.update(scores, is_target)
    return made.equal_error_rate()[0], made.roc_auc(), made.min_dcf(**costs)


def streamed(**arguments):
    found = []
    number = metrics.stream_trials(
        update=lambda scores, is_target: found.append(
            (scores.copy(), is_target.copy())
        ),
        **arguments,
    )
    return number, found


def score(a, b):
    return a @ np.transpose(b)


def score_rows(a, b):
    return np.sum(np.asarray(a) * np.asarray(b), axis=1)


def two(function, tolerance=1e-5):
    return Entry(
        function,
        {"first": X, "second": X[::-1].copy()},
        {
            "first": [*floats(X), refused("other dimensions", X[:, :3])],
            "second": [*floats(X[::-1].copy())],
        },
        tolerance=tolerance,
    )


def conformal(**arguments):
    """Only the rate, since thresholds equal the given scores."""
    return metrics.conformal_threshold(**arguments)["calibration_rate"]


def reached(scores, is_target, false_accept_rate):
    """Only the rates, since thresholds equal the given scores."""
    threshold = metrics.threshold_at_false_accept_rate(
        scores, is_target, false_accept_rate
    )
    return metrics.error_rates(scores, is_target, threshold)


def accepted(**arguments):
    """Only the share, since no threshold at all is infinity."""
    return metrics.learn_then_test(**arguments)["accepted"]


# Trees and support vector machines depend on the scale.
LARGE = ("times 1e19", "times 1e38", "times 1e-40")
CALIBRATION = np.arange(12) % 4
NAMES = [f"r{i}" for i in range(12)]
TRIALS = [("r0", "r1"), ("r0", "r5"), ("r7", "r2")]
UNIT = np.linspace(0.01, 0.99, 12, dtype=np.float32)
WRONG = np.arange(12) % 3 == 0
REPEATED = np.repeat(np.arange(5), 2)

ENTRIES = {
    "metrics.TrialHistogram": trial_entry(
        histogram,
        {"num_bits": chosen(count(12), "huge", "beyond int64"), **COSTS},
        {"num_bits": 12, **COST},
        known={"from 2^": "a histogram bins scores; ties are documented"},
    ),
    "metrics.assign_clusters": Entry(
        metrics.assign_clusters,
        {"embeddings": X, "centroids": X[::4]},
        {
            "embeddings": [*floats(X), refused("narrower", X[:, :3])],
            "centroids": floats(X[::4]),
            "score": [
                refused("text", "l2"),
                refused("a number", 3),
                *returning((12, 3)),
            ],
        },
    ),
    "metrics.best_rotation": Entry(
        metrics.best_rotation,
        {
            "codes": CODES[:, :2],
            "factors": FACTORS,
            "bins": 5,
            "step": 30.0,
            "binning": "uniform",
        },
        {
            **BINNED,
            "codes": floats(CODES[:, :2]),
            "step": chosen(number(30.0, low=0, includes_low=False), "1e-40"),
        },
        CODED,
    ),
    "metrics.bootstrap_interval": trial_entry(
        functools.partial(metrics.bootstrap_interval, metrics.roc_auc),
        {
            "groups": [
                refused("fractions", REPEATED + 0.5),
                refused("one too few", REPEATED[:-1]),
                refused("all the same", REPEATED * 0),
                refused("three columns", np.stack([REPEATED] * 3, axis=1)),
                refused("text", "hostile"),
            ],
            "level": number(0.9, low=0, high=1, includes_low=False),
            "num_resamples": chosen(count(20), "huge", "beyond int64"),
            "seed": seed(),
        },
        {"groups": REPEATED, "level": 0.9, "num_resamples": 20, "seed": 0},
    ),
    "metrics.bootstrap_interval.measure": Entry(
        lambda measure: metrics.bootstrap_interval(
            measure, SCORES, TARGET, num_resamples=5
        ),
        {"measure": metrics.roc_auc},
        {"measure": [*function(), *chosen(returning(3), "returns a scalar")]},
    ),
    "metrics.chance_information": Entry(
        metrics.chance_information,
        {
            "codes": CODES,
            "factors": FACTORS,
            "bins": 5,
            "binning": "uniform",
            "min_probability": 0.0,
            "num_permutations": 20,
            "seed": 0,
        },
        {
            **BINNED,
            "min_probability": number(0.0, low=0, high=1),
            "num_permutations": chosen(
                count(20, least=20), "True", "huge", "beyond int64"
            ),
            "seed": seed(),
        },
        CODED,
    ),
    "metrics.cllr": trial_entry(
        metrics.cllr,
        {
            "scores": chosen(
                shifted(SCORES), "int64 from 2^53", "uint64 from 2^63"
            )
        },
        infinite=True,
    ),
    "metrics.min_cllr": trial_entry(metrics.min_cllr),
    "metrics.error_rates": trial_entry(
        metrics.error_rates,
        {
            "threshold": number(0.5, infinite=True),
            "scores": chosen(
                shifted(SCORES), "int64 from 2^53", "uint64 from 2^63"
            ),
        },
        {"threshold": 0.5},
    ),
    "metrics.threshold_at_false_accept_rate": trial_entry(
        reached,
        {"false_accept_rate": number(0.4, low=0, high=1, includes_low=False)},
        {"false_accept_rate": 0.4},
    ),
    "metrics.likelihood_ratio_curve": trial_entry(
        metrics.likelihood_ratio_curve,
        {
            "scores": chosen(floats(SCORES), "int8", "uint8", "booleans"),
            "num_bins": count(3),
        },
        {"num_bins": 3},
    ),
    "metrics.learn_then_test": Entry(
        accepted,
        {
            "confidence": UNIT,
            "is_error": WRONG,
            "classes": CALIBRATION,
            "thresholds": [0.0, 0.5],
            "error_rate": 0.9,
            "level": 0.1,
        },
        {
            "confidence": floats(UNIT),
            "is_error": truths(WRONG),
            "classes": chosen(
                labels(CALIBRATION), "strings", "a column", "None"
            ),
            "thresholds": floats(np.float32([0.0, 0.5])),
            "error_rate": number(0.9, low=0, high=1, includes_low=False),
            "level": number(0.1, low=0, high=1, includes_low=False),
        },
        rows(UNIT, WRONG, ("confidence", "is_error")),
    ),
    "metrics.out_of_distribution_fpr": Entry(
        metrics.out_of_distribution_fpr,
        {"known": UNIT, "unknown": UNIT + 0.1, "true_positive_rate": 0.5},
        {
            "known": floats(UNIT),
            "unknown": floats(UNIT + 0.1),
            "true_positive_rate": number(
                0.5, low=0, high=1, includes_low=False
            ),
        },
    ),
    "metrics.mutual_information_gap": Entry(
        metrics.mutual_information_gap,
        {"codes": CODES, "factors": FACTORS, "bins": 5},
        {
            "codes": floats(CODES),
            "factors": factor_values(),
            "bins": [*count(5)],
        },
        CODED,
    ),
    "metrics.separated_attribute_predictability": Entry(
        metrics.separated_attribute_predictability,
        {"codes": CODES, "factors": FACTORS},
        {
            "codes": chosen(floats(CODES), *LARGE),
            "factors": factor_values(),
            "test_codes": [refused("alone", CODES)],
            "test_factors": [refused("alone", FACTORS)],
        },
        CODED,
    ),
    "metrics.dci": Entry(
        metrics.dci,
        {"codes": CODES, "factors": FACTORS, "seed": 0},
        {
            # Each call fits trees, so other metrics test the other forms.
            "codes": chosen(floats(CODES), *LARGE, *SLOW_FORMS, "int8"),
            "factors": chosen(
                factor_values(), "all different", "from 2^24 + 1", "uint8"
            ),
            "test_codes": [refused("alone", CODES)],
            "test_factors": [refused("alone", FACTORS)],
            "seed": seed(),
        },
        CODED,
        tolerance=0.01,
    ),
    "metrics.class_means": Entry(
        metrics.class_means,
        {"embeddings": X, "labels": Y},
        {"embeddings": floats(X), "labels": labels(Y)},
        PAIRED,
    ),
    "metrics.conformal_threshold": Entry(
        conformal,
        {"scores": X[:, 0], "classes": CALIBRATION, "false_accept_rate": 0.4},
        {
            "scores": floats(X[:, 0]),
            "classes": chosen(labels(CALIBRATION), "strings", "a column")
            + [same("strings", CALIBRATION.astype(str), CALIBRATION)],
            "false_accept_rate": number(0.4, low=0, high=1, includes_low=False),
        },
        rows(X[:, 0], CALIBRATION, ("scores", "classes")),
    ),
    "metrics.confidence_interval": Entry(
        metrics.confidence_interval,
        {"values": UNIT, "level": 0.9},
        {
            "values": floats(UNIT),
            "level": number(0.9, low=0, high=1, includes_low=False),
        },
    ),
    "metrics.within_subject_interval": Entry(
        metrics.within_subject_interval,
        {"values": CODES, "level": 0.9},
        {
            "values": floats(CODES),
            "level": number(0.9, low=0, high=1, includes_low=False),
        },
    ),
    "metrics.cosine_score_pairs": two(metrics.cosine_score_pairs),
    "metrics.cosine_scores": two(metrics.cosine_scores),
    "metrics.det_curve": trial_entry(rates),
    "metrics.distance_properties": Entry(
        metrics.distance_properties,
        {"distance": np.abs(X @ X.T), "num_items": 8, "seed": 0},
        {
            "distance": chosen(
                floats(np.abs(X @ X.T)), "int8", "int64", "times 1e38"
            )
            + [refused("not square", X)],
            "num_items": count(8),
            "seed": seed(),
        },
    ),
    "metrics.equal_error_rate": trial_entry(only_rate),
    "metrics.error_versus_reject": Entry(
        metrics.error_versus_reject,
        {"uncertainty": UNIT, "is_error": WRONG},
        {"uncertainty": floats(UNIT), "is_error": truths(WRONG)},
        rows(UNIT, WRONG, ("uncertainty", "is_error")),
    ),
    "metrics.area_under_risk_coverage": Entry(
        metrics.area_under_risk_coverage,
        {"uncertainty": UNIT, "is_error": WRONG},
        {"uncertainty": floats(UNIT), "is_error": truths(WRONG)},
        rows(UNIT, WRONG, ("uncertainty", "is_error")),
    ),
    "metrics.out_of_distribution_auroc": Entry(
        metrics.out_of_distribution_auroc,
        {"known": UNIT, "unknown": UNIT + 0.1},
        {"known": floats(UNIT), "unknown": floats(UNIT + 0.1)},
    ),
    "metrics.recall_auroc": Entry(
        metrics.recall_auroc,
        {
            "uncertainty": UNIT,
            "embeddings": X,
            "labels": Y,
            "distance": "l2",
            "exclude": None,
        },
        {**SEARCH, "uncertainty": floats(UNIT)},
        PAIRED,
    ),
    "metrics.expected_calibration_error": Entry(
        metrics.expected_calibration_error,
        {"probabilities": PROBABILITY, "labels": Y, "num_bins": 5},
        {
            "probabilities": chosen(
                floats(PROBABILITY),
                "float16",
                "bfloat16",
            )
            + [
                refused("negative", -PROBABILITY),
                refused("above 1", PROBABILITY + 1),
            ],
            "labels": [
                *labels(Y, arbitrary=False),
                refused("no column", Y + 1),
                refused("negative", Y - 1),
            ],
            "num_bins": count(5),
        },
        rows(PROBABILITY, Y, ("probabilities", "labels")),
    ),
    "metrics.explicitness": Entry(
        metrics.explicitness,
        {"codes": CODES, "factors": FACTORS, "variant": "paper"},
        {
            "codes": floats(CODES),
            "factors": factor_values(),
            "variant": choice("paper"),
            "test_codes": [refused("alone", CODES)],
            "test_factors": [refused("alone", FACTORS)],
        },
        CODED,
        tolerance=1e-3,
    ),
    "metrics.explicitness_by_value": Entry(
        lambda **k: metrics.explicitness_by_value(**k)["auc"],
        {"codes": CODES, "factors": FACTORS, "variant": "paper"},
        {
            "codes": chosen(floats(CODES)),
            "variant": choice("paper"),
        },
        CODED,
        tolerance=1e-3,
    ),
    "metrics.few_shot_accuracy": Entry(
        metrics.few_shot_accuracy, FEW_SHOT_VALID, FEW_SHOT, PAIRED
    ),
    "metrics.few_shot_episodes": Entry(
        lambda **k: list(metrics.few_shot_episodes(**k)),
        FEW_SHOT_VALID,
        {"num_support": count(2), "log_prob": FEW_SHOT["log_prob"]},
        tolerance=1e-4,
        infinite=True,
    ),
    "metrics.fuse_scores": Entry(
        metrics.fuse_scores,
        {"probability": UNIT, "cosine": 2 * UNIT - 1},
        {
            "probability": [
                *chosen(floats(UNIT), "one more axis"),
                refused("above 1", UNIT + 1),
                refused("negative", -UNIT),
            ],
            "cosine": [
                *chosen(floats(2 * UNIT - 1), "one more axis"),
                refused("above 1", UNIT + 1),
            ],
        },
        rows(UNIT, 2 * UNIT - 1, ("probability", "cosine")),
    ),
    "metrics.k_means_centroids": Entry(
        metrics.k_means_centroids,
        {"embeddings": X, "num_clusters": 3, "seed": 0, "num_starts": 3},
        {
            "embeddings": floats(X),
            "num_clusters": [*count(3), refused("more than rows", 13)],
            "seed": seed(),
            "num_starts": chosen(count(3), "huge", "beyond int64"),
        },
        tolerance=1e-4,
    ),
    "metrics.mean_average_precision": Entry(
        metrics.mean_average_precision,
        {
            "embeddings": X,
            "labels": Y,
            "distance": "l2",
            "rule": "step",
            "exclude": None,
        },
        {**SEARCH, "rule": choice("step")},
        PAIRED,
    ),
    "metrics.min_dcf": trial_entry(metrics.min_dcf, COSTS, COST),
    "metrics.modularity": Entry(
        metrics.modularity,
        {
            "codes": CODES,
            "factors": FACTORS,
            "bins": 5,
            "binning": "uniform",
            "min_probability": 0.0,
            **CHANCE_VALID,
        },
        {
            **BINNED,
            **CHANCE,
            **CHANCE,
            "min_probability": number(0.0, low=0, high=1),
        },
        CODED,
    ),
    "metrics.mutual_information": Entry(
        metrics.mutual_information,
        {
            "codes": CODES,
            "factors": FACTORS,
            "bins": 5,
            "binning": "uniform",
            "min_probability": 0.0,
            **CHANCE_VALID,
        },
        {
            **BINNED,
            **CHANCE,
            **CHANCE,
            "min_probability": number(0.0, low=0, high=1),
        },
        CODED,
    ),
    "metrics.normalized_mutual_information": Entry(
        metrics.normalized_mutual_information,
        {"labels": Y, "clusters": Y[::-1].copy()},
        {"labels": labels(Y), "clusters": labels(Y[::-1].copy())},
        rows(Y, Y, ("labels", "clusters")),
    ),
    "metrics.recall_at_k": Entry(
        metrics.recall_at_k,
        {
            "embeddings": X,
            "labels": Y,
            "k": (1, 3),
            "distance": "l2",
            "exclude": None,
            "progress": None,
        },
        {
            **SEARCH,
            "progress": [
                refused("a number", 1),
                same("a function", lambda count: None, None),
            ],
            "k": [
                same("a list", [1, 3], (1, 3)),
                same("an array", np.array([1, 3]), (1, 3)),
                same("twice", (1, 3, 1), (1, 3)),
                refused("0", (0, 1)),
                refused("none", ()),
                refused("fractions", (1.5,)),
                refused("text", "1"),
                refused("None", None),
                refused("True", True),
                refused("NaN", np.nan),
                refused("ragged", [[1], [1, 2]]),
                anything("more than the gallery", 50),
                anything("huge", 2**62),
                anything("beyond int64", 2**70),
            ],
        },
        PAIRED,
    ),
    "metrics.recall_at_k.gallery": Entry(
        metrics.recall_at_k,
        {
            "embeddings": X,
            "labels": Y,
            "gallery": X[::-1] + 0.1,
            "gallery_labels": Y[::-1].copy(),
            "distance": "cosine",
        },
        {
            "embeddings": chosen(floats(X)),
            "gallery": [*floats(X[::-1] + 0.1), refused("narrower", X[:, :3])],
            "gallery_labels": [
                *chosen(labels(Y[::-1].copy(), arbitrary=False)),
                refused("of other classes", Y + 10),
            ],
        },
    ),
    "metrics.reliability_curve": Entry(
        lambda **k: {
            name: np.nan_to_num(value)  # NaN for an empty bin
            for name, value in metrics.reliability_curve(**k).items()
        },
        {"probabilities": PROBABILITY, "labels": Y, "num_bins": 5},
        {
            "probabilities": chosen(floats(PROBABILITY), "float16", "bfloat16"),
            "labels": [
                *labels(Y, arbitrary=False),
                refused("no column", Y + 1),
            ],
            "num_bins": chosen(count(5), "huge", "beyond int64"),
        },
    ),
    "metrics.roc_auc": trial_entry(metrics.roc_auc),
    "metrics.score_all_pairs": Entry(
        metrics.score_all_pairs,
        {"score": score, "first": X, "second": X[:5], "block_size": 4},
        {
            "score": [*function(), *returning((4, 5))],
            "first": [*floats(X), refused("narrower", X[:, :3])],
            "second": chosen(floats(X[:5], optional=True)),
            "block_size": count(4),
        },
    ),
    "metrics.score_enrollments": Entry(
        metrics.score_enrollments,
        {
            "score": score,
            "enroll": X,
            "enroll_labels": Y,
            "test": X[:5],
            "combine": "embedding",
            "block_size": 4,
        },
        {
            "score": [*function(), *returning((3, 5))],
            "enroll": [*floats(X), refused("narrower", X[:, :3])],
            "enroll_labels": labels(Y, arbitrary=False),
            "test": floats(X[:5]),
            "combine": choice("embedding"),
            "block_size": count(4),
        },
    ),
    "metrics.score_trials": Entry(
        metrics.score_trials,
        {
            "score_pairs": score_rows,
            "embeddings": X,
            "names": NAMES,
            "trials": TRIALS,
            "block_size": 2,
        },
        {
            "score_pairs": [*function(), *returning(2)],
            "embeddings": floats(X),
            "names": [
                same("an array", np.array(NAMES), NAMES),
                refused("twice", ["r0"] * 12),
                refused("too few", NAMES[:5]),
                refused("others", [f"x{i}" for i in range(12)]),
                refused("None", None),
                refused("a number", 3),
            ],
            "trials": [
                same("an array", np.array(TRIALS), TRIALS),
                refused("unknown", [("r0", "other")]),
                refused("none", []),
                refused("one name", [("r0",)]),
                refused("ragged", [("r0", "r1"), ("r2",)]),
                refused("numbers", [(1, 2)]),
                refused("None", None),
                refused("text", "r0 r1"),
                refused("a number", 3),
            ],
            "block_size": count(2),
        },
    ),
    "metrics.single_dimension_auc": Entry(
        metrics.single_dimension_auc,
        {"codes": CODES, "factors": FACTORS},
        {"codes": floats(CODES), "factors": factor_values()},
        CODED,
    ),
    "metrics.single_dimension_auc_by_value": Entry(
        lambda **k: metrics.single_dimension_auc_by_value(**k)["auc"],
        {"codes": CODES, "factors": FACTORS},
        {"codes": floats(CODES), "factors": factor_values()},
        CODED,
    ),
    "metrics.stream_trials": Entry(
        streamed,
        {"score": score, "embeddings": X, "labels": Y, "block_size": 5},
        {
            "score": [*function(), *returning((5, 5))],
            "embeddings": floats(X),
            "labels": labels(Y),
            "test": [refused("alone", X)],
            "test_labels": [refused("alone", Y)],
            "block_size": count(5),
        },
        PAIRED,
        infinite=True,  # its own score function returns infinity
    ),
    "metrics.stream_trials.update": Entry(
        lambda update: metrics.stream_trials(score, X, Y, update),
        {"update": lambda scores, is_target: None},
        {"update": function()},
    ),
}
