"""Decides whether two inputs are of the same class.

`python -m trainers.verify --workdir DIR first.jpg second.jpg`
"""

import argparse
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

CALIBRATIONS = ("logistic", "isotonic")
# Pairs that the picture marks.
MOST_MARKED = 6


def parser() -> argparse.ArgumentParser:
    result = command_line.ArgumentParser(
        prog=command_names.display_name("trainers.verify"),
        description="Answer whether two inputs are of the same class: "
        "probability, log-likelihood ratio, and a decision at a stated "
        "false-accept rate.",
        epilog="Calibration and threshold come from classes that were not "
        "trained on: by default, the validation classes of the run. They are "
        "stored in the workdir, so that the next start is fast, and replaced "
        "for other held-out examples, another --calibration, "
        "--false-accept-rate or --fit.",
    )
    result.add_argument(
        "inputs",
        nargs="*",
        metavar="FILE",
        help="two files to compare; with --data, names of two of its rows",
    )
    result.add_argument("--workdir", required=True, help="folder of the run")
    result.add_argument(
        "--pairs",
        metavar="FILE.csv",
        help="many pairs: a table with columns first and second, paths from "
        "the folder of the table (with --data, names of rows), and optionally "
        "same, 0 or 1",
    )
    result.add_argument(
        "--data",
        metavar="DATA",
        help="data whose rows are compared, such as csv:FILE or "
        "arrays:FILE.npz; identify and embed print the names of its rows: "
        "'line 2' of a table, '0' of arrays",
    )
    result.add_argument(
        "--split",
        default="",
        help="split of --data that has the rows; default: all",
    )
    result.add_argument(
        "--false-accept-rate",
        type=float,
        metavar="RATE",
        help="share of pairs of different classes that are accepted; default: "
        "0.01, or what the number of held-out pairs can measure",
    )
    result.add_argument(
        "--calibration",
        metavar="DATA",
        help="folder or data set of held-out classes, of which all examples "
        "are read, so not a set without a split 'all', such as n_digit; "
        "default: the validation split of the run",
    )
    result.add_argument(
        "--fit",
        choices=CALIBRATIONS,
        default=CALIBRATIONS[0],
        help="kind of the calibration; isotonic needs more classes, and is "
        "taken if a threshold separates the pairs of the held-out classes",
    )
    result.add_argument(
        "--prior",
        type=float,
        default=0.5,
        help="probability of the same class before the inputs are seen; "
        "default: 0.5",
    )
    command_line.add_answers(result)
    return result


@checked_arguments(fit=CALIBRATIONS)
def verify(
    workdir: str,
    inputs: Sequence[str] = (),
    *,
    pairs: str | None = None,
    data: str | None = None,
    split: str = "",
    false_accept_rate: float | None = None,
    calibration: str | None = None,
    fit: str = CALIBRATIONS[0],
    prior: float = 0.5,
    output: str | None = None,
) -> dict:
    """Prints one line per pair: paths, answer, probability, ratio, score.

    Args:
        workdir: Folder of the run.
        inputs: Two files to compare; with `data`, names of two of its rows.
        pairs: A table of many pairs, or None.
        data: Data whose rows are compared; None: files are.
        split: Split of `data` that has the rows; "": all.
        false_accept_rate, calibration, fit, prior: As in
            `trainers.trained.verifiers.fitted_verifier`.
        output: File of the answers, or None.

    Returns:
        The answers by column, as in `output`.
    """
    from trainers.terminal.quiet import import_tensorflow
    from trainers.trained.pairs import read_pairs
    from trainers.trained.trained import require_trained

    table, _ = answers_paths(output, None, [*inputs, pairs, data, calibration])
    _check(false_accept_rate, prior, split, data)
    asked = read_pairs(inputs, pairs, data is None)
    require_trained(workdir)
    import_tensorflow()
    import numpy as np

    from trainers.trained.inputs import read_inputs
    from trainers.trained.inputs import read_rows
    from trainers.trained.trained import embed_inputs
    from trainers.trained.trained import open_trained
    from trainers.trained.verifiers import fitted_verifier

    trained = open_trained(workdir)
    require_not_read({"--output": table}, [trained.run.data.dataset])
    names = list(dict.fromkeys([*asked["first"], *asked["second"]]))
    if data is None:
        compared = read_inputs(trained.run, names)
    else:
        compared = read_rows(trained.run, data, names, split)
    # Its errors come before the inputs are embedded.
    verifier, scores, is_same = fitted_verifier(
        trained, calibration, false_accept_rate, fit, prior
    )
    columns = _answers(verifier, asked, names, embed_inputs(trained, compared))
    _print_lines(columns)
    _print_report(verifier.report_, trained.run.evaluation.name)
    if verifier.report_["calibration"] != fit:
        print(
            "A threshold separates all of these pairs, so that no line fits "
            "best: the calibration is isotonic, as with --fit isotonic, and "
            "its ratios are limited by the number of pairs."
        )
    if "same" in asked:
        columns["same"] = np.array(asked["same"])
        _print_rates(columns["answer"] == "same", columns["same"])
    if table is not None:
        write_answers(table, columns)
        print(f"Every answer: {table}")
    _draw(columns, scores, is_same, trained.workdir)
    print(
        f"Next: {command_names.shell_command('trainers.enroll')} --workdir "
        f"{shlex.quote(workdir)} --gallery FILE.npz DATA"
    )
    return columns


