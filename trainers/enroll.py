"""Enrolls classes in a gallery, without training.

`python -m trainers.enroll --workdir DIR --gallery FILE.npz photos`
"""

import argparse
import dataclasses
import pathlib
import shlex
import sys
import unicodedata
from collections.abc import Sequence

from trainers import command_line
from trainers.checked_arguments import checked_arguments
from trainers.terminal import command_names
from trainers.trained.recalibration import Recalibration

SCORES = ("log_evidence", "nearest_distance")


def _class_name(text: str) -> str:
    """Returns a name as data has it: é and e + ´ are one name."""
    return unicodedata.normalize("NFC", text)


def parser() -> argparse.ArgumentParser:
    result = command_line.ArgumentParser(
        prog=command_names.display_name("trainers.enroll"),
        description="Enroll labelled examples in a gallery: a new one, or one "
        "that exists. Nothing is trained.",
        epilog="The threshold for the answer 'unknown' comes from classes that "
        "are neither trained on nor enrolled: by default, the validation "
        "classes of the run.",
    )
    command_line.add_inputs(
        result,
        "one folder with a subfolder per class, or one data set such as "
        "image_folder:PATH; or files of one class, with --class",
        default_split="all",
    )
    result.add_argument(
        "--gallery",
        required=True,
        metavar="FILE.npz",
        help="file of the gallery; if it exists, classes are added",
    )
    result.add_argument(
        "--workdir", help="folder of the run; needed for a new gallery"
    )
    result.add_argument(
        "--class",
        dest="label",
        metavar="NAME",
        help="class of all inputs, if they are files",
    )
    result.add_argument(
        "--classes",
        nargs="+",
        action="extend",
        metavar="NAME",
        help="enroll only these classes; a name that starts with - is written "
        "--classes=-NAME",
    )
    result.add_argument(
        "--examples-per-class",
        type=int,
        metavar="N",
        help="enroll only the first N examples of each class",
    )
    result.add_argument(
        "--remove",
        nargs="+",
        action="extend",
        default=[],
        metavar="NAME",
        help="remove these classes; a name that starts with - is written "
        "--remove=-NAME",
    )
    result.add_argument(
        "--score",
        choices=SCORES,
        help="score that is compared with the threshold; default: log_evidence",
    )
    result.add_argument(
        "--false-accept-rate",
        type=float,
        metavar="RATE",
        help="promised rate of inputs of other classes that are accepted; "
        "default: as chosen for the gallery; else 0.05, or what the number of "
        "calibration classes can promise",
    )
    result.add_argument(
        "--calibration",
        metavar="DATA",
        help="folder or data set with classes that are not enrolled, of which "
        "all examples are read, so not a set without a split 'all', such as "
        "n_digit; default: as in the gallery; else the validation split of the "
        "run",
    )
    result.add_argument(
        "--no-input-check",
        dest="input_check",
        action="store_false",
        help="answer 'unknown' only by the threshold; default: also for inputs "
        "that do not look like the calibration examples, such as noise",
    )
    result.add_argument(
        "--no-threshold",
        dest="threshold",
        action="store_false",
        help="no threshold, also of a gallery that has one: the answer is "
        "never 'unknown'",
    )
    return result


