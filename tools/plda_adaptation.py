"""Measures `PLDA.adapt` on a real shift: from characters to digits.

    python -m tools.plda_adaptation RUN

RUN is the workdir of a run on Omniglot, such as
`runs/omniglot_verification_learned_distance-seed_0/fold_1`. Its encoder embeds
MNIST without further training. PLDA is fitted to the embeddings of Omniglot's
training characters and adapted with 20 images of each of six digits; two other
digits are the test, in five folds. Writes
`benchmarks/results/plda_adaptation.json`, and the table in
`docs/results/verification.md`.
"""

import argparse
import json
import pathlib
import statistics
import time

import numpy as np

from tools.generated_text import ROOT
from tools.generated_text import write_between
from tools.paired_difference import PairedDifference
from tools.paired_difference import difference_table
from tools.paired_difference import paired_difference
from tools.paired_difference import ratio_of_test_to_train
from tools.rerun_command import rerun_command
from trainers.measures.standard_error import standard_error
from trainers.workdirs.json_files import write_json

RESULT = ROOT / "benchmarks" / "results" / "plda_adaptation.json"
PAGE = ROOT / "docs" / "results" / "verification.md"
BEGIN, END = "<!-- plda: begin -->", "<!-- plda: end -->"
DIGITS = "mnist_unseen_digits_triplet"
WEIGHTS = (0.25, 0.5, 0.75)
NUM_PER_DIGIT = 20
NUM_FOLDS = 5
SOURCE = "PLDA of characters"
EQUAL = "adapted, weight 0.5"


def equal_error_rates(source, labels, few, few_labels, test, test_labels, dims):
    """Returns the equal error rate of each score over all pairs of the test.

    Args:
        source: Embeddings of the characters, `(n, dim)`.
        labels: Their classes.
        few: Embeddings of some digits, to adapt to.
        few_labels: Their classes.
        test: Embeddings of other digits.
        test_labels: Their classes.
        dims: Dimensions that PLDA of the characters keeps.
    """
    from embeddings_tf import metrics
    from embeddings_tf import models

    plda = models.PLDA(dims).fit(source, labels)
    scores = {
        "cosine": metrics.cosine_scores,
        SOURCE: plda.score,
        **{
            f"adapted, weight {weight:g}": plda.adapt(
                few, few_labels, weight
            ).score
            for weight in WEIGHTS
        },
        "PLDA of digits": models.PLDA().fit(few, few_labels).score,
    }
    first, second = np.triu_indices(len(test), 1)
    is_target = test_labels[first] == test_labels[second]
    return {
        name: metrics.equal_error_rate(
            metrics.score_all_pairs(score, test)[first, second], is_target
        )[0]
        for name, score in scores.items()
    }


def study(workdir: pathlib.Path) -> dict:
    """Returns the equal error rates of five folds of digits."""
    from embeddings_tf import models
    from trainers.config import load_recipe
    from trainers.data.data import Data
    from trainers.data.data_fingerprint import fingerprint
    from trainers.data.examples import rows_of_classes
    from trainers.data.folds import class_ids
    from trainers.measures.embed import embed
    from trainers.training.checkpoint import load_best
    from trainers.workdirs.json_files import read_json
    from trainers.workdirs.provenance import provenance

    started = time.monotonic()
    trained = load_best(workdir)
    encoder = getattr(trained, "encoder", trained)
    found = read_json(workdir / "config.json", "name the workdir of a run")
    run = load_recipe(str(workdir / "config.json"))
    characters = Data(run)
    x, labels = characters.split(run.data.split)
    source, labels = embed(encoder, x), class_ids(labels)
    of_digits = models.omniglot_encoder(
        dim=encoder.output_shape[-1], image_shape=(28, 28, 1), dark_ink=False
    )
    of_digits.set_weights(encoder.get_weights())
    folds = {}
    for fold in range(NUM_FOLDS):
        data = Data(load_recipe(DIGITS, [f"folds.fold={fold}"]))
        sides = []
        for split, count in (("train", NUM_PER_DIGIT), ("test", 0)):
            x, digits = data.split(split)
            rows = rows_of_classes(digits, count)
            sides += [embed(of_digits, x[rows]), digits[rows]]
        folds[str(fold)] = equal_error_rates(
            source, labels, *sides, run.evaluation.plda.num_dims
        )
        print(f"fold {fold}: {folds[str(fold)]}", flush=True)
    made_by = {
        "encoder": found["recipe"],
        "config": found["config"],
        "data_fingerprint": fingerprint(characters),
        "seconds": round(time.monotonic() - started, 1),
    }
    return {**made_by, "folds": folds, **provenance()}


def differences(found: dict) -> dict[str, PairedDifference]:
    """EER of PLDA of characters minus that of each other score, by fold."""
    folds = found["folds"]
    source = {fold: numbers[SOURCE] for fold, numbers in folds.items()}
    return {
        score: paired_difference(
            source,
            {fold: found[score] for fold, found in folds.items()},
            _ratio(),
        )
        for score in next(iter(folds.values()))
        if score != SOURCE
    }


def _ratio() -> float:
    """Digits of the test divided by digits that adapt."""
    folds = {"num_folds": NUM_FOLDS}
    return ratio_of_test_to_train({"dataset": "mnist", "folds": folds})


def command(found: dict) -> str:
    """Returns one shell line that trains the encoder and repeats the study."""
    workdir = f"runs/{found['encoder']}-seed_{found['config']['seed']}"
    fold = found["config"]["folds"]["fold"]
    train = rerun_command(
        found["encoder"], found["config"], workdir, folds=[str(fold)]
    )
    return f"{train} && python -m tools.plda_adaptation {workdir}/fold_{fold}"


def table(found: dict | None) -> str:
    """Returns the Markdown between the marks."""
    if found is None:
        return "Not run:\n\n    python -m tools.plda_adaptation RUN"
    folds = found["folds"]
    by_score = {
        score: {fold: numbers[score] for fold, numbers in folds.items()}
        for score in next(iter(folds.values()))
    }
    lines = ["| scored by | folds | EER, % |", "|---|---:|---:|"]
    for score, numbers in by_score.items():
        values = [100 * value for value in numbers.values()]
        error = standard_error(values)
        cell = f"{statistics.fmean(values):.2f}"
        if error is not None:
            cell += f" ± {error:.2f}"
        lines.append(f"| {score} | {len(values)} | {cell} |")
    lines += difference_table(
        SOURCE,
        ["EER, points"],
        {
            score: [(by_score[SOURCE], numbers)]
            for score, numbers in by_score.items()
            if score != SOURCE
        },
        _ratio(),
        2,
        100,
    )
    data = found.get("data_fingerprint")
    fingerprint = f"; data {data}" if data else ""
    return "\n".join(
        [
            *lines,
            "",
            f"Encoder: `{found['encoder']}`; commit {found['commit'][:7]}; "
            f"{found['processor']}{fingerprint}.",
            "",
            f"    {command(found)}",
        ]
    )


def load() -> dict | None:
    """Returns the committed result, or None."""
    return json.loads(RESULT.read_text()) if RESULT.exists() else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "workdir",
        nargs="?",
        type=pathlib.Path,
        help="run on Omniglot (default: only write the table)",
    )
    workdir = parser.parse_args().workdir
    if workdir is not None:
        from trainers.terminal.quiet import import_tensorflow

        import_tensorflow()
        write_json(RESULT, study(workdir))
    write_between(PAGE, BEGIN, END, table(load()))
    print(f"wrote {PAGE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
