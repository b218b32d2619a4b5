"""Figures: the numbers that they show."""

import numpy as np

from embeddings_tf import metrics
from embeddings_tf import viz
from tests.hostile.entries.data import SCORES
from tests.hostile.entries.data import TARGET
from tests.hostile.entries.data import X
from tests.hostile.entries.data import Y
from tests.hostile.entries.data import folder
from tests.hostile.judging import Entry
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

FOLDER = folder()
(FOLDER / "file").write_text("hostile")
PICTURE = np.arange(16.0).reshape(4, 4)
NO_MAPPING = [
    refused("empty", {}),
    refused("None", None),
    refused("text", "hostile"),
    refused("a number", 3),
    refused("an array", np.ones(3)),
]
# Drawing is slow; the metrics already test most forms.
CHEAP = (
    "a tensor",
    "a list",
    "float64",
    "NaN",
    "infinity",
    "complex",
    "strings",
    "text",
    "None",
    "a ragged list",
    "a scalar",
    "no rows",
    "one more axis",
    "one axis less",
    "no columns",
    "times 1e38",
    "zeros",
    "an object",
    "int64",
    "one row too few",
    "fractions",
    "from 2^24 + 1",
    "two columns",
    "one class",
)

RATIOS = metrics.likelihood_ratio_curve(
    np.tile(SCORES, 20), np.tile(np.arange(10) % 3 == 0, 20), 3
)


def few(values):
    return [value for value in values if value.name in CHEAP]


def drawn(make):
    """Numbers of a figure: lines, points, bars, images and places of each."""

    def call(**arguments):
        return [
            [
                [line.get_xydata() for line in axes.lines],
                [np.asarray(c.get_offsets(), float) for c in axes.collections],
                [patch.get_extents().bounds for patch in axes.patches],
                [np.asarray(image.get_array(), float) for image in axes.images],
                [getattr(artist, "xy", ()) for artist in axes.artists],
            ]
            for axes in make(**arguments).axes
        ]

    return call


def fractions(wrap):
    """Invalid values for lists of fractions per run."""
    return [
        *NO_MAPPING,
        refused("no run", wrap([])),
        refused("NaN", wrap([np.nan, 0.5])),
        refused("infinity", wrap([np.inf, 0.5])),
        refused("above 1", wrap([1.5, 0.5])),
        refused("negative", wrap([-0.5, 0.5])),
        refused("text", wrap(["a", "b"])),
        refused("None", wrap([None, 0.5])),
        refused("complex", wrap([1j, 0.5])),
    ]


CURVE = metrics.det_curve(SCORES, TARGET)
PROPERTIES = metrics.distance_properties(
    np.random.default_rng(0).random((9, 9))
)
CODES = np.random.default_rng(0).random((9, 2)).astype("f4")
IMAGES = np.random.default_rng(1).integers(0, 256, (9, 4, 4)).astype(np.uint8)
INFORMATION = np.array([[0.5, 0.0], [0.1, 0.7]])
NAMES = ["hair", "arms"]
RELIABILITY = metrics.reliability_curve(np.eye(3)[Y] * 0.7 + 0.1, Y)
REJECT = metrics.error_versus_reject(np.arange(12) / 12, Y == 0)


GROUPS = np.arange(18).reshape(9, 2) % 2


def factors():
    return [
        refused("a vector", GROUPS[:, 0]),
        refused("one column", GROUPS[:, :1]),
        refused("fractions", GROUPS * 0.5),
        refused("NaN", GROUPS * np.nan),
        refused("text", "hostile"),
        refused("no rows", GROUPS[:0]),
        same("a list", GROUPS.tolist(), GROUPS),
    ]


def factor_names():
    return [
        refused("one", ["hair"]),
        refused("three", ["a", "b", "c"]),
        refused("None", None),
        refused("a number", 2),
        same("a tuple", ("hair", "arms"), NAMES),
    ]