@checked_arguments(score=SCORES)
def enroll(
    gallery: str,
    inputs: Sequence[str] = (),
    workdir: str | None = None,
    *,
    split: str = "",
    label: str | None = None,
    classes: Sequence[str] | None = None,
    examples_per_class: int | None = None,
    remove: Sequence[str] = (),
    score: str | None = None,
    false_accept_rate: float | None = None,
    calibration: str | None = None,
    input_check: bool = True,
    threshold: bool = True,
) -> None:
    """Adds or removes classes, and writes the gallery.

    Args:
        gallery: File of the gallery; a new one, or one that is changed.
        inputs: One folder with a subfolder per class or one data set; or files
            of one class, with `label`.
        workdir: Folder of the run; None: as in the gallery.
        split: Split of the data; "": all.
        label: Class of all inputs, if they are files.
        classes: The only classes that are enrolled; None: all.
        examples_per_class: Only the first examples of each class; None: all.
        remove: Classes that are removed.
        score: Name in `SCORES`; None: as in the gallery, or the first.
        false_accept_rate, calibration, input_check, threshold: As in
            `Recalibration`.
    """
    from trainers.trained.written_files import writable_file

    path = writable_file("--gallery", gallery, (".npz",))
    chosen = _Chosen(
        inputs,
        split,
        None if label is None else _class_name(label),
        None if classes is None else [*map(_class_name, classes)],
        examples_per_class,
    )
    removed = list(dict.fromkeys(map(_class_name, remove)))
    calibrated = Recalibration(
        false_accept_rate, calibration, threshold, input_check
    )
    _check(path, workdir, chosen, removed, calibrated)
    chosen.check()
    calibrated.check()
    from trainers.terminal.quiet import import_tensorflow
    from trainers.trained.stored_paths import folder_of
    from trainers.trained.stored_paths import workdir_of
    from trainers.trained.trained import require_trained

    if path.exists():
        source = workdir_of(path, workdir, "trainers.enroll")
    else:
        source = str(require_trained(workdir))
    import_tensorflow()
    from embeddings_tf.ops.locked_folder import locked_folder

    folder = pathlib.Path(folder_of(path))

    def say_so():
        print(
            f"Waiting: another command changes a gallery in {folder}.",
            flush=True,
        )

    with locked_folder(folder, say_so):
        trained, opened = _opened(path, source, workdir is not None, score)
        _change(trained, opened, path, chosen, removed, calibrated)
        opened.save(path)
        _report(path, opened, workdir)
        _draw(opened, trained.workdir)


@dataclasses.dataclass(frozen=True)
class _Chosen:
    """The examples that are enrolled, as the flags of this command say."""

    inputs: Sequence[str]
    split: str
    label: str | None
    classes: list[str] | None
    examples_per_class: int | None

    def check(self) -> None:
        """Checks the flags, before anything is loaded."""
        of_inputs = {
            "--class": self.label,
            "--classes": self.classes,
            "--examples-per-class": self.examples_per_class,
            "--split": self.split,
        }
        unused = [flag for flag, value in of_inputs.items() if value]
        if unused and not self.inputs:
            raise ValueError(
                f"{unused[0]} chooses among inputs, but there are none; name "
                f"what to enroll, or leave out {', '.join(unused)}"
            )
        label, count = self.label, self.examples_per_class
        if label is not None and (not label or label != label.strip()):
            raise ValueError(
                "--class must be a name without blanks around it; received "
                f"{label!r}"
            )
        if count is not None and count < 1:
            raise ValueError(
                f"--examples-per-class must be at least 1; received {count}"
            )

    def read(self, run):
        """Returns the examples with their labels; None without inputs."""
        from trainers.trained.galleries import rows_to_enroll
        from trainers.trained.inputs import read_inputs

        if not self.inputs:
            return None
        found = read_inputs(run, self.inputs, self.split)
        if self.label is not None:
            if found.labels is not None:
                raise ValueError(
                    "--class is for files; the folders or the data set have "
                    "classes. Leave it out, or choose with --classes"
                )
            found = found.with_labels(self.label)
        return found.take(
            rows_to_enroll(found, self.classes, self.examples_per_class)
        )


def _opened(path: pathlib.Path, workdir: str, own_code: bool, score):
    """Returns the run of a gallery, and the gallery as it is now, or empty."""
    from trainers.trained.galleries import new_gallery
    from trainers.trained.galleries import open_gallery

    if not path.exists():
        return new_gallery(path, workdir, score or SCORES[0])
    trained, gallery = open_gallery(path, workdir, own_code=own_code)
    if score not in (None, gallery.score):
        raise ValueError(
            f"{path} uses the score {gallery.score}; received --score "
            f"{score}. Choose another --gallery"
        )
    return trained, gallery


def _change(trained, gallery, path, chosen, removed, calibrated) -> None:
    """Changes the classes of a gallery and its calibration."""
    from embeddings_tf.scoring.open_set import require_free_answer

    enrolled = set(gallery.classes_.tolist()) if path.exists() else set()
    if removed:
        _require_removable(removed, gallery.classes_.tolist())
    found = chosen.read(trained.run)
    enrolled -= set(removed)
    if found is not None:
        remedy = "Rename the class"
        if chosen.label is None:
            remedy += ", or name the others with --classes"
        require_free_answer(gallery.unknown, found.labels, remedy)
        enrolled |= set(found.labels)
    calibrate = calibrated.prepare(
        trained, gallery, enrolled, is_added=found is not None
    )
    for name in removed:
        gallery.remove(name)
    if found is not None:
        _add(trained, gallery, path, found)
    calibrate()


