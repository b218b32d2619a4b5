"""PLDA: fit, adapt, score, files."""

import numpy as np

from embeddings_tf.models import PLDA
from tests.hostile.entries.data import X
from tests.hostile.entries.data import Y
from tests.hostile.entries.data import folder
from tests.hostile.entries.data import rows
from tests.hostile.judging import Entry
from tests.hostile.values import anything
from tests.hostile.values import chosen
from tests.hostile.values import count
from tests.hostile.values import floats
from tests.hostile.values import labels
from tests.hostile.values import number
from tests.hostile.values import refused

FITTED = PLDA().fit(X, Y)
FOLDER = folder()
FITTED.save(FOLDER / "good.npz")
GOOD = (FOLDER / "good.npz").read_bytes()


def damaged(name, content):
    path = FOLDER / name
    path.write_bytes(content)
    return path


def with_content(name, **changes):
    with np.load(FOLDER / "good.npz") as archive:
        content = {**archive, **changes}
    np.savez(FOLDER / name, **content)
    return FOLDER / f"{name}.npz"


def fit(embeddings, labels, **arguments):
    model = PLDA(**arguments).fit(embeddings, labels)
    return model.score(X, X), model.log_likelihoods


def adapt(embeddings, labels, weight):
    return FITTED.adapt(embeddings, labels, weight).score(X, X)


# EM amplifies rounding: scaled data takes other iterations.
ENTRIES = {
    "models.PLDA.fit": Entry(
        fit,
        {
            "embeddings": X,
            "labels": Y,
            "num_dims": 2,
            "max_iterations": 5,
            "tolerance": 1e-6,
        },
        {
            "embeddings": floats(X),
            "labels": labels(Y),
            "num_dims": [
                *chosen(count(2, optional=True), "huge", "beyond int64"),
                refused("as many as classes", 3),
                refused("huge", 2**62),
            ],
            "max_iterations": chosen(count(5), "huge", "beyond int64"),
            "tolerance": number(1e-6, low=0),
            "center": [refused("text", "no"), refused("None", None)],
            "length_normalize": [refused("text", "no"), refused("a", [1, 2])],
        },
        rows(X, Y, ("embeddings", "labels")),
        tolerance=1e-3,
    ),
    "models.PLDA.most_dims": Entry(
        lambda embeddings, labels: np.array(
            PLDA().most_dims(embeddings, labels)
        ),
        {"embeddings": X, "labels": Y},
        {"embeddings": floats(X), "labels": labels(Y)},
        rows(X, Y, ("embeddings", "labels")),
    ),
    "models.PLDA.adapt": Entry(
        adapt,
        {"embeddings": X[::-1] + 0.1, "labels": Y[::-1].copy(), "weight": 0.5},
        {
            "embeddings": [
                *floats(X[::-1] + 0.1),
                refused("other dimensions", X[:, :3]),
            ],
            "labels": labels(Y[::-1].copy()),
            "weight": number(0.5, low=0, high=1),
        },
        rows(X[::-1] + 0.1, Y[::-1].copy(), ("embeddings", "labels")),
        tolerance=1e-3,
    ),
    "models.PLDA.score": Entry(
        FITTED.score,
        {"enroll": X, "test": X[:5], "enroll_labels": Y},
        {
            "enroll": [*floats(X), refused("other dimensions", X[:, :3])],
            "test": [*floats(X[:5]), refused("other dimensions", X[:5, :3])],
            "enroll_labels": chosen(labels(Y), "None"),
        },
        tolerance=1e-4,
    ),
    "models.PLDA.score_pairs": Entry(
        FITTED.score_pairs,
        {"first": X, "second": X[::-1].copy()},
        {
            "first": [
                *floats(X),
                refused("other dimensions", X[:, :3]),
                refused("fewer rows", X[:5]),
                refused("one row", X[:1]),
            ],
        },
        tolerance=1e-4,
    ),
    "models.PLDA.not_fitted": Entry(
        lambda x, fitted: (FITTED if fitted else PLDA()).score(x, x),
        {"x": X, "fitted": True},
        {"fitted": [refused("a new one", False)]},
    ),
    "models.PLDA.load": Entry(
        lambda path: PLDA.load(path).score(X, X),
        {"path": FOLDER / "good.npz"},
        {
            "path": [
                refused("missing", FOLDER / "missing.npz"),
                refused("a folder", FOLDER),
                refused("empty", damaged("empty.npz", b"")),
                refused("cut", damaged("cut.npz", GOOD[:-50])),
                refused("text", damaged("text.npz", b"hostile")),
                refused(
                    "a bit turned",
                    damaged("turned.npz", GOOD[:900] + b"\xff\0" + GOOD[902:]),
                ),
                refused("NaN", with_content("nan", mean=np.full(4, np.nan))),
                refused(
                    "another shape", with_content("shape", mean=np.zeros(3))
                ),
                refused(
                    "negative covariance",
                    with_content("negative", within_covariance=-np.eye(4)),
                ),
                refused("no offset", with_content("offset", offset=1.0)),
                refused(
                    "pickled",
                    with_content("pickled", mean=np.array([None] * 4)),
                ),
                refused("None", None),
            ]
        },
        raises=(OSError,),
    ),
    "models.PLDA.save": Entry(
        lambda path: FITTED.save(path),
        {"path": FOLDER / "saved.npz"},
        {
            "path": [
                refused("a folder", FOLDER),
                refused("no such folder", FOLDER / "a" / "b.npz"),
                refused("None", None),
                refused("a number", 3),
                anything("text", str(FOLDER / "again.npz")),
            ]
        },
        raises=(OSError,),
    ),
}
