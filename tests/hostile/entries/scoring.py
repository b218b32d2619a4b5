"""Galleries and embeddings."""

import keras
import numpy as np

from embeddings_tf import metrics
from embeddings_tf import scoring
from tests.hostile.entries.data import SCORES
from tests.hostile.entries.data import X
from tests.hostile.entries.data import Y
from tests.hostile.entries.data import folder
from tests.hostile.entries.data import rows
from tests.hostile.judging import Entry
from tests.hostile.values import anything
from tests.hostile.values import choice
from tests.hostile.values import chosen
from tests.hostile.values import count
from tests.hostile.values import floats
from tests.hostile.values import function
from tests.hostile.values import labels
from tests.hostile.values import number
from tests.hostile.values import refused
from tests.hostile.values import returning
from tests.hostile.values import same
from tests.hostile.values import seed
from tests.hostile.values import truths

ENCODER = keras.Sequential([keras.Input((4,)), keras.layers.Identity()])
FOLDER = folder()
HELD_OUT = X + 9, Y + 10


def fitted():
    gallery = scoring.Gallery(ENCODER).enroll(X, Y)
    return gallery.calibrate(*HELD_OUT, 0.5)


def answers(gallery):
    """Answers with the number of the class instead of its name."""
    found = gallery.identify(X)
    number = np.searchsorted(gallery.classes_, found["class"])
    return [number, *(found[n] for n in ("probability", "score", "accepted"))]


def made(model=ENCODER, x=X, y=Y, unknown=None, **arguments):
    gallery = scoring.Gallery(model, unknown=unknown, **arguments)
    return answers(gallery.enroll(x, y).calibrate(*HELD_OUT, 0.5))


def saved(name="valid.npz", **arguments):
    path = FOLDER / name
    fitted().save(path, **arguments)
    return path


def loaded(path, model=ENCODER, embedded=False):
    return answers(scoring.Gallery.load(path, model, embedded=embedded))


TYPICALITY = scoring.Typicality(refused=0.3).fit(X)
TYPICALITY_VALUES = TYPICALITY.to_dict()


def typicality_of(x=X, labels=None, **arguments):
    found = scoring.Typicality(**{"refused": 0.3, **arguments}).fit(x, labels)
    return found.score_samples(X), found.threshold_


def checking():
    """A gallery of embeddings that checks their inputs."""
    gallery = scoring.Gallery(ENCODER, embedded=True).enroll(X, Y)
    gallery.typicality = TYPICALITY
    return gallery.calibrate(*HELD_OUT, 0.5)


def search_of(x, labels=None, names=None, progress=None):
    search = scoring.NearestNeighbors(ENCODER)
    return search.fit(x, labels, names, progress=progress)


def searched(model, **arguments):
    search = scoring.NearestNeighbors(model, **arguments)
    return search.fit(X, Y).kneighbors(X)


VERIFIER = scoring.Verifier(ENCODER).fit(X, Y, 0.5)


def pair_answers(verifier):
    names = ("predict", "predict_proba", "decision_function")
    return [getattr(verifier, name)(X, X[::-1]) for name in names]


def verified(model, **arguments):
    return pair_answers(scoring.Verifier(model, **arguments).fit(X, Y, 0.5))


def verifier_file():
    VERIFIER.save(FOLDER / "verifier.json")
    return FOLDER / "verifier.json"


NO_MODELS = [
    refused("text", "hostile"),
    refused("a number", 3),
    refused("an array", X),
]
INPUTS = [
    refused("narrower", X[:, :3]),
    refused("None", None),
    refused("NaN", X * np.nan),
    anything("no rows", X[:0]),
    refused("text", "hostile"),
    refused("one row", X[0]),
    refused("complex", X + 1j),
    same("float64", X.astype(float), X),
    anything("times 1e19", X * np.float32(1e19)),
]
EXAMPLES = [
    refused("narrower", X[:, :3]),
    refused("None", None),
    refused("NaN", X * np.nan),
    refused("text", "hostile"),
    refused("complex", X + 1j),
    same("float64", X.astype(float), X),
    same("a list", X.tolist(), X),
]
NAMES = [
    *chosen(labels(Y, strict=False), "strings", "one class", "fractions"),
    anything("strings", Y.astype(str)),
]
PATHS = [
    refused("a folder", FOLDER),
    refused("no such folder", FOLDER / "a" / "b.npz"),
    refused("None", None),
    refused("a number", 3),
    refused("empty", ""),
]
TRUTH = [refused("text", "no"), refused("None", None), refused("0.5", 0.5)]


def calibrated(make):
    def call(scores, is_target, **arguments):
        return make(**arguments).fit(scores, is_target).transform(SCORES)

    return call