def _check(
    rate: float | None, prior: float, split: str, data: str | None
) -> None:
    """Checks the flags, before anything is loaded."""
    for flag, value in (("--false-accept-rate", rate), ("--prior", prior)):
        if value is not None and not 0 < value < 1:
            raise ValueError(
                f"{flag} must be between 0 and 1; received {value}"
            )
    if split and data is None:
        raise ValueError(
            f"--split {split} is for data with splits; name it with --data, "
            "or leave --split out"
        )


def _answers(verifier, pairs: dict, names: list[str], embeddings) -> dict:
    """Returns the columns of the answers, a row for each pair.

    Args:
        verifier: A fitted `scoring.Verifier`.
        pairs: The result of `read_pairs`.
        names: Names of the embeddings.
        embeddings: `(n, width)`.
    """
    import numpy as np

    place = {name: number for number, name in enumerate(names)}
    first, second = (
        embeddings[[place[name] for name in pairs[side]]]
        for side in ("first", "second")
    )
    accepted = verifier.predict(first, second)
    return {
        "first": pairs["first"],
        "second": pairs["second"],
        "answer": np.where(accepted, "same", "different"),
        "probability": verifier.predict_proba(first, second),
        "log_likelihood_ratio": verifier.log_likelihood_ratio(first, second),
        "score": verifier.score_samples(first, second),
        "threshold": np.full(len(first), verifier.threshold_),
    }


def _draw(columns: dict, scores, is_same, workdir) -> None:
    """Draws the scores of held-out pairs, and marks the first asked pairs."""
    import pathlib

    from trainers.terminal.pictures import save_picture

    sides = [
        [pathlib.PurePath(name).name for name in columns[side][:MOST_MARKED]]
        for side in ("first", "second")
    ]
    marks = {
        f"{number}. {first}, {second} ({answer})": score
        for number, (first, second, answer, score) in enumerate(
            zip(*sides, columns["answer"], columns["score"], strict=False), 1
        )
    }

    def draw():
        from embeddings_tf import viz

        return viz.score_histogram_figure(
            {"same class": scores[is_same], "different": scores[~is_same]},
            columns["threshold"][0],
            name="score of a pair",
            title="pairs of held-out classes; right of the threshold is 'same'",
            marks=marks,
        )

    save_picture(draw, workdir / "verify.png")


def _print_lines(columns: dict) -> None:
    from embeddings_tf.metrics.arrays import telling_digits

    rows = list(zip(*columns.values(), strict=True))[:MOST_LINES]
    scores, (threshold, *_) = columns["score"], columns["threshold"]
    digits = telling_digits(scores[:MOST_LINES], threshold)
    wide, width = (
        max(len(name), *(len(row[number]) for row in rows))
        for number, name in enumerate(("first", "second"))
    )
    print(
        f"{'first':<{wide}}  {'second':<{width}}  {'answer':<9}  "
        f"{'probability':>11}  {'log ratio':>9}  {'score':>10}  threshold"
    )
    for first, second, answer, probability, ratio, score, _ in rows:
        print(
            f"{first:<{wide}}  {second:<{width}}  {answer:<9}  "
            f"{probability:>11.4f}  {ratio:>9.3f}  {score:>10.{digits}g}  "
            f"{threshold:.{digits}g}"
        )
    print_more(len(columns["first"]), "answer")


def _print_report(report: dict, evaluation: str) -> None:
    """Prints the errors and Cllr of the held-out pairs.

    Args:
        report: `report_` of a `scoring.Verifier`.
        evaluation: Name of the run's own evaluation.
    """
    from embeddings_tf.ops.counted import counted

    count = report["num_classes"]
    if report["interval"] is None:
        interval = f"{count} classes are too few for an interval"
    else:
        low, high = report["interval"]
        interval = f"95 % interval over {count} classes: "
        interval += f"{100 * low:.2f} to {100 * high:.2f} %"
    print(
        f"The threshold accepts {100 * report['reached_false_accept_rate']:.2f}"
        f" % of {counted(report['num_different'], 'pair')} of different "
        "held-out classes "
        f"(stated: {100 * report['false_accept_rate']:g} %; {interval}) and "
        f"misses {100 * report['miss_rate']:.1f} % of "
        f"{counted(report['num_same'], 'pair')} of the same class. "
        f"Cllr {report['cllr']:.3f} bits. The same pairs fitted the threshold "
        "and the calibration, so these numbers are too good; "
        f"{command_names.display_name('trainers.evaluate')} tests other pairs"
        + (
            "."
            if evaluation == "verification"
            else ", with --config.evaluation.name=verification."
        )
    )


def _print_rates(accepted, same) -> None:
    """With the truth known, prints the errors on the given pairs."""
    from embeddings_tf.ops.counted import counted

    for is_same, text in ((True, "are missed"), (False, "are accepted")):
        chosen = accepted[same == is_same]
        if len(chosen):
            wrong = 100 * (chosen != is_same).mean()
            kind = "the same class" if is_same else "different classes"
            pairs = counted(len(chosen), "pair")
            print(f"Of {pairs} of {kind}, {wrong:.1f} % {text}.")


def main(words=None) -> int:
    return command_line.run(verify, **vars(parser().parse_args(words)))


if __name__ == "__main__":
    sys.exit(main())
