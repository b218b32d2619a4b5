"""What is known of the classes of labelled inputs of a gallery."""

import pathlib

import numpy as np

from embeddings_tf.scoring import array_file
from embeddings_tf.scoring import gallery_file
from trainers.trained.galleries import training_classes
from trainers.trained.inputs import Inputs
from trainers.trained.moved_names import warn_of_lost
from trainers.trained.same_rows import require_same_rows
from trainers.trained.stored_paths import canonical_names
from trainers.trained.stored_paths import shown_names
from trainers.trained.trained import Trained

ENROLLED, TRAINING = "enrolled classes", "training classes"
CALIBRATION, OTHER = "calibration classes", "other classes"


def is_enrolled(
    gallery, path: pathlib.Path, inputs: Inputs, embeddings: np.ndarray
) -> np.ndarray:
    """Whether each input is itself an example of the gallery, `(n,)`.

    Args:
        gallery: The gallery.
        path: Its file, from whose folder on paths of examples are stored.
        inputs: The inputs.
        embeddings: Embeddings of the inputs, `(n, width)`.

    Raises:
        ValueError: As `require_same_rows`.
    """
    examples = gallery.examples_
    warn_of_lost(examples.names, path, inputs.full_names)
    known = canonical_names(shown_names(examples.names, path))
    require_same_rows(path, known, examples.embeddings, inputs, embeddings)
    return np.isin(canonical_names(inputs.full_names), known)


def groups_of_classes(
    trained: Trained, gallery, path: pathlib.Path, labels: np.ndarray
) -> dict[str, np.ndarray]:
    """Which inputs are of enrolled, training, calibration and other classes.

    Only the last group is what the gallery's false-accept rate is about. An
    enrolled class is in no other group.

    Args:
        trained: The run of the gallery.
        gallery: The gallery.
        path: Its file.
        labels: The names of the classes, `(n,)`.

    Returns:
        Booleans `(n,)` by group, without empty groups.
    """
    arrays, _ = array_file.read(path, gallery_file.KIND, ())
    left = np.ones(len(labels), bool)
    found = {}
    for name, classes in (
        (ENROLLED, gallery.classes_),
        (TRAINING, sorted(training_classes(trained))),
        (CALIBRATION, np.unique(arrays.get("calibration_labels", []))),
        (OTHER, labels),
    ):
        names = np.asarray(classes).astype(str)
        found[name] = left & np.isin(labels.astype(str), names)
        left &= ~found[name]
    return {name: rows for name, rows in found.items() if rows.any()}
