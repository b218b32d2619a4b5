"""Enrols classes in a gallery, without training.

`python -m trainers.enroll --workdir DIR --gallery FILE.npz photos`
"""

import argparse
import pathlib
import shlex
import sys
import unicodedata

from trainers import command_line
from trainers.terminal import command_names

SCORES = ("log_evidence", "nearest_distance")


def _class_name(text: str) -> str:
    """Returns a name as data has it: é and e + ´ are one name."""
    return unicodedata.normalize("NFC", text)


def parser() -> argparse.ArgumentParser:
    result = command_line.ArgumentParser(
        prog=command_names.display_name("trainers.enroll"),
        description="Enrol labelled examples in a gallery: a new one, or one "
        "that exists. Nothing is trained.",
        epilog="The threshold for the answer 'unknown' comes from classes that "
        "are neither trained on nor enrolled: by default, the validation "
        "classes of the run.",
    )
    command_line.add_inputs(
        result,
        "one folder with a subfolder per class, or one data set such as "
        "image_folder:PATH; or files of one class, with --class",
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
        type=_class_name,
        metavar="NAME",
        help="class of all inputs, if they are files",
    )
    result.add_argument(
        "--classes",
        nargs="+",
        action="extend",
        type=_class_name,
        metavar="NAME",
        help="enrol only these classes; a name that starts with - is written "
        "--classes=-NAME",
    )
    result.add_argument(
        "--examples-per-class",
        type=int,
        metavar="N",
        help="enrol only the first N examples of each class",
    )
    result.add_argument(
        "--remove",
        nargs="+",
        action="extend",
        type=_class_name,
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
        action="store_true",
        help="answer 'unknown' only by the threshold; default: also for inputs "
        "that do not look like the calibration examples, such as noise",
    )
    result.add_argument(
        "--no-threshold",
        action="store_true",
        help="no threshold, also of a gallery that has one: the answer is "
        "never 'unknown'",
    )
    return result


def enroll(arguments: argparse.Namespace) -> None:
    """Adds or removes classes, and writes the gallery."""
    from trainers.trained.answers_file import require_writable

    path = require_writable("--gallery", arguments.gallery, (".npz",))
    _check(arguments, path)
    from trainers.terminal.quiet import import_tensorflow
    from trainers.trained.stored_paths import workdir_of
    from trainers.trained.trained import require_trained

    if path.exists():
        workdir = workdir_of(path, arguments.workdir, "trainers.enroll")
    else:
        workdir = str(require_trained(arguments.workdir))
    import_tensorflow()
    from embeddings_tf.ops.locked_folder import locked_folder

    def say_so():
        print(
            "Waiting: another command changes a gallery in "
            f"{path.parent.resolve()}.",
            flush=True,
        )

    with locked_folder(path.parent, say_so):
        _enroll(arguments, path, workdir)


def _enroll(
    arguments: argparse.Namespace, path: pathlib.Path, workdir: str
) -> None:
    """Changes the gallery as it is now, with a lock on its folder."""
    from embeddings_tf.ops.counted import counted
    from embeddings_tf.scoring.open_set import require_free_answer
    from trainers.trained.galleries import calibrate
    from trainers.trained.galleries import calibration_inputs
    from trainers.trained.galleries import new_gallery
    from trainers.trained.galleries import open_gallery
    from trainers.trained.galleries import require_promise
    from trainers.trained.stored_paths import full_names
    from trainers.trained.stored_paths import stored_names
    from trainers.trained.trained import embed_inputs

    rate = arguments.false_accept_rate
    kept = kept_check = None  # of the calibration, if only the rate changes
    if path.exists():
        trained, gallery = open_gallery(
            path, workdir, own_code=arguments.workdir is not None
        )
        if arguments.score not in (None, gallery.score):
            raise ValueError(
                f"{path} uses the score {gallery.score}; received --score "
                f"{arguments.score}. Choose another --gallery"
            )
        if rate is None and gallery.calibration_ is not None:
            rate = gallery.false_accept_rate_
        if arguments.false_accept_rate and not arguments.calibration:
            kept, kept_check = gallery.held_out_examples_, gallery.typicality
        if arguments.no_threshold or _is_new_calibration(arguments):
            # The old examples may be too few for what is enrolled now.
            gallery.remove_threshold()
        _remove(gallery, dict.fromkeys(arguments.remove or ()))
    else:
        trained, gallery = new_gallery(
            path, workdir, arguments.score or SCORES[0]
        )
    known = gallery.examples_.names if path.exists() else ()
    enrolled = set(gallery.classes_) if path.exists() else set()
    found = None
    if arguments.inputs:
        found = _inputs_to_enroll(trained.run, arguments)
        require_free_answer(gallery.unknown, found.labels, "Rename the class")
        enrolled |= set(found.labels)
    others = None
    # Errors of the calibration come before the inputs are embedded.
    if kept is not None:
        require_promise(set(kept.labels) - enrolled, rate)
    elif _needs_calibration(arguments, gallery):
        others = calibration_inputs(
            trained, arguments.calibration, rate, enrolled
        )
    elif found is not None and gallery.calibration_ is not None:
        held_out = set(gallery.held_out_examples_.labels)
        require_promise(held_out - enrolled, rate)
    if found is not None:
        embeddings = embed_inputs(trained, found, "examples")
        # Rows have the same names in other data, and are other examples there.
        are_files = found.are_files
        names = full_names(found.names, arguments.inputs[0], are_files)
        names = stored_names(names, path, known, are_files=are_files)
        gallery.enroll(embeddings, found.labels, names)
        replaced = len(known) + len(names) - len(gallery.examples_)
        if replaced:
            print(f"Replaced {counted(replaced, 'example')} enrolled before.")
    if others is not None:
        check_inputs = not arguments.no_input_check
        calibrate(trained, gallery, others, rate, check_inputs)
    elif kept is not None:
        gallery.calibrate(kept.embeddings, kept.labels, rate)
        gallery.typicality = kept_check
    if arguments.no_input_check:
        gallery.typicality = None
    gallery.save(path)
    _report(path, gallery, arguments.workdir)
    _draw(gallery, trained.workdir)


