"""Galleries of a trained run, for the commands that use one."""

import dataclasses
import math
import pathlib

import numpy as np

from embeddings_tf import scoring
from embeddings_tf.metrics.arrays import rounded_up
from embeddings_tf.ops.counted import counted
from embeddings_tf.ops.listed import listed
from embeddings_tf.scoring.open_set import DEFAULT_RATE
from trainers.data.classes import classes_of
from trainers.data.classes import require_same_classes
from trainers.data.classes import trained_names
from trainers.data.data import Data
from trainers.terminal.progress import counted_images
from trainers.trained.inputs import Inputs
from trainers.trained.inputs import inputs_of_split
from trainers.trained.inputs import read_inputs
from trainers.trained.moved_names import moved_names
from trainers.trained.stored_paths import relative_path
from trainers.trained.trained import Trained
from trainers.trained.trained import embed_inputs
from trainers.trained.trained import open_trained
from trainers.workdirs.other_data_error import OtherDataError


def new_gallery(path: pathlib.Path, workdir: str, score: str):
    """Returns the trained run of a workdir, and an empty gallery of it."""
    trained = open_trained(workdir)
    gallery = scoring.Gallery(
        trained.model,
        score=score,
        embedded=True,
        source=relative_path(trained.workdir, path),
    )
    return trained, gallery


def open_gallery(path: pathlib.Path, workdir: str, *, own_code: bool):
    """Returns the trained run of a gallery, and the gallery.

    Args:
        path: File of the gallery.
        workdir: Folder of the run.
        own_code: Whether the user named the run, as in `open_trained`.

    Raises:
        ValueError: If the file is damaged, or of another model.
    """
    trained = open_trained(workdir, own_code=own_code)
    gallery = scoring.Gallery.load(path, trained.model, embedded=True)
    if own_code:  # the run or the gallery may have moved
        examples = gallery.examples_
        names = moved_names(examples.names, path, trained.workdir)
        if (names != examples.names).any():
            examples = dataclasses.replace(examples, names=names)
            gallery.state = dataclasses.replace(
                gallery.state, examples=examples
            )
        gallery.source = relative_path(trained.workdir, path)
    return trained, gallery


def rows_to_enroll(found: Inputs, classes, examples_per_class) -> np.ndarray:
    """Returns the rows of the wanted classes, in order.

    Raises:
        ValueError: If the inputs have no labels, a class does not exist, or no
            class is wanted.
    """
    if classes is not None and not len(classes):
        raise ValueError(
            "--classes is empty; name at least one class, or leave it out to "
            "enroll all"
        )
    if found.labels is None:
        raise ValueError(
            "the inputs have no classes; name their class with --class, or "
            "put them into a folder with a subfolder per class"
        )
    known = np.unique(found.labels)
    missing = [name for name in classes or () if name not in known]
    if missing:
        raise ValueError(
            f"--classes: the inputs have no class {missing[0]!r}; they have "
            f"{listed(known.tolist())}"
        )
    rows = []
    for name in known if classes is None else dict.fromkeys(classes):
        rows.append(np.flatnonzero(found.labels == name)[:examples_per_class])
    return np.sort(np.concatenate(rows))


def calibration_inputs(
    trained: Trained,
    calibration: str | None,
    false_accept_rate: float | None,
    enrolled: set[str],
) -> Inputs:
    """Returns examples of other classes, which can promise the rate.

    Args:
        trained: The run of the gallery.
        calibration: As in `held_out`.
        false_accept_rate: As in `require_promise`.
        enrolled: Names of the classes that the gallery will have.

    Raises:
        ValueError: As `held_out` and, for the run's own classes,
            `require_own_classes`, or if the classes cannot promise the rate.
    """
    or_else = (
        ", or take --no-threshold each time that you enroll: then no answer "
        "is 'unknown'"
    )
    found = held_out(trained, calibration, or_else=or_else)
    if calibration is None:
        require_own_classes(trained, or_else)
    require_promise(set(found.labels) - enrolled, false_accept_rate)
    return found


def require_promise(others: set[str], false_accept_rate: float | None) -> None:
    """Raises ValueError unless calibration classes can promise the rate.

    Args:
        others: Names of the calibration classes that are not enrolled.
        false_accept_rate: Promised rate; None: 0.05, or the smallest that the
            number of classes can promise, which is printed if it is higher.

    Raises:
        ValueError: If the classes cannot promise the rate.
    """
    if not others:
        raise ValueError(
            "every calibration class is enrolled, so none can set a threshold; "
            "enroll other classes (--split train, a folder of new classes), "
            "name --calibration FOLDER with others, or --no-threshold"
        )
    smallest = 1 / (len(others) + 1)
    if false_accept_rate is None:
        if smallest > DEFAULT_RATE:
            print(
                f"{not_enrolled(len(others))} can promise a false-accept rate "
                f"of {rounded_up(smallest)} or more; {DEFAULT_RATE} needs "
                f"{round(1 / DEFAULT_RATE) - 1}.",
                flush=True,
            )
    elif false_accept_rate < smallest * (1 - 1e-9):
        number = counted(
            len(others), "calibration class", "calibration classes"
        )
        raise ValueError(
            f"--false-accept-rate {false_accept_rate:g} must be at least "
            f"1 / (classes + 1), {rounded_up(smallest)} with {number}. "
            f"Take --false-accept-rate {rounded_up(smallest)}, --calibration "
            "with a folder of more classes, or --no-threshold"
        )