def information():
    return few(floats(INFORMATION)) + [refused("negative", -INFORMATION)]


def saved(figure, path, log_dir, step):
    viz.save_figure(figure, path, log_dir, step)


def figure():
    from matplotlib.figure import Figure

    return Figure((1, 1))


DIMS = [
    refused("beyond", [2]),
    refused("negative", [-1]),
    refused("none", []),
    refused("fractions", [0.5]),
    refused("text", "ab"),
    refused("a number", 0),
    refused("ragged", [[0], [0, 1]]),
    same("an array", np.array([0, 1]), [0, 1]),
    either("twice", [0, 0], [0, 0]),
]
REFERENCE = [
    refused("longer", [0.0, 0.0, 0.0]),
    refused("NaN", [np.nan, 0.0]),
    refused("a number", 0.0),
    refused("text", "ab"),
    refused("infinity", [np.inf, 0.0]),
    refused("complex", [1j, 0.0]),
]
STEPS = [*chosen(count(3), "True"), refused("more than examples", 10)]

ENTRIES = {
    "viz.acceptance_figure": Entry(
        drawn(viz.acceptance_figure),
        {
            "embeddings": X[:, :2],
            "labels": Y,
            "score": metrics.cosine_scores,
            "threshold": 0.1,
            "grid_size": 5,
        },
        {
            "embeddings": [*few(floats(X[:, :2])), refused("wider", X)],
            "labels": few(labels(Y)),
            "score": [*function(), *returning((5, 5))],
            "threshold": chosen(number(0.1), "1e-40"),
            "grid_size": [
                *chosen(count(5), "huge", "beyond int64", "True"),
                refused("one", 1),
            ],
        },
    ),
    "viz.auc_distribution_figure": Entry(
        drawn(viz.auc_distribution_figure),
        {"aucs": {"a": [[0.9, 0.6], [0.8, 0.7]]}},
        {
            "aucs": fractions(lambda v: {"a": [v]})
            + [
                refused("no runs", {"a": []}),
                # A run with one value; all runs of a method are pooled.
                anything("a vector", {"a": [0.5]}),
                refused("text for runs", {"a": "hostile"}),
            ]
        },
    ),
    "viz.bars_figure": Entry(
        drawn(viz.bars_figure),
        {"measures": {"m": {"a": [0.5, 0.6], "b": [0.7, 0.7]}}},
        {
            "measures": fractions(lambda v: {"m": {"a": v}})
            + [
                refused("no method", {"m": {}}),
                refused(
                    "other methods", {"m": {"a": [0.5]}, "n": {"b": [0.5]}}
                ),
                refused("numbers for methods", {"m": 3}),
            ],
            "baselines": [
                refused("unknown", {"x": [0.5]}),
                refused("NaN", {"m": [np.nan]}),
                refused("none", {"m": []}),
                refused("text", "m"),
            ],
            "starts": [
                refused("unknown", {"x": 0.5}),
                refused("1", {"m": 1.0}),
                refused("above a mean", {"m": 0.99}),
                refused("NaN", {"m": np.nan}),
                refused("text", {"m": "a"}),
            ],
        },
    ),
    "viz.paired_comparison_figure": Entry(
        drawn(viz.paired_comparison_figure),
        {"values": {"a": [0.5, 0.6], "b": [0.7, 0.7]}},
        {
            "values": [
                refused("no method", {}),
                refused("one repeat", {"a": [0.5]}),
                refused("lengths", {"a": [0.5, 0.6], "b": [0.5]}),
                refused("NaN", {"a": [0.5, np.nan]}),
                refused("numbers for repeats", {"a": 3}),
                refused("text", "a"),
            ],
        },
    ),
    "viz.trials_figure": Entry(
        drawn(viz.trials_figure),
        {
            "trials": [{"dim": 2, "loss": "a"}, {"dim": 4, "loss": "b"}],
            "objective": [0.5, 0.7],
            "measure": "recall",
        },
        {
            "trials": [
                refused("none", []),
                refused("one too few", [{"dim": 2}]),
                refused("numbers", [1, 2]),
                refused("None", None),
                anything("NaN", [{"dim": np.nan}, {"dim": 2}]),
                anything("infinity", [{"dim": np.inf}, {"dim": 2}]),
                anything("other types", [{"dim": None}, {"dim": [1, "$"]}]),
                anything("no values", [{}, {}]),
            ],
            "objective": [
                refused("NaN", [0.5, np.nan]),
                refused("infinity", [0.5, np.inf]),
                refused("one too many", [0.5, 0.6, 0.7]),
                refused("text", ["a", "b"]),
                refused("None", None),
            ],
            "measure": [refused("a number", 1), refused("None", None)],
        },
    ),
    "viz.within_subject_bars_figure": Entry(
        drawn(viz.within_subject_bars_figure),
        {"groups": {"g": {"a": [50.0, 60.0], "b": [70.0, 90.0]}}},
        {
            "groups": [
                *NO_MAPPING,
                refused("no method", {"g": {}}),
                refused("numbers for methods", {"g": 3}),
                refused("lengths", {"g": {"a": [50.0, 60.0], "b": [50.0]}}),
                refused("no subject", {"g": {"a": []}}),
                refused("NaN", {"g": {"a": [np.nan, 1.0]}}),
                refused("text", {"g": {"a": "hostile"}}),
                refused("huge", {"g": {"a": [1e306, 1.0]}}),
            ],
        },
    ),
    "viz.picture_plane_figure": Entry(
        drawn(viz.picture_plane_figure),
        {"mean": CODES, "images": IMAGES, "size": 8},
        {
            "mean": few(floats(CODES)),
            "images": [
                refused("none", IMAGES[:0]),
                refused("one too few", IMAGES[:-1]),
                refused("two channels", np.stack([IMAGES] * 2, axis=-1)),
                refused("NaN", IMAGES * np.nan),
                refused("above 255", IMAGES + 300.0),
                refused("text", "hostile"),
                refused("a number", 3),
                refused("None", None),
            ],
            "size": [*chosen(count(8), "text", "NaN", "None"), refused("3", 3)],
        },
    ),
    "viz.calibration_figure": Entry(
        drawn(viz.calibration_figure),
        {"panels": {"as trained": {"a": RATIOS}}},
        {
            "panels": [
                *NO_MAPPING,
                refused("a panel of numbers", {"as trained": 3}),
                refused("a curve of numbers", {"as trained": {"a": 3}}),
                refused(
                    "an entry missing",
                    {"as trained": {"a": {"stated": RATIOS["stated"]}}},
                ),
                refused(
                    "lengths",
                    {"as trained": {"a": {**RATIOS, "stated": [0.5]}}},
                ),
                refused(
                    "NaN",
                    {
                        "as trained": {
                            "a": {**RATIOS, "stated": RATIOS["stated"] * np.nan}
                        }
                    },
                ),
            ],
        },
    ),
    "viz.confusion_figure": Entry(
        drawn(viz.confusion_figure),
        {
            "labels": ["a", "b", "b"],
            "answers": ["a", "a", "unknown"],
            "classes": ["a", "b"],
            "unknown": "unknown",
            "most": 3,
        },
        {
            "labels": [
                refused("none", []),
                refused("fewer", ["a", "b"]),
                refused("fractions", [0.5, 1.5, 2.5]),
                refused("None", None),
                refused("text", "abb"),
                refused("two columns", [["a", "b"]] * 3),
                anything("integers", [0, 1, 1]),
            ],
            "answers": [
                refused("none", []),
                refused("fewer", ["a", "b"]),
                refused("no class", ["a", "b", "c"]),
                refused("None", None),
                refused("fractions", [0.5, 1.5, 2.5]),
            ],
            "classes": [
                refused("none", []),
                refused("without an answer", ["b"]),
                refused("a number", 3),
                refused("fractions", [0.5]),
                anything("repeated", ["a", "b", "a"]),
            ],
            "unknown": [refused("another", "b2")],
            "most": chosen(count(3), "huge", "beyond int64"),
        },
    ),
    "viz.det_figure": Entry(
        drawn(viz.det_figure),
        {"curves": {"a": CURVE}},
        {
            "curves": fractions(
                lambda v: {"a": {"false_alarm": v, "miss": [0.5] * len(v)}}
            )
            + [
                refused("a rate missing", {"a": {"miss": [0.5]}}),
                refused(
                    "lengths", {"a": {"miss": [0.5], "false_alarm": [0.1, 0.2]}}
                ),
                refused("no curve", {"a": 3}),
            ],
        },
    ),
    "viz.distance_properties_figure": Entry(
        drawn(viz.distance_properties_figure),
        {"properties": PROPERTIES, "num_bins": 5},
        {
            "properties": [
                *NO_MAPPING,
                *(
                    refused(f"{name} {text}", {**PROPERTIES, name: value})
                    for name in PROPERTIES
                    for text, value in (
                        ("NaN", np.array([np.nan])),
                        ("empty", np.zeros(0)),
                        ("above 1", np.array([7.0])),
                        ("None", None),
                        ("text", "hostile"),
                    )
                ),
                refused(
                    "one missing",
                    {k: PROPERTIES[k] for k in list(PROPERTIES)[1:]},
                ),
            ],
            "num_bins": chosen(count(5), "huge", "beyond int64"),
        },
    ),
    "viz.embedding_figure": Entry(
        drawn(viz.embedding_figure),
        {
            "mean": X,
            "variance": X**2 + 0.1,
            "labels": Y,
            "seen": Y < 2,
            "factors": {"digit": Y},
            "num_ellipses": 2,
            "axis_names": ("a", "b"),
        },
        {
            "axis_names": [
                refused("one", ("a",)),
                refused("a text", "ab"),
                refused("numbers", (1, 2)),
                refused("None", None),
            ],
            "mean": [*few(floats(X)), refused("one dimension", X[:, :1])],
            "variance": [
                refused("narrower", X[:, :2] ** 2 + 1),
                refused("negative", -(X**2) - 0.1),
                refused("NaN", X * np.nan),
                refused("text", "a"),
                refused("fewer", X[:5] ** 2 + 1),
            ],
            "labels": few(labels(Y)),
            "seen": [
                refused("fewer", Y[:5] < 2),
                refused("text", "a"),
                anything("None", None),
                refused("2", Y + 1),
                same("0 and 1", (Y < 2).astype(int), Y < 2),
            ],
            "factors": [
                *NO_MAPPING,
                refused("fewer", {"digit": Y[:5]}),
                refused("NaN", {"digit": Y * np.nan}),
                anything("texts", {"digit": ["a", "b"] * 6}),
                refused("ragged", {"digit": [[1], [1, 2]]}),
            ],
            "num_ellipses": chosen(count(2, least=0), "huge", "beyond int64"),
        },
    ),
    "viz.evaluation_figure": Entry(
        drawn(viz.evaluation_figure),
        {
            "reliability": {"clean": RELIABILITY},
            "reject": {"clean": REJECT},
            "occlusion": {"occluded": [0.1, 0.5], "stddev": [1.0, 2.0]},
        },
        {
            "reliability": [
                refused("None", None),
                refused("text", "a"),
                refused("no curve", {"clean": 3}),
                refused("a key missing", {"clean": {}}),
            ],
            "reject": [
                refused("None", None),
                refused("text", "a"),
                refused("no curve", {"clean": 3}),
                refused("a key missing", {"clean": {}}),
            ],
            "occlusion": [
                refused("None", None),
                refused("text", "a"),
                refused("lengths", {"occluded": [0.1], "stddev": [1.0, 2.0]}),
                refused("a key missing", {"occluded": [0.1]}),
                refused("NaN", {"occluded": [np.nan], "stddev": [1.0]}),
            ],
        },
        infinite=True,
    ),
    "viz.learning_curves_figure": Entry(
        drawn(viz.learning_curves_figure),
        {
            "curves": {"a": [{0: 0.1, 10: 0.5}]},
            "measure": "recall",
            "step": "step",
        },
        {
            "curves": [
                *NO_MAPPING,
                refused("no run", {"a": []}),
                refused("NaN", {"a": [{0: np.nan}]}),
                refused("infinity", {"a": [{0: np.inf}]}),
                refused("no steps", {"a": [{}]}),
                refused("none in common", {"a": [{0: 0.1}, {1: 0.1}]}),
                refused("text", {"a": [{0: "b"}]}),
                refused("text for steps", {"a": [{"x": 0.5, "y": 0.6}]}),
                refused("NaN for steps", {"a": [{np.nan: 0.5}]}),
                refused("a vector", {"a": [[0.1, 0.2]]}),
            ],
            "measure": [refused("None", None), refused("a number", 3)],
            "step": [refused("None", None), refused("a number", 3)],
        },
    ),
    "viz.mutual_information_figure": Entry(
        drawn(viz.mutual_information_figure),
        {"information": INFORMATION, "factor_names": NAMES, "unit": "nats"},
        {
            "information": information(),
            "factor_names": factor_names(),
            "factors": factors(),
            "chance": [
                refused("another shape", INFORMATION[:1]),
                refused("NaN", INFORMATION * np.nan),
                refused("negative", -INFORMATION),
                refused("text", "hostile"),
            ],
            "unit": choice("nats"),
        },
    ),
    "viz.neighbours_figure": Entry(
        drawn(viz.neighbours_figure),
        {
            "queries": [PICTURE],
            "neighbours": [[PICTURE, PICTURE]],
            "captions": [["a", "b"]],
            "is_right": [[True, False]],
        },
        {
            "queries": [
                refused("none", []),
                refused("too many", [PICTURE] * 25),
                refused("a number", 3),
                refused("text", "hostile"),
                refused("two channels", [np.zeros((4, 4, 2))]),
                refused("NaN", [PICTURE * np.nan]),
                refused("above 255", [PICTURE + 300.0]),
                refused("no pixels", [PICTURE[:0]]),
            ],
            "neighbours": [
                refused("none", [[]]),
                refused("fewer", [[PICTURE]]),
                refused("a number", 3),
                refused("more rows", [[PICTURE] * 2] * 2),
                refused("text", [["a", "b"]]),
            ],
            "captions": [
                refused("fewer", [["a"]]),
                refused("None", None),
                anything("numbers", [[1, 2]]),
            ],
            "is_right": [
                refused("fewer", [[True]]),
                refused("None", None),
                anything("unknown", [[None, None]]),
            ],
        },
    ),
    "viz.recall_figure": Entry(
        drawn(viz.recall_figure),
        {
            "recalls": {"a": [{1: 0.5, 10: 0.8}, {1: 0.6, 10: 0.9}]},
            "ceiling": 0.95,
        },
        {
            "recalls": fractions(lambda v: {"a": [dict(enumerate(v, 1))]})
            + [
                refused("k of 0", {"a": [{0: 0.5}]}),
                refused("fraction of k", {"a": [{1.5: 0.5}]}),
                refused("text for k", {"a": [{"x": 0.5}]}),
                refused("other k", {"a": [{1: 0.5}, {2: 0.5}]}),
                refused("a vector", {"a": [0.5]}),
            ],
            "ceiling": chosen(
                number(0.95, low=0, high=1, optional=True), "1e-40"
            ),
        },
    ),
    "viz.save_figure": Entry(
        saved,
        {
            "figure": figure(),
            "path": FOLDER / "a.png",
            "log_dir": None,
            "step": 0,
        },
        {
            "figure": [
                refused("None", None),
                refused("text", "a"),
                refused("an array", X),
            ],
            "path": [
                refused("None", None),
                refused("a number", 3),
                refused("a folder", FOLDER),
                refused("empty", ""),
                refused("below a file", FOLDER / "file" / "a.png"),
                anything("text", str(FOLDER / "b.png")),
            ],
            "log_dir": [refused("a file", FOLDER / "file")],
            "step": [
                refused("text", "a"),
                refused("fraction", 0.5),
                refused("None", None),
                refused("beyond int64", 2**70),
            ],
        },
        raises=(OSError,),
        known={"step": "read only with a log_dir"},
    ),
    "viz.score_histogram_figure": Entry(
        drawn(viz.score_histogram_figure),
        {"groups": {"a": [1.0, 2.0, 4.0]}, "threshold": 2.0, "num_bins": 5},
        {
            "groups": [
                *NO_MAPPING,
                refused("NaN", {"a": [1.0, np.nan]}),
                refused("no scores", {"a": []}),
                refused("text", {"a": "hostile"}),
                refused("complex", {"a": [1j]}),
                refused("one number", {"a": 3.0}),
                anything("large", {"a": [1e300, -1e300]}),
                anything("equal", {"a": [1.0, 1.0]}),
            ],
            "threshold": [
                refused("NaN", np.nan),
                refused("infinite", np.inf),
                refused("text", "2"),
                anything("far away", 1e9),
            ],
            "num_bins": chosen(count(5), "huge", "beyond int64"),
            "marks": [
                refused("a list", [1.0]),
                refused("text", "hostile"),
                refused("NaN", {"a": np.nan}),
                refused("too many", {str(n): 1.0 for n in range(10)}),
                anything("none", {}),
            ],
        },
    ),
    "viz.traversal_figure": Entry(
        drawn(viz.traversal_figure),
        {
            "images": IMAGES,
            "codes": CODES,
            "information": INFORMATION,
            "factor_names": NAMES,
            "num_dims": 2,
            "num_steps": 3,
        },
        {
            "images": [
                refused("fewer", IMAGES[:5]),
                refused("None", None),
                refused("two channels", np.zeros((9, 4, 4, 2), np.uint8)),
                refused("NaN", IMAGES * np.nan),
                refused("text", "hostile"),
                refused("above 255", IMAGES + 300.0),
                refused("negative", IMAGES - 300.0),
                refused("vectors", IMAGES[:, :, 0]),
                refused(
                    "of two shapes", [IMAGES[0, : i % 2 + 2] for i in range(9)]
                ),
                refused("complex", IMAGES + 1j),
            ],
            "codes": few(floats(CODES)),
            "information": information(),
            "factor_names": factor_names(),
            "factors": factors(),
            "num_dims": chosen(count(2), "True"),
            "num_steps": STEPS,
            "reference": REFERENCE,
            "decode": [
                refused("text", "a"),
                refused("a number", 3),
                *returning((3, 4, 4)),
            ],
        },
    ),
    "viz.traversal_indices": Entry(
        viz.traversal_indices,
        {"codes": CODES, "dims": [0, 1], "num_steps": 3, "reference": None},
        {
            "codes": floats(CODES),
            "dims": DIMS,
            "num_steps": STEPS,
            "reference": REFERENCE,
        },
    ),
    "viz.traversal_reference": Entry(
        viz.traversal_reference,
        {"codes": CODES, "dims": [0, 1], "num_steps": 3, "max_candidates": 5},
        {
            "codes": floats(CODES),
            "dims": DIMS,
            "num_steps": STEPS,
            "max_candidates": count(5),
        },
    ),
}