def _remove(gallery, names) -> None:
    """Removes classes, once it is known that all can be removed."""
    from embeddings_tf.ops.counted import counted
    from embeddings_tf.ops.listed import listed

    known = gallery.classes_.tolist()
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
            "at least one. Enrol another class first, or start a new gallery"
        )
    for name in names:
        gallery.remove(name)


def _inputs_to_enroll(run, arguments: argparse.Namespace):
    """Reads the wanted inputs, with their labels."""
    from trainers.trained.galleries import rows_to_enroll
    from trainers.trained.inputs import read_inputs

    found = read_inputs(run, arguments.inputs, arguments.split)
    if arguments.label is not None:
        if found.labels is not None:
            raise ValueError(
                "--class is for files; the folders or the data set have "
                "classes. Leave it out, or choose with --classes"
            )
        found = found.with_labels(arguments.label)
    return found.take(
        rows_to_enroll(found, arguments.classes, arguments.examples_per_class)
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


def _check(arguments, path) -> None:
    """Checks the flags against each other, before anything is loaded."""
    if arguments.calibration == "":
        raise ValueError(
            "--calibration is empty; name a folder or data (. is the current "
            "folder), or leave it out"
        )
    if not path.exists() and not arguments.workdir:
        raise ValueError(
            f"there is no gallery {path} yet; name the run of its model with "
            "--workdir"
        )
    if not (arguments.inputs or arguments.remove):
        changes = (
            arguments.calibration,
            arguments.false_accept_rate,
            arguments.no_threshold,
            arguments.no_input_check,
        )
        if not (path.exists() and any(changes)):
            raise ValueError(
                "name what to enrol: a folder with a subfolder per class, or "
                "a data set"
            )
    of_inputs = {
        "--class": arguments.label,
        "--classes": arguments.classes,
        "--examples-per-class": arguments.examples_per_class,
        "--split": arguments.split,
    }
    unused = [flag for flag, value in of_inputs.items() if value]
    if unused and not arguments.inputs:
        raise ValueError(
            f"{unused[0]} chooses among inputs, but there are none; name what "
            f"to enrol, or leave out {', '.join(unused)}"
        )
    if arguments.remove and not path.exists():
        raise ValueError(f"--remove: there is no gallery {path}")
    label = arguments.label
    if label is not None and (not label or label != label.strip()):
        raise ValueError(
            "--class must be a name without blanks around it; received "
            f"{label!r}"
        )
    count = arguments.examples_per_class
    if count is not None and count < 1:
        raise ValueError(
            f"--examples-per-class must be at least 1; received {count}"
        )
    rate = arguments.false_accept_rate
    if rate is not None and not 0 < rate < 1:
        raise ValueError(
            "--false-accept-rate must be between 0 and 1, for example 0.05; "
            f"received {rate}"
        )
    if arguments.no_threshold and (rate or arguments.calibration):
        raise ValueError(
            "--no-threshold contradicts --false-accept-rate and --calibration"
        )


def _needs_calibration(arguments, gallery) -> bool:
    if arguments.no_threshold:
        return False
    return _is_new_calibration(arguments) or gallery.calibration_ is None


def _is_new_calibration(arguments) -> bool:
    return bool(arguments.calibration or arguments.false_accept_rate)


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
    return command_line.run(enroll, parser().parse_args(words))


if __name__ == "__main__":
    sys.exit(main())
