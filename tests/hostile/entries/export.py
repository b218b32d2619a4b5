"""Export: models, folders, versions."""

import pathlib

import keras

from embeddings_tf.export import export_saved_model
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
}
