"""Export: models, folders, versions."""

import pathlib

import keras
import numpy as np
import tensorflow as tf

from embeddings_tf.export import ImageDecoder
from embeddings_tf.export import WaveDecoder
from embeddings_tf.export import export_saved_model
from embeddings_tf.export import signature_table
from embeddings_tf.export.signature_table import FILE
from embeddings_tf.export.signature_table import table_row
from embeddings_tf.export.signature_table import table_text
from embeddings_tf.export.signatures import Endpoint
from embeddings_tf.scoring import Gallery
from tests.hostile.entries.data import X
from tests.hostile.entries.data import folder
from tests.hostile.entries.models import FEW
from tests.hostile.entries.models import GAUSSIAN
from tests.hostile.judging import Entry
from tests.hostile.values import anything
from tests.hostile.values import choice
from tests.hostile.values import chosen
from tests.hostile.values import count
from tests.hostile.values import refused

FOLDER = folder()
(FOLDER / "file").write_text("hostile")
(FOLDER / "taken" / "7").mkdir(parents=True)
(FOLDER / "odd" / "\u00b2").mkdir(parents=True)

IMAGE = tf.io.encode_png(np.full((4, 3, 3), 9, np.uint8)).numpy()
SOUND = tf.audio.encode_wav(np.full((10, 1), 0.5, "f"), 8000).numpy()
OTHER_GALLERY = Gallery(FEW).enroll(X, np.arange(len(X)))


def exported_once():
    """Writes the table of a small export, and returns its folder."""
    folder = FOLDER / "table" / "1" / "assets.extra"
    folder.mkdir(parents=True)
    spec = tf.TensorSpec((None, 2), tf.float32, "x")
    endpoint = Endpoint(None, [spec], "Embeds inputs.")
    row = table_row(
        "embed", endpoint, {"embedding": spec}, {"x": "any number"}, None
    )
    (folder / FILE).write_text(table_text([row]))
    return folder.parent


def exported(model, directory, version, preprocessing, num_samples, **options):
    """Exports; checks that no incomplete files remain in any case."""
    folder = (
        pathlib.Path(directory)
        if isinstance(directory, str | pathlib.Path) and str(directory)
        else FOLDER
    )
    before = {p for p in folder.rglob("*") if p.is_dir()}
    try:
        export_saved_model(
            model,
            directory,
            version,
            preprocessing,
            num_samples=num_samples,
            **options,
        )
    except Exception:
        left = {p for p in folder.rglob("*") if p.is_dir()} - before
        if left:
            raise AssertionError(f"it leaves {left}") from None
        raise


VALID = {
    "model": GAUSSIAN,
    "directory": FOLDER / "good",
    "version": None,
    "preprocessing": None,
    "num_samples": None,
}