def not_enrolled(count: int) -> str:
    """Returns the number of classes for a message."""
    return counted(
        count, "class that is not enrolled", "classes that are not enrolled"
    )


def calibrate(
    trained: Trained,
    gallery,
    inputs: Inputs,
    false_accept_rate: float | None,
    input_check: bool,
) -> None:
    """Sets the threshold of a gallery, and its check of inputs.

    Args:
        trained: The run of the gallery.
        gallery: The gallery.
        inputs: From `calibration_inputs`.
        false_accept_rate: As in `require_promise`.
        input_check: As in `Recalibration`.
    """
    embeddings = embed_inputs(
        trained, inputs, "examples of classes that are not enrolled"
    )
    gallery.calibrate(embeddings, inputs.labels, false_accept_rate)
    gallery.typicality = fitted_typicality(inputs) if input_check else None


def fitted_typicality(found: Inputs) -> scoring.Typicality | None:
    """Returns the check of inputs, or None if the examples do not allow it."""
    check, there = scoring.Typicality(), len(found.labels)
    try:
        x = counted_images(found.x, times=2)  # the two halves of the classes
        return check.fit(x, found.labels)
    except ValueError as error:
        # Further sentences are about arguments in Python.
        reason = str(error).partition(". ")[0].rstrip(".")
        # Half of the classes set the threshold; the PCA takes the rest.
        needed = 2 * (math.ceil(1 / check.refused) - 1)
        count = ""
        if there < needed and "for the threshold" in reason:
            count = (
                f"The check needs about {needed} calibration examples, and "
                f"there {'is' if there == 1 else 'are'} {there}. "
            )
        print(
            f"Inputs are not checked: {reason}. Name more examples with "
            "--calibration, or leave the check out with --no-input-check.\n"
            f"{count}Inputs such as noise may be accepted.",
            flush=True,
        )
        return None


def held_out(
    trained: Trained,
    calibration: str | None,
    *,
    processed: bool = True,
    or_else: str = "",
) -> Inputs:
    """Returns examples of classes on which the model was not trained.

    Args:
        trained: The run.
        calibration: A folder or data set; None: the validation classes of the
            run.
        processed: Whether examples are as the model takes them; False:
            recordings and images as they are, which computes nothing.
        or_else: Another remedy for classes of the training, for the error.

    Raises:
        ValueError: If there are no classes, or classes of the training.
    """
    run = trained.run
    if calibration is None:
        what = f"the split {run.evaluation.validation.split} of the run"
        split = run.evaluation.validation.split
        found = inputs_of_split(run, split, processed=processed)
    else:
        what = f"--calibration {calibration}"
        remedy = (
            "--calibration reads all examples of its data: name a folder or a "
            "file of your own."
        )
        found = read_inputs(
            run, [calibration], processed=processed, remedy=remedy
        )
    if found.labels is None:
        raise ValueError(
            f"{what} has no classes; name a folder with a subfolder per class, "
            "or a data set"
        )
    both = sorted({*found.labels.tolist()} & training_classes(trained))
    if both:
        raise ValueError(
            f"{what} has classes of the training, such as {both[0]!r}, which "
            "say nothing about other classes; name data of other classes with "
            f"--calibration{or_else}"
        )
    return found


def require_own_classes(trained: Trained, or_else: str = "") -> None:
    """Checks that the run's own data still has the classes of the training.

    Args:
        trained: The run.
        or_else: As in `held_out`.

    Raises:
        OtherDataError: If it does not: a class may have another name than
            when it was trained on.
    """
    run = trained.run
    try:
        require_same_classes(trained.workdir, classes_of(run, Data(run)))
    except OtherDataError as error:
        raise OtherDataError(
            f"{error}. Or name data of other classes with --calibration"
            f"{or_else}"
        ) from error


def training_classes(trained: Trained) -> set[str]:
    """Names of the classes, as the training wrote them or from its data."""
    split = trained.run.data.split
    names = trained_names(trained.workdir, split)
    if names is None:
        names = set(Data(trained.run).names_of_classes(split).tolist())
    return names
