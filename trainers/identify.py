"""Identifies inputs among the classes of a gallery, or as unknown.

`python -m trainers.identify --gallery FILE.npz photo.jpg`
"""

import argparse
import os
import pathlib
import shlex
import sys
from collections.abc import Sequence

from trainers import command_line
from trainers.checked_arguments import checked_arguments
from trainers.terminal import command_names
from trainers.trained.answers_file import MOST_LINES
from trainers.trained.answers_file import answers_paths
from trainers.trained.answers_file import print_more
from trainers.trained.answers_file import write_answers
from trainers.trained.written_files import require_not_read

# Answers are independent of each other, so blocks do not change them.
ROWS_AT_ONCE = 256


def parser() -> argparse.ArgumentParser:
    result = command_line.ArgumentParser(
        prog=command_names.display_name("trainers.identify"),
        description="Answer which enrolled class each input is in, or "
        "'unknown'.",
    )
    command_line.add_inputs(result)
    command_line.add_gallery(result, "`enroll`")
    command_line.add_answers(
        result, "histogram of the scores; default: identify.png in the workdir"
    )
    return result


@checked_arguments()
def identify(
    gallery: str,
    inputs: Sequence[str] = (),
    workdir: str | None = None,
    *,
    split: str = "",
    output: str | None = None,
    figure: str | None = None,
) -> dict:
    """Prints one line per input: path, answer, probability, score, decision.

    Args:
        gallery: File of the gallery.
        inputs: As for `trainers.trained.inputs.read_inputs`.
        workdir: Folder of the run; None: as in the gallery.
        split: Split of the data; "": all, or without inputs the split that is
            evaluated.
        output: File of the answers, or None.
        figure: File of the picture; None: in the workdir.

    Returns:
        The answers by column, as in `output`.
    """
    from trainers.terminal.quiet import import_tensorflow
    from trainers.trained.stored_paths import workdir_of

    table, picture = answers_paths(output, figure, [*inputs, gallery])
    path = pathlib.Path(os.path.expanduser(gallery))
    source = workdir_of(path, workdir, "trainers.enroll")
    import_tensorflow()
    from trainers.trained.galleries import open_gallery
    from trainers.trained.inputs import read_inputs
    from trainers.trained.known_classes import groups_of_classes
    from trainers.trained.known_classes import is_enrolled
    from trainers.trained.trained import embed_inputs

    trained, opened = open_gallery(path, source, own_code=workdir is not None)
    asked = read_inputs(trained.run, inputs, split)
    written = {"--output": table, "--figure": picture}
    if picture is not None:
        written["the second picture"] = _confusion_path(picture)
    require_not_read(written, [trained.run.data.dataset, *asked.names])
    embeddings = embed_inputs(trained, asked)
    if asked.labels is not None:
        enrolled = is_enrolled(opened, path, asked, embeddings)
    answers = _identified(opened, embeddings, asked.x)
    columns = {"path": asked.names, **answers}
    if asked.labels is not None:
        columns["label"] = asked.labels
    _print_lines(columns, opened.threshold_)
    _print_untypical(answers)
    groups, labelled = {}, None
    if asked.labels is not None:
        groups = groups_of_classes(trained, opened, path, asked.labels)
        _print_summary(opened, asked.labels, answers, groups, enrolled)
        groups = {name: rows & ~enrolled for name, rows in groups.items()}
        labelled = asked.labels[~enrolled], answers["answer"][~enrolled]
    if table is not None:
        write_answers(table, columns)
        print(f"Every answer: {table}")
    picture = picture or trained.workdir / "identify.png"
    _draw(opened, groups, answers, labelled, picture)
    words = ["--gallery", str(path), *inputs]
    words += ["--split", split] if split else []
    words += ["--workdir", workdir] if workdir else []
    print(
        f"Next: {command_names.shell_command('trainers.nearest')} "
        f"{shlex.join(words)}"
    )
    return columns


def _identified(gallery, embeddings, x) -> dict:
    """Returns the columns of the answers, and shows the progress."""
    import numpy as np

    from trainers.terminal.progress import Progress

    progress, found = Progress(len(embeddings), "answer"), []
    for first in range(0, len(embeddings), ROWS_AT_ONCE):
        rows = slice(first, first + ROWS_AT_ONCE)
        # The check of inputs reads the files once more.
        checked = x[rows] if gallery.typicality is not None else None
        found.append(gallery.identify(embeddings[rows], checked))
        progress.advance(len(embeddings[rows]))
    return {
        name: np.concatenate([block[name] for block in found])
        for name in found[0]
    }