def _add(trained, gallery, path: pathlib.Path, found) -> None:
    """Embeds examples and enrolls them."""
    from embeddings_tf.ops.counted import counted
    from trainers.trained.moved_names import warn_of_lost
    from trainers.trained.stored_paths import stored_names
    from trainers.trained.trained import embed_inputs

    known = ()
    if path.exists():
        known = gallery.examples_.names
        warn_of_lost(known, path, found.full_names)
    embeddings = embed_inputs(trained, found, "examples")
    # Rows have the same names in other data, and are other examples there.
    names = stored_names(
        found.full_names, path, known, are_files=found.are_files
    )
    gallery.enroll(embeddings, found.labels, names)
    replaced = len(known) + len(names) - len(gallery.examples_)
    if replaced:
        print(f"Replaced {counted(replaced, 'example')} enrolled before.")


def _require_removable(names: list[str], known: list[str]) -> None:
    """Checks that a gallery has all classes to remove, and others."""
    from embeddings_tf.ops.counted import counted
    from embeddings_tf.ops.listed import listed

    missing = [repr(name) for name in names if name not in known]
    if missing:
        raise ValueError(
            f"--remove: {listed(missing)} "
            f"{'is' if len(missing) == 1 else 'are'} not enrolled; the gallery "
            f"has {listed([repr(name) for name in known], 8)}"
        )
    if len(names) == len(known):
        raise ValueError(
            "--remove names every class of the gallery, "
            f"{counted(len(known), 'class', 'classes')}, and a gallery needs "
            "at least one. Enroll another class first, or start a new gallery"
        )


def _draw(gallery, workdir) -> None:
    """Draws the scores of the calibration examples, with the threshold."""
    examples = gallery.calibration_examples_
    if examples is None:
        print("No picture: scores are drawn with a new threshold.")
        return
    from trainers.terminal.pictures import save_picture

    scores = gallery.score_samples(examples.embeddings)
    rate = gallery.calibration_["false_accept_rate"]

    def draw():
        from embeddings_tf import viz

        return viz.score_histogram_figure(
            {"classes that are not enrolled": scores},
            gallery.threshold_,
            name=gallery.score.replace("_", " "),
            title=f"calibration of the threshold, promised: {100 * rate:.3g} % "
            "on average over classes",
        )

    save_picture(draw, workdir / "enroll.png")


def _check(path, workdir, chosen, removed, calibrated) -> None:
    """Checks that there is a gallery or a run, and something to change."""
    if not path.exists() and not workdir:
        raise ValueError(
            f"there is no gallery {path} yet; name the run of its model with "
            "--workdir"
        )
    if not (chosen.inputs or removed):
        if not (path.exists() and calibrated.is_asked):
            raise ValueError(
                "name what to enroll: a folder with a subfolder per class, or "
                "a data set"
            )
    if removed and not path.exists():
        raise ValueError(f"--remove: there is no gallery {path}")


def _report(path, gallery, workdir) -> None:
    from embeddings_tf.ops.counted import counted
    from embeddings_tf.ops.listed import listed
    from trainers.trained.galleries import not_enrolled

    classes = gallery.classes_
    print(
        f"Wrote {path}: {counted(len(gallery.examples_), 'example')} of "
        f"{counted(len(classes), 'class', 'classes')}, {listed([*classes])}."
    )
    found = gallery.calibration_
    if found is None:
        print("No threshold: the answer is never 'unknown'.")
    else:
        print(
            f"Unknown below {gallery.score} {gallery.threshold_:.6g}: accepts "
            f"at most {100 * found['false_accept_rate']:.3g} % of inputs of "
            "other classes, on average over such classes.\n"
            f"Calibrated on {counted(found['num_examples'], 'example')} of "
            f"{not_enrolled(found['num_classes'])}, of which "
            f"{100 * found['calibration_rate']:.1f} % are accepted."
        )
    if gallery.typicality is not None:
        print(
            "Unknown, too: inputs that do not look like the calibration "
            f"examples; of inputs like these, about "
            f"{100 * gallery.typicality.refused:g} %."
        )
    print(
        f"Next: {command_names.shell_command('trainers.identify')} "
        + (f"--workdir {shlex.quote(workdir)} " if workdir else "")
        + f"--gallery {shlex.quote(str(path))} INPUT"
    )


def main(words=None) -> int:
    return command_line.run(enroll, **vars(parser().parse_args(words)))


if __name__ == "__main__":
    sys.exit(main())
