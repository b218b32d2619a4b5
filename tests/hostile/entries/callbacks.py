"""Callbacks: their logs and files."""

import keras
import numpy as np
import tensorflow as tf

from embeddings_tf import callbacks
from embeddings_tf import losses
from embeddings_tf import metrics
from tests.hostile.entries.data import X
from tests.hostile.entries.data import Y
from tests.hostile.entries.data import folder
from tests.hostile.entries.data import rows
from tests.hostile.judging import Entry
from tests.hostile.values import anything
from tests.hostile.values import chosen
from tests.hostile.values import count
from tests.hostile.values import labels
from tests.hostile.values import refused
from tests.hostile.values import returning
from tests.hostile.values import same

MODEL = keras.Sequential(
    [keras.Input((4,)), keras.layers.Dense(4, kernel_initializer="identity")]
)
MODEL.compile("sgd", "mse")
TRAINED = keras.Sequential([keras.Input((4,)), keras.layers.Dense(4)])
TRAINED.compile("sgd", losses.TripletLoss(), run_eagerly=True)
FOLDER = folder()
(FOLDER / "file").write_text("hostile")
BAD = FOLDER / "bad"
BAD.mkdir()
(BAD / "projector_config.pbtxt").write_text("hostile {")


def evaluation(x, labels, metrics, batch_size):
    made = callbacks.EmbeddingEvaluation(
        x, labels, metrics, batch_size=batch_size
    )
    made.set_model(MODEL)
    logs = {}
    made.on_epoch_end(0, logs)
    return logs


def diagnostics(x, labels, batch_size):
    made = callbacks.EmbeddingDiagnostics(x, labels, batch_size=batch_size)
    made.set_model(MODEL)
    logs = {}
    made.on_epoch_end(0, logs)
    return logs


def projector(**arguments):
    made = callbacks.EmbeddingProjector(**arguments)
    made.set_model(MODEL)
    made.write()


def inputs(x):
    return [
        same("a tensor", keras.ops.convert_to_tensor(x), x),
        same("Fortran order", np.asfortranarray(x), x),
        refused("NaN", x * np.nan),
        refused("None", None),
        refused("text", "hostile"),
        refused("a number", 3.0),
        refused("no rows", x[:0]),
        refused("ragged", [[1.0, 2.0], [3.0]]),
        refused("fewer", x[:5]),
    ]


def training(**arguments):
    made = callbacks.TrainingDiagnostics(**arguments)
    made.set_model(TRAINED)
    made.on_train_begin()
    made.on_train_batch_end(0)
    made.on_epoch_end(0)
    made.on_train_end()
    return made.values


def pictures(**arguments):
    made = callbacks.EmbeddingPictures(**arguments)
    made.set_model(MODEL)
    made.write()


def settings(value, **arguments):
    made = callbacks.RunSettings(**arguments)
    made.on_train_begin()
    made.on_epoch_end(0, {"val_loss": value})
    made.on_train_end()
    return made.best


def throughput(steps):
    made = callbacks.Throughput()
    made.on_train_begin()
    made.on_epoch_begin(0)
    for step in range(steps):
        made.on_train_batch_begin(step)
        made.on_train_batch_end(step)
    made.on_epoch_end(0, {})


IMAGES = np.zeros((12, 4, 4), np.uint8)
LOG_DIRS = [
    refused("a file", FOLDER / "file"),
    refused("None", None),
    refused("below a file", FOLDER / "file" / "logs"),
    refused("empty", ""),
    refused("a number", 3),
]