def normalized(cohort, top_k, first, score=metrics.cosine_scores):
    found = scoring.AdaptiveScoreNormalization(score, cohort, top_k)
    return found(first, X)


def methods_of_calibration(name):
    """Entries of the methods of a fitted calibration."""
    make = getattr(scoring, name)
    found = make().fit(**CALIBRATED)
    path = FOLDER / f"{name}.json"
    found.save(path)
    damaged = FOLDER / f"{name}_damaged.json"
    damaged.write_text("{")
    values = found.to_dict()
    without = {k: v for k, v in values.items() if k != "kind"}
    return {
        "transform": Entry(
            found.transform,
            {"scores": SCORES},
            {"scores": chosen(floats(SCORES), *ANY_SHAPE)},
        ),
        "from_dict": Entry(
            lambda values: make.from_dict(values).transform(SCORES),
            {"values": values},
            {
                "values": [
                    refused("no kind", without),
                    refused("another kind", {**values, "kind": "hostile"}),
                    refused("only a kind", {"kind": values["kind"]}),
                    refused(
                        "text",
                        {
                            key: value if key == "kind" else "hostile"
                            for key, value in values.items()
                        },
                    ),
                    refused("None", None),
                    refused("a list", [values]),
                ]
            },
        ),
        "load": Entry(
            lambda path: make.load(path).transform(SCORES),
            {"path": path},
            {
                "path": [
                    *PATHS,
                    refused("no such file", FOLDER / "none.json"),
                    refused("damaged", damaged),
                ]
            },
            raises=(OSError,),
        ),
        "save": Entry(
            found.save,
            {"path": FOLDER / f"{name}_saved.json"},
            {"path": [*PATHS, anything("text", str(FOLDER / f"{name}.txt"))]},
            raises=(OSError,),
        ),
    }


