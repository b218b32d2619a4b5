"""Writes and reads the file of a gallery."""

import contextlib
import pathlib
import tempfile
from collections.abc import Iterator

import keras
import numpy as np

from embeddings_tf.models.embed_batch import embedded_rows
from embeddings_tf.models.embed_batch import require_squares
from embeddings_tf.ops import arguments
from embeddings_tf.scoring import array_file
from embeddings_tf.scoring.fingerprint import fingerprint
from embeddings_tf.scoring.gallery_state import GalleryState
from embeddings_tf.scoring.labelled_embeddings import LabelledEmbeddings
from embeddings_tf.scoring.labelled_embeddings import labelled_embeddings
from embeddings_tf.scoring.open_set import checked_typicality
from embeddings_tf.scoring.open_set import require_free_answer
from embeddings_tf.scoring.typicality import Typicality

KIND = "a gallery of embeddings_tf"
SAMPLING = ("num_samples", "seed", "batch_size")
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
_CALIBRATION = "calibration_"  # before the names of its arrays


def save(gallery, path, include_model: bool) -> None:
    """Writes a gallery; `Gallery.save` describes it."""
    path = arguments.path("path", path)
    include_model = arguments.truth("include_model", include_model)
    arrays = {part: getattr(gallery.examples_, part) for part in _PARTS}
    held_out = gallery.held_out_examples_
    if held_out is not None:
        for part in _PARTS[:2]:
            arrays[_CALIBRATION + part] = getattr(held_out, part)
    typicality = None
    if (check := checked_typicality(gallery.typicality)) is not None:
        typicality = check.to_dict()
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
    embedded = arguments.truth("embedded", embedded)
    arrays, settings = array_file.read(path, KIND, _NEEDED)
    _require_parts(path, arrays, settings)
    if model is None:
        if "model" not in arrays:
            raise ValueError(
                f"{path} does not contain its model; pass the model, of "
                f"{settings['source'] or 'the training'}, or save the gallery "
                "with include_model=True."
            )
        model = _model_of_bytes(path, arrays["model"])
    require_fingerprint(path, settings, model)
    with _damaged_if_refused(path):
        gallery = cls(
            model,
            score=settings["score"],
            unknown=settings["unknown"],
            embedded=embedded,
            typicality=_typicality(arrays, settings),
            source=settings["source"],
            **_sampling(settings),
        )
        gallery.state = _state(model, arrays, settings)
        require_free_answer(gallery.unknown, gallery.examples_.labels)
    return gallery


@contextlib.contextmanager
def _damaged_if_refused(path) -> Iterator[None]:
    """Says that a file is damaged if its content raises ValueError."""
    try:
        yield
    except ValueError as error:
        raise ValueError(
            f"{path} must be a file written by `save`; received damaged "
            f"content. {error} Save the gallery again."
        ) from error


def _require_parts(path, arrays, settings) -> None:
    """Raises ValueError if arrays of the calibration or check are missing."""
    needed = []
    if settings["calibration"] is not None:
        needed += [_CALIBRATION + part for part in _PARTS[:2]]
    if settings["typicality"] is not None:
        needed += [f"typicality_{part}" for part in _TYPICALITY]
    array_file.require_names(path, KIND, arrays, needed)


def _sampling(settings) -> dict:
    sampling = dict(arguments.mapping("sampling", settings["sampling"]))
    if set(sampling) != {*SAMPLING}:
        raise ValueError(
            f"`sampling` must have {', '.join(SAMPLING)}; received "
            f"{sampling!r}."
        )
    return sampling


def _state(model, arrays, settings) -> GalleryState:
    examples = _examples(model, arrays)
    threshold, how = settings["threshold"], settings["calibration"]
    if how is None:
        if threshold is not None:
            raise ValueError(
                "`threshold` must be null without a calibration; received "
                f"{threshold!r}."
            )
        return GalleryState(examples)
    rate = settings["false_accept_rate"]
    if rate is not None:
        rate = arguments.number_between("false_accept_rate", rate, 0, 1)
    return GalleryState(
        examples,
        _examples(model, arrays, _CALIBRATION),
        rate,
        arguments.finite_number("threshold", threshold),
        _calibration(how),
    )


def _calibration(how) -> dict:
    """Checks how the threshold was obtained, as in `Gallery.calibration_`."""
    how = dict(arguments.mapping("calibration", how))
    for name in ("false_accept_rate", "calibration_rate"):
        arguments.number_at_least(name, how.get(name), 0, 1)
    for name in ("num_classes", "num_examples"):
        arguments.positive_integer(name, how.get(name))
    arguments.text("method", how.get("method"))
    return how


def _examples(model, arrays, prefix: str = "") -> LabelledEmbeddings:
    """Returns the enrolled or, with a prefix, the calibration examples."""
    name, labels, names = (prefix + part for part in _PARTS)
    rows = slice(0, arguments.num_rows(name, arrays[name]))
    found = embedded_rows(name, model, arrays[name], rows)
    return labelled_embeddings(
        require_squares(name, found), arrays[labels], arrays.get(names)
    )


def _typicality(arrays, settings) -> Typicality | None:
    values = settings["typicality"]
    if values is None:
        return None
    found = {part: arrays[f"typicality_{part}"] for part in _TYPICALITY}
    return Typicality.from_dict(
        {**arguments.mapping("typicality", values), **found}
    )


def examples_of(path: pathlib.Path, model) -> LabelledEmbeddings:
    """Returns the enrolled examples in a file.

    Raises:
        ValueError: If the file is not a gallery, is damaged, or is of another
            model.
    """
    arrays, settings = array_file.read(path, KIND, _NEEDED)
    require_fingerprint(path, settings, model)
    with _damaged_if_refused(path):
        return _examples(model, arrays)


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