ENTRIES = {
    "callbacks.EmbeddingDiagnostics": Entry(
        diagnostics,
        {"x": X, "labels": Y, "batch_size": 5},
        {
            "x": inputs(X),
            "labels": labels(Y),
            "batch_size": chosen(count(5), "beyond int64"),
        },
        rows(X, Y, ("x", "labels")),
    ),
    "callbacks.EmbeddingEvaluation": Entry(
        evaluation,
        {"x": X, "labels": Y, "metrics": None, "batch_size": 5},
        {
            "x": inputs(X),
            "labels": labels(Y),
            "metrics": [
                refused("a function", metrics.recall_at_k),
                refused("text", "recall"),
                refused("a list", ["recall"]),
                refused("not functions", {"a": 3}),
                *(
                    refused(h.name, {"a": h.value})
                    for h in returning(3)
                    if h.name != "returns a scalar"
                ),
                anything("none", {}),
            ],
            "batch_size": chosen(count(5), "beyond int64"),
        },
        rows(X, Y, ("x", "labels")),
    ),
    "callbacks.EmbeddingPictures": Entry(
        pictures,
        {
            "x": X,
            "labels": Y,
            "log_dir": FOLDER / "pictures",
            "images": None,
            "every": 1,
            "batch_size": 5,
        },
        {
            "x": inputs(X),
            "labels": labels(Y),
            "log_dir": LOG_DIRS,
            "images": [
                refused("fewer", IMAGES[:5]),
                refused("NaN", IMAGES * np.nan),
                refused("text", "hostile"),
            ],
            "every": chosen(count(1), "beyond int64", "huge"),
            "batch_size": chosen(count(5), "beyond int64"),
        },
        raises=(OSError, tf.errors.OpError),
    ),
    "callbacks.RunSettings": Entry(
        settings,
        {
            "settings": {"seed": 1},
            "log_dir": FOLDER / "settings",
            "monitor": "val_loss",
            "mode": "max",
            "initial_value_threshold": None,
            "name": "run",
            "value": 0.5,
        },
        {
            "settings": [
                refused("None", None),
                refused("empty", {}),
                refused("a set", {"a": {1}}),
                refused("an object", {"a": object()}),
                refused("a number as a name", {1: 2}),
                anything("NaN", {"a": float("nan")}),
            ],
            "log_dir": LOG_DIRS,
            "monitor": [refused("None", None), anything("missing", "loss")],
            "value": [anything("NaN", float("nan"))],
            "mode": [refused("None", None), refused("auto", "auto")],
            "initial_value_threshold": [refused("text", "hostile")],
            "name": [refused("None", None), refused("a number", 3.0)],
        },
        raises=(OSError, tf.errors.OpError),
    ),
    "callbacks.Throughput": Entry(
        throughput, {"steps": 3}, {"steps": [anything("one", 1)]}
    ),
    "callbacks.TrainingDiagnostics": Entry(
        training,
        {
            "x": X,
            "labels": Y,
            "log_dir": FOLDER / "training",
            "every_steps": None,
            "histograms_every": 10,
        },
        {
            "x": [
                refused("None", None),
                refused("a number", 3.0),
                refused("no rows", X[:0]),
                refused("fewer", X[:5]),
                refused("text", "hostile"),
            ],
            "labels": labels(Y),
            "log_dir": LOG_DIRS,
            "every_steps": chosen(count(5), "None", "beyond int64", "huge"),
            "histograms_every": chosen(count(5), "beyond int64", "huge"),
        },
        raises=(OSError, tf.errors.OpError),
    ),
    "callbacks.EmbeddingProjector": Entry(
        projector,
        {
            "x": X,
            "labels": Y,
            "log_dir": FOLDER / "logs",
            "images": IMAGES,
            "every": 1,
            "name": "embedding",
            "batch_size": 5,
        },
        {
            "x": inputs(X),
            "labels": [
                refused("None", None),
                refused("fewer", Y[:5]),
                refused("a number", 3),
                refused("tabs", ["a\tb"] * 12),
                refused("lines", ["a\nb"] * 12),
                refused("empty", []),
                refused("three axes", Y.reshape(12, 1, 1)),
                refused("one column fewer", {"a": Y, "b": Y[:5]}),
                anything("text", [str(y) for y in Y]),
                refused("no columns", {}),
                refused("ragged", [[1], [1, 2]]),
            ],
            "log_dir": [*LOG_DIRS, refused("a damaged one", BAD)],
            "images": [
                refused("fewer", IMAGES[:5]),
                refused("a matrix", IMAGES[0]),
                refused("two channels", np.zeros((12, 4, 4, 2))),
                refused("NaN", IMAGES * np.nan),
                refused("above 255", IMAGES + 300.0),
                refused("negative", IMAGES - 1.0),
                refused("text", "hostile"),
                refused("ragged", [[1], [1, 2]]),
                refused("no pixels", IMAGES[:, :0]),
                refused("complex", IMAGES + 1j),
            ],
            "every": chosen(count(1), "beyond int64", "huge"),
            "name": [
                refused("empty", ""),
                refused("a path", "../a"),
                refused("a space", "a b"),
                refused("None", None),
                refused("a number", 3),
                refused("bytes", b"a"),
            ],
            "batch_size": chosen(count(5), "beyond int64"),
        },
        raises=(OSError,),
    ),
}
