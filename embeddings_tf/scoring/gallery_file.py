"""Writes and reads the file of a gallery."""

import pathlib
import tempfile

import keras
import numpy as np

from embeddings_tf.ops import arguments
from embeddings_tf.scoring import array_file
from embeddings_tf.scoring.fingerprint import fingerprint
from embeddings_tf.scoring.gallery_state import GalleryState
from embeddings_tf.scoring.labelled_embeddings import LabelledEmbeddings
from embeddings_tf.scoring.labelled_embeddings import labelled_embeddings
from embeddings_tf.scoring.typicality import Typicality

KIND = "a gallery of embeddings_tf"
_PARTS = ("embeddings", "labels", "names")
_NEEDED = (
    *_PARTS,
    "fingerprint",
    "source",
    "score",
    "unknown",
    "sampling",
    "threshold",
    "calibration",
    "false_accept_rate",
    "typicality",
)
_TYPICALITY = ("mean", "scale", "components")


def save(gallery, path, include_model: bool) -> None:
    """Writes a gallery; `Gallery.save` describes it."""
    path = arguments.path("path", path)
    include_model = arguments.truth("include_model", include_model)
    arrays = {part: getattr(gallery.examples_, part) for part in _PARTS}
    held_out = gallery.held_out_examples_
    if held_out is not None:
        for part in _PARTS[:2]:
            arrays[f"calibration_{part}"] = getattr(held_out, part)
    typicality = None
    if gallery.typicality is not None:
        typicality = gallery.typicality.to_dict()
        for part in _TYPICALITY:
            arrays[f"typicality_{part}"] = typicality.pop(part)
    if include_model:
        arrays["model"] = _model_as_bytes(gallery.model)
    settings = {
        "kind": KIND,
        "fingerprint": fingerprint(gallery.model),
        "source": str(gallery.source),
        "score": gallery.score,
        "unknown": gallery.unknown,
        "sampling": gallery.sampling,
        "threshold": gallery.threshold_,
        "calibration": gallery.calibration_,
        "false_accept_rate": gallery.false_accept_rate_,
        "typicality": typicality,
    }
    array_file.write(path, arrays, settings)


def load(cls, path, model, embedded: bool):
    """Reads a gallery; `Gallery.load` describes it."""
    path = arguments.path("path", path)
    arrays, settings = array_file.read(path, KIND, _NEEDED)
    if model is None:
        if "model" not in arrays:
            raise ValueError(
                f"{path} does not contain its model; pass the model, of "
                f"{settings['source'] or 'the training'}, or save the gallery "
                "with include_model=True."
            )
        model = _model_of_bytes(path, arrays["model"])
    require_fingerprint(path, settings, model)
    gallery = cls(
        model,
        score=settings["score"],
        unknown=settings["unknown"],
        embedded=embedded,
        typicality=_typicality(arrays, settings),
        source=settings["source"],
        **settings["sampling"],
    )
    gallery.state = _state(arrays, settings)
    return gallery


def _state(arrays, settings) -> GalleryState:
    examples = labelled_embeddings(*(arrays[part] for part in _PARTS))
    calibration = settings["calibration"]
    if calibration is None:
        return GalleryState(examples, threshold=settings["threshold"])
    held_out = [arrays[f"calibration_{part}"] for part in _PARTS[:2]]
    return GalleryState(
        examples,
        labelled_embeddings(*held_out),
        settings["false_accept_rate"],
        settings["threshold"],
        calibration,
    )


def _typicality(arrays, settings) -> Typicality | None:
    values = settings["typicality"]
    if values is None:
        return None
    found = {part: arrays[f"typicality_{part}"] for part in _TYPICALITY}
    return Typicality.from_dict({**values, **found})


def examples_of(path: pathlib.Path, model) -> LabelledEmbeddings:
    """Returns the enrolled examples in a file.

    Raises:
        ValueError: If the file is not a gallery, or of another model.
    """
    arrays, settings = array_file.read(path, KIND, _NEEDED)
    require_fingerprint(path, settings, model)
    return labelled_embeddings(*(arrays[part] for part in _PARTS))


def require_fingerprint(path, settings: dict, model) -> None:
    """Raises ValueError unless the file's embeddings are of this model."""
    found = fingerprint(arguments.keras_layer("model", model))
    if found != settings.get("fingerprint"):
        raise ValueError(
            f"{path} contains embeddings of another model (fingerprint "
            f"{settings.get('fingerprint')}; this model has {found}). Use the "
            f"model of {settings.get('source') or 'its training'}, or enroll "
            "again with this one."
        )


def _model_as_bytes(model) -> np.ndarray:
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "model.keras"
        keras.saving.save_model(model, path)
        return np.frombuffer(path.read_bytes(), np.uint8)


def _model_of_bytes(path, content: np.ndarray):
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "model.keras"
        file.write_bytes(content.tobytes())
        try:
            # Compiled, because a plain loss decides how embeddings compare.
            return keras.saving.load_model(file)
        except (KeyError, TypeError, ValueError) as error:
            reason = str(error).partition("\n")[0]
            raise ValueError(
                f"The model in {path} cannot be loaded: {reason}"
            ) from error