ENTRIES = {
    "export.export_saved_model": Entry(
        exported,
        VALID,
        {
            "model": [
                refused("None", None),
                refused("text", "hostile"),
                refused("a class", keras.Model),
                refused("an array", X),
                refused("a layer", keras.layers.Dense(3)),
                anything("points", FEW),
            ],
            "directory": [
                refused("None", None),
                refused("empty", ""),
                refused("a file", FOLDER / "file"),
                refused("below a file", FOLDER / "file" / "model"),
                refused("a number", 3),
                refused("bytes", b"a/\xff"),
                anything("with a folder that is no version", FOLDER / "odd"),
            ],
            "version": [
                *(
                    h
                    for h in count(7, optional=True)
                    if h.name
                    not in (
                        "int64",
                        "int32",
                        "a whole float",
                        "an array of one",
                        "True",
                        "huge",
                        "beyond int64",
                    )
                ),
                refused("beyond int64", 2**70),
                refused("2^63", 2**63),
                refused("a superscript", "\u00b2"),
            ],
            "preprocessing": [
                refused("text", "hostile"),
                refused("a number", 3),
                refused("returns None", lambda x: None),
                refused("narrower", lambda x: x[:, :3]),
            ],
            "unit_range": choice("warn"),
            "card": [
                refused("text", "hostile"),
                refused("a number", 3),
                refused("another key", {"hostile": 1}),
                refused("NaN", {"metrics": {"accuracy": float("nan")}}),
                refused("an array", {"data": {"x": X}}),
                anything("a licence", {"licence": "MIT | \n<b>"}),
            ],
            "gallery": [
                refused("text", "hostile"),
                refused("a model", GAUSSIAN),
                refused("empty", Gallery(GAUSSIAN)),
                refused("of another model", OTHER_GALLERY),
            ],
            "decoder": [refused("text", "hostile"), refused("a number", 3)],
            "max_rows": [
                refused("0", 0),
                refused("negative", -1),
                refused("text", "hostile"),
                refused("a fraction", 1.5),
            ],
            "num_neighbors": [
                refused("0", 0),
                refused("negative", -3),
                refused("text", "hostile"),
                refused("a fraction", 1.5),
            ],
            "max_values": [
                refused("0", 0),
                refused("negative", -1),
                refused("text", "hostile"),
                refused("a fraction", 1.5),
            ],
            "unchecked": [refused("text", "hostile"), refused("a number", 3)],
            "files": [
                refused("text", "hostile"),
                refused("a number", 3),
                refused("bytes", {"a": b"a"}),
                refused("a path", {"../a": "a"}),
                refused("empty", {"": "a"}),
                refused("the folder", {"..": "a"}),
                refused("a NUL", {"a\0": "a"}),
            ],
            "num_samples": chosen(
                count(4, optional=True),
                "int64",
                "int32",
                "huge",
                "beyond int64",
                "a whole float",
                "an array of one",
                "True",
            ),
        },
        together=(
            (
                "a version that is there",
                {
                    "directory": refused("taken", FOLDER / "taken"),
                    "version": refused("7", 7),
                },
            ),
        ),
        raises=(OSError, FileExistsError),
    ),
    "export.ImageDecoder": Entry(
        lambda image_shape, crop, max_pixels, contents: ImageDecoder(
            image_shape, crop=crop, max_pixels=max_pixels
        )("x_bytes", tf.constant(contents))[0].numpy(),
        {
            "image_shape": (2, 2, 3),
            "crop": False,
            "max_pixels": 100,
            "contents": [IMAGE],
        },
        {
            "image_shape": [
                refused("None", None),
                refused("two numbers", (2, 2)),
                refused("any size", (None, None, 3)),
                refused("negative", (-2, 2, 3)),
                refused("four channels", (2, 2, 4)),
            ],
            "crop": [refused("text", "hostile"), refused("None", None)],
            "max_pixels": [refused("0", 0), refused("too few", 11)],
            "contents": [
                refused("empty", [b""]),
                refused("text", [b"hostile"]),
                refused("truncated", [IMAGE[:-20]]),
                refused("only a header", [IMAGE, IMAGE[:30]]),
            ],
        },
        raises=(tf.errors.InvalidArgumentError,),
    ),
    "export.WaveDecoder": Entry(
        lambda sample_rate, max_samples, contents: WaveDecoder(
            sample_rate, max_samples=max_samples
        )("x_bytes", tf.constant(contents))[0].numpy(),
        {"sample_rate": 8000, "max_samples": 100, "contents": [SOUND]},
        {
            "sample_rate": [
                refused("0", 0),
                refused("text", "hostile"),
                refused("another", 16000),
            ],
            "max_samples": [refused("0", 0), refused("too few", 9)],
            "contents": [
                refused("empty", [b""]),
                refused("text", [b"hostile"]),
                refused("truncated", [SOUND[:-4]]),
                refused("only a header", [SOUND, SOUND[:44]]),
            ],
        },
        raises=(tf.errors.InvalidArgumentError,),
    ),
    "export.signature_table": Entry(
        lambda version_folder: [
            row.name for row in signature_table(version_folder)
        ],
        {"version_folder": exported_once()},
        {
            "version_folder": [
                refused("None", None),
                refused("no folder", FOLDER / "nowhere"),
                refused("a file", FOLDER / "file"),
                refused("a number", 3),
                refused("another folder", FOLDER),
            ]
        },
    ),
}