def _print_lines(columns: dict, threshold: float | None) -> None:
    import numpy as np

    from embeddings_tf.metrics.arrays import telling_digits

    rows = list(zip(*columns.values(), strict=True))[:MOST_LINES]
    width = max(len("path"), *(len(str(row[0])) for row in rows))
    wide = max(len("answer"), *(len(str(row[1])) for row in rows))
    print(
        f"{'path':<{width}}  {'answer':<{wide}}  {'probability':>11}  "
        f"{'score':>10}  {'threshold':>10}  decision"
    )
    digits, limit = 6, "none"
    if threshold is not None:
        digits = telling_digits(columns["score"][:MOST_LINES], threshold)
        limit = f"{threshold:.{digits}g}"
    typical = columns.get("typical", np.ones(len(rows), bool))
    for row, typical_row in zip(rows, typical, strict=False):
        name, answer, best, probability, score, accepted, *_ = row
        decision = "accepted" if accepted else f"rejected, nearest is {best}"
        if threshold is None and accepted:
            decision = "not tested, the nearest class"
        if not typical_row:
            decision = "rejected, the input is not typical"
        print(
            f"{name:<{width}}  {answer:<{wide}}  {probability:>11.3f}  "
            f"{score:>10.{digits}g}  {limit:>10}  {decision}"
        )
    print_more(len(columns["path"]), "answer")


def _print_untypical(answers: dict) -> None:
    """Prints how many inputs look like no calibration example."""
    from embeddings_tf.ops.counted import counted

    if "typical" in answers and not answers["typical"].all():
        asked = counted(len(answers["typical"]), "input")
        count = int((~answers["typical"]).sum())
        does_not = "does not look like the calibration examples and is"
        if count > 1:
            does_not = "do not look like the calibration examples and are"
        print(f"{count} of {asked} {does_not} answered 'unknown'.")


def _print_summary(gallery, labels, answers, groups, enrolled) -> None:
    """With the classes of the inputs known, prints how many are right."""
    from embeddings_tf.ops.counted import counted
    from trainers.trained.known_classes import ENROLLED
    from trainers.trained.known_classes import OTHER

    for name, rows in groups.items():
        rows, left_out = rows & ~enrolled, (rows & enrolled).sum()
        accepted = answers["accepted"][rows]
        if left_out:
            do_not_count = "are examples of the gallery themselves and do not"
            if left_out == 1:
                do_not_count = "is an example of the gallery and does not"
            print(f"{counted(left_out, 'input')} {do_not_count} count.")
        if not rows.any():
            continue
        inputs = counted(rows.sum(), "input")
        if name == ENROLLED:
            named = answers["answer"][rows].astype(str)
            right = named == labels[rows].astype(str)
            print(
                f"Of {inputs} of {name}, {100 * right.mean():.1f} % "
                f"are identified and {100 * (~accepted).mean():.1f} % are "
                "answered 'unknown'."
            )
            continue
        promise = ""
        if name == OTHER and gallery.calibration_ is not None:
            rate = gallery.calibration_["false_accept_rate"]
            promise = f" (promised: at most {100 * rate:.3g} % on average)"
        print(
            f"Of {inputs} of {name}, {100 * accepted.mean():.1f} % "
            f"are accepted{promise}."
        )


def _draw(gallery, groups, answers, labelled, figure) -> None:
    """Draws the scores and, of labelled inputs, the confusions."""
    import numpy as np

    from embeddings_tf.ops.counted import counted
    from embeddings_tf.scoring.open_set import answer_for_unknown
    from trainers.terminal.pictures import save_picture

    def draw():
        from embeddings_tf import viz

        # Inputs unlike the examples are unknown whatever their score is.
        typical = answers.get("typical", np.ones(len(answers["score"]), bool))
        scores = {
            name: answers["score"][rows & typical]
            for name, rows in (groups or {"inputs": typical}).items()
            if (rows & typical).any()
        }
        title = "inputs left of the threshold are answered 'unknown'"
        if gallery.threshold_ is None:
            title = "scores; without a threshold, no answer is 'unknown'"
        if not typical.any():
            title = (
                "all inputs are unlike the examples, and are answered 'unknown'"
            )
        elif not typical.all():
            left_out = counted((~typical).sum(), "input")
            title += f"\nwithout {left_out} unlike the examples"
        return viz.score_histogram_figure(
            scores or {"inputs": answers["score"]},
            gallery.threshold_,
            name=gallery.score.replace("_", " "),
            title=title,
        )

    save_picture(draw, figure)
    if labelled is None or not len(labelled[0]):
        return

    def draw_confusion():
        from embeddings_tf import viz

        unknown = answer_for_unknown(gallery.unknown, gallery.classes_)
        return viz.confusion_figure(
            *(texts.astype(str) for texts in labelled),
            classes=gallery.classes_.astype(str),
            unknown=str(unknown),
            title="answers by class of the inputs",
        )

    save_picture(draw_confusion, _confusion_path(figure))


def _confusion_path(figure):
    return figure.with_stem(f"{figure.stem}_confusion")


def main(words=None) -> int:
    return command_line.run(identify, **vars(parser().parse_args(words)))


if __name__ == "__main__":
    sys.exit(main())