# Transformed one by one.
ANY_SHAPE = ("one more axis", "a scalar", "no rows")
# Overlapping kinds of trials.
CALIBRATED = {
    "scores": SCORES,
    "is_target": np.arange(10) % 3 == 0,
}
CALIBRATION = {
    # Calibration depends on the values, not only on their order.
    "scores": chosen(floats(SCORES), "int8", "uint8", "booleans"),
    "is_target": truths(CALIBRATED["is_target"]),
}
TRIALS = rows(SCORES, CALIBRATED["is_target"], ("scores", "is_target"))
ENTRIES = {
    "scoring.LogisticCalibration": Entry(
        calibrated(scoring.LogisticCalibration),
        {**CALIBRATED, "target_prior": 0.3},
        {
            **CALIBRATION,
            "target_prior": number(0.3, low=0, high=1, includes_low=False),
        },
        TRIALS,
        tolerance=1e-3,
    ),
    "scoring.IsotonicCalibration": Entry(
        calibrated(scoring.IsotonicCalibration), CALIBRATED, CALIBRATION, TRIALS
    ),
    **{
        f"scoring.{name}.{method}": entry
        for name in ("LogisticCalibration", "IsotonicCalibration")
        for method, entry in methods_of_calibration(name).items()
    },
    "scoring.AdaptiveScoreNormalization": Entry(
        normalized,
        {"cohort": X[::2] + 1, "top_k": 4, "first": X},
        {
            "cohort": floats(X[::2] + 1),
            "top_k": [*count(4, least=2)],
            "first": floats(X),
            "score": returning((12, 6)),
        },
        tolerance=1e-2,
    ),
    "scoring.Gallery": Entry(
        made,
        {
            "model": ENCODER,
            "score": "log_evidence",
            "unknown": None,
            "num_samples": None,
            "seed": 1,
            "batch_size": 3,
            "embedded": False,
            "typicality": None,
            "source": "run",
        },
        {
            "model": [*NO_MODELS, refused("None", None)],
            "typicality": [refused("text", "a"), refused("values", {})],
            "source": [refused("None", None), refused("a number", 3)],
            "score": choice("log_evidence"),
            "unknown": [
                refused("a label", 1),
                refused("text", "unknown"),
                refused("a fraction", 0.5),
                refused("True", True),
                anything("another number", -7),
            ],
            "num_samples": chosen(
                count(4, optional=True), "huge", "beyond int64"
            ),
            "seed": seed(1),
            "batch_size": chosen(count(3), "beyond int64"),
            "embedded": TRUTH,
        },
    ),
    "scoring.Gallery.enroll": Entry(
        lambda x, labels, names: answers(fitted().enroll(x, labels, names)),
        {"x": X, "labels": Y, "names": None},
        {
            "x": EXAMPLES,
            "labels": [refused("strings", Y.astype(str))],
            "names": [
                refused("numbers", Y),
                refused("too few", ["a"]),
                refused("text", "abc"),
                same("strings", [f"{n}.png" for n in range(len(Y))], None),
            ],
        },
        rows(X, Y, ("x", "labels")),
    ),
    "scoring.Gallery.fit": Entry(
        lambda x, labels: answers(scoring.Gallery(ENCODER).fit(x, labels)),
        {"x": X, "labels": Y},
        {"x": EXAMPLES, "labels": NAMES},
        rows(X, Y, ("x", "labels")),
    ),
    "scoring.Gallery.calibrate": Entry(
        lambda x, labels, false_accept_rate: answers(
            fitted().calibrate(x, labels, false_accept_rate)
        ),
        {"x": HELD_OUT[0], "labels": HELD_OUT[1], "false_accept_rate": 0.5},
        {
            "x": [h for h in EXAMPLES if h.name not in ("float64", "a list")],
            "labels": [
                refused("enrolled", Y),
                refused("None", None),
                refused("too few", [7]),
                refused("NaN", Y * np.nan),
            ],
            "false_accept_rate": [
                *number(0.5, low=0, high=1, optional=True),
                same("None, 3 classes", None, 0.25),
                refused("0", 0.0),
                refused("1", 1.0),
                refused("too small", 0.1),
            ],
        },
    ),
    "scoring.Gallery.remove": Entry(
        lambda label: answers(fitted().remove(label)),
        {"label": 1},
        {
            "label": [
                refused("unknown", 7),
                refused("text", "1"),
                refused("None", None),
                refused("NaN", np.nan),
                same("int64", np.int64(1), 1),
            ]
        },
    ),
    **{
        f"scoring.Gallery.{name}": Entry(
            lambda x, name=name: getattr(fitted(), name)(x),
            {"x": X},
            {"x": INPUTS},
            tolerance=1e-4,
        )
        for name in ("predict_proba", "score_samples")
    },
    **{
        f"scoring.Gallery.{name}": Entry(
            lambda x, inputs, name=name: getattr(checking(), name)(x, inputs),
            {"x": X, "inputs": X},
            {
                "x": [*INPUTS, refused("fewer", X[:5])],
                "inputs": [*INPUTS, refused("fewer", X[:5])],
            },
            tolerance=1e-4,
        )
        for name in ("decision_function", "identify", "predict")
    },
    "scoring.Gallery.load": Entry(
        loaded,
        {"path": saved(), "model": ENCODER, "embedded": False},
        {
            "path": [*PATHS, refused("no such file", FOLDER / "none.npz")],
            "model": [*NO_MODELS, refused("None", None)],
            "embedded": TRUTH,
        },
        raises=(OSError,),
    ),
    "scoring.Gallery.save": Entry(
        fitted().save,
        {"path": FOLDER / "saved.npz", "include_model": False},
        {
            "path": [*PATHS, anything("text", str(FOLDER / "again.npz"))],
            "include_model": TRUTH,
        },
        raises=(OSError,),
    ),
    "scoring.NearestNeighbors": Entry(
        searched,
        {
            "model": ENCODER,
            "num_neighbors": 3,
            "compare": None,
            "search": "exact",
            "batch_size": 5,
            "embedded": False,
        },
        {
            "model": [*NO_MODELS, refused("None", None)],
            "num_neighbors": [
                *chosen(count(3), "huge", "beyond int64"),
                refused("more than examples", 13),
            ],
            "compare": choice("distance", optional=True),
            "search": choice("exact"),
            "batch_size": chosen(count(5), "beyond int64"),
            "embedded": TRUTH,
        },
    ),
    "scoring.NearestNeighbors.fit": Entry(
        lambda **arguments: search_of(**arguments).kneighbors(X),
        {"x": X, "labels": None, "names": None, "progress": None},
        {
            "x": EXAMPLES,
            "labels": [
                refused("too few", [1]),
                refused("NaN", Y * np.nan),
                same("integers", Y, None),
            ],
            "names": [refused("numbers", Y), refused("too few", ["a"])],
            "progress": [refused("text", "a"), anything("a function", abs)],
        },
    ),
    "scoring.NearestNeighbors.kneighbors": Entry(
        lambda x, num_neighbors: search_of(X).kneighbors(x, num_neighbors),
        {"x": X, "num_neighbors": None},
        {
            "x": INPUTS,
            "num_neighbors": [
                refused("0", 0),
                refused("more than examples", 13),
                refused("a fraction", 1.5),
                same("five", 5, None),
            ],
        },
    ),
    **{
        f"scoring.NearestNeighbors.{name}": Entry(
            lambda x, name=name: getattr(search_of(X, Y), name)(x),
            {"x": X},
            {"x": INPUTS},
        )
        for name in ("decision_function", "predict")
    },
    "scoring.Typicality": Entry(
        typicality_of,
        {"refused": 0.3, "explained_variance": 0.9, "seed": 1},
        {
            "refused": [
                *number(0.3, low=0, high=1),
                refused("too small", 0.01),
            ],
            "explained_variance": number(0.9, low=0, high=1),
            "seed": seed(1),
        },
    ),
    "scoring.Typicality.fit": Entry(
        lambda x, labels: typicality_of(x, labels),
        {"x": X, "labels": Y},
        {
            "x": [
                *(h for h in EXAMPLES if h.name != "narrower"),
                refused("equal", X * 0),
                refused("no rows", X[:0]),
            ],
            "labels": [
                refused("one class", Y * 0),
                refused("too few", [7]),
                refused("NaN", Y * np.nan),
            ],
        },
    ),
    **{
        f"scoring.Typicality.{name}": Entry(
            lambda x, name=name: getattr(TYPICALITY, name)(x),
            {"x": X},
            {"x": INPUTS},
        )
        for name in ("predict", "score_samples")
    },
    "scoring.Typicality.from_dict": Entry(
        lambda values: scoring.Typicality.from_dict(values).predict(X),
        {"values": TYPICALITY_VALUES},
        {
            "values": [
                refused("None", None),
                refused("only a kind", {"kind": TYPICALITY_VALUES["kind"]}),
                refused(
                    "another kind", {**TYPICALITY_VALUES, "kind": "hostile"}
                ),
                *(
                    refused(name, {**TYPICALITY_VALUES, name: "hostile"})
                    for name in TYPICALITY_VALUES
                    if name != "kind"
                ),
            ]
        },
    ),
    "scoring.Verifier": Entry(
        verified,
        {
            "model": ENCODER,
            "calibration": "logistic",
            "target_prior": 0.5,
            "seed": 1,
            "batch_size": 5,
            "embedded": False,
            "source": "photos",
        },
        {
            "model": [*NO_MODELS, refused("None", None)],
            "source": [refused("None", None), refused("a number", 3)],
            "calibration": choice("logistic"),
            "target_prior": [
                *number(0.5, low=0, high=1),
                refused("0", 0.0),
                refused("1", 1.0),
            ],
            "seed": seed(1),
            "batch_size": chosen(count(5), "beyond int64"),
            "embedded": TRUTH,
        },
    ),
    "scoring.Verifier.fit": Entry(
        lambda x, labels, false_accept_rate, progress: pair_answers(
            scoring.Verifier(ENCODER).fit(
                x, labels, false_accept_rate, progress=progress
            )
        ),
        {"x": X, "labels": Y, "false_accept_rate": 0.5, "progress": None},
        {
            "x": EXAMPLES,
            "labels": [
                refused("one class", Y * 0),
                refused("too few", [7]),
                refused("NaN", Y * np.nan),
                refused("all different", np.arange(12)),
            ],
            "false_accept_rate": [
                *number(0.5, low=0, high=1),
                refused("0", 0.0),
                refused("1", 1.0),
                refused("too small", 0.001),
            ],
            "progress": [refused("text", "a"), anything("a function", abs)],
        },
    ),
    **{
        f"scoring.Verifier.{name}": Entry(
            lambda first, second, name=name: getattr(VERIFIER, name)(
                first, second
            ),
            {"first": X, "second": X[::-1].copy()},
            {"first": INPUTS, "second": [refused("fewer", X[:5])]},
            tolerance=1e-4,
        )
        for name in (
            "decision_function",
            "log_likelihood_ratio",
            "predict",
            "predict_proba",
            "score_samples",
        )
    },
    "scoring.Verifier.load": Entry(
        lambda path, model, embedded: pair_answers(
            scoring.Verifier.load(path, model, embedded=embedded)
        ),
        {"path": verifier_file(), "model": ENCODER, "embedded": False},
        {
            "path": [*PATHS, refused("no such file", FOLDER / "none.json")],
            "model": [*NO_MODELS, refused("None", None)],
            "embedded": TRUTH,
        },
        raises=(OSError,),
    ),
    "scoring.Verifier.save": Entry(
        VERIFIER.save,
        {"path": FOLDER / "saved.json"},
        {"path": [*PATHS, anything("text", str(FOLDER / "again.json"))]},
        raises=(OSError,),
    ),
    "scoring.embed": Entry(
        scoring.embed,
        {"model": ENCODER, "x": X, "batch_size": 5, "progress": None},
        {
            "model": [*NO_MODELS, refused("None", None)],
            "x": [
                *(h for h in INPUTS if h.name != "no rows"),
                refused("no rows", X[:0]),
            ],
            "batch_size": chosen(count(5), "beyond int64"),
            "progress": [h for h in function() if h.value is not None],
        },
    ),
}
