"""Measures the promised error among accepted answers of trained runs.

    python -m tools.accepted_answers runs/omniglot_retrieve ...

For each run, a gallery has five examples of every test class, of at most 400
classes drawn by a seed; their other examples are answered. The confidence of an
answer is the log-probability of its class minus the log-probability of the
second class. In each of 1,000 random divisions, `metrics.learn_then_test`
chooses the threshold on the answers of one half of the classes; the error is
measured on the other half. Thresholds are quantiles of the confidence on the
validation classes.

Writes `benchmarks/results/accepted/NAME.json`, with the name of the folder, and
the table of docs/trust.md.
"""

import functools
import pathlib

import numpy as np

from tools.generated_text import ROOT
from tools.generated_text import hardware
from tools.generated_text import remake_page
from tools.keep_result import keep_result
from tools.keep_result import results_by_name

RESULTS = ROOT / "benchmarks" / "results" / "accepted"
PAGE = ROOT / "docs" / "trust.md"
MARKS = "<!-- accepted table: begin -->", "<!-- accepted table: end -->"
load = functools.partial(results_by_name, RESULTS)
NUM_DIVISIONS, NUM_SUPPORT, LEVEL = 1_000, 5, 0.95
MOST_CLASSES = 400
ERROR_RATES = (0.05, 0.1, 0.2)
# The highest threshold accepts 40 %; too few answers would end the test. With
# 10 %, tried first on the same test classes, hardly any answer was accepted.
QUANTILES = np.arange(0, 0.65, 0.05)


def answers(run, model, split: str) -> tuple:
    """Returns confidence, error and class of the answers in a split."""
    from embeddings_tf import models
    from trainers.data.data import Data
    from trainers.data.folds import class_ids
    from trainers.measures.embed import embed
    from trainers.measures.embed import split_to_embed

    x, labels = split_to_embed(Data(run), split)
    classes = class_ids(labels)
    rng = np.random.default_rng(0)
    order, ids = rng.permutation(len(classes)), np.unique(classes)
    if len(ids) > MOST_CLASSES:
        ids = rng.permutation(ids)[:MOST_CLASSES]
        rows = np.flatnonzero(np.isin(classes, ids))
        x, classes = x[rows], classes[rows]
        order = rng.permutation(len(classes))
    supports = np.concatenate(
        [order[classes[order] == c][:NUM_SUPPORT] for c in np.unique(classes)]
    )
    embeddings = embed(model, x)
    classifier = models.FewShotClassifier(model, embedded=True)
    classifier.fit(embeddings[supports], classes[supports])
    asked = np.setdiff1d(np.arange(len(classes)), supports)
    log_prob = classifier.predict_log_proba(embeddings[asked])
    answer = classifier.classes_[log_prob.argmax(axis=1)]
    second, first = np.sort(log_prob, axis=1)[:, -2:].T
    return first - second, answer != classes[asked], classes[asked]


def measure(validation, test) -> dict:
    """Promised and reached errors over random divisions of the classes."""
    from embeddings_tf import metrics
    from trainers.terminal.progress import Progress

    thresholds = np.quantile(validation[0], QUANTILES)
    confidence, is_error, classes = test
    ids = np.unique(classes)
    found = {rate: [] for rate in ERROR_RATES}
    progress = Progress(NUM_DIVISIONS, "division")
    for division in range(NUM_DIVISIONS):
        rng = np.random.default_rng(division)
        chosen = np.isin(classes, rng.permutation(ids)[: len(ids) // 2])
        for rate in ERROR_RATES:
            threshold = metrics.learn_then_test(
                confidence[chosen],
                is_error[chosen],
                classes[chosen],
                thresholds=thresholds,
                error_rate=rate,
                level=LEVEL,
            )["threshold"]
            accepted = confidence[~chosen] >= threshold
            wrong = is_error[~chosen][accepted]
            # Without accepted answers none is wrong.
            error = wrong.mean() if accepted.any() else 0.0
            found[rate].append((accepted.mean(), error, error > rate))
        progress.advance()
    return {
        "classes": len(ids),
        "answers": len(classes),
        "error_of_all": float(np.mean(is_error)),
        "promises": [
            {
                "error_rate": rate,
                "accepted": float(np.mean([row[0] for row in rows])),
                "error": float(np.mean([row[1] for row in rows])),
                "divisions_above": float(np.mean([row[2] for row in rows])),
            }
            for rate, rows in found.items()
        ],
    }


def collect(folder: pathlib.Path, replace: bool) -> None:
    """Writes the result file of a run."""
    from trainers.trained.trained import open_trained
    from trainers.workdirs.provenance import provenance
    from trainers.workdirs.results import read_results
    from trainers.workdirs.workdir import run_of_workdir

    trained, results = open_trained(str(folder)), read_results(folder)
    validation, test = (
        answers(trained.run, trained.model, split)
        for split in ("validation", "test")
    )
    found = {
        "recipe": run_of_workdir(folder)[0],
        "method": trained.run.method.name,
        "dataset": trained.run.data.dataset,
        "config": results["config"],
        "data_fingerprint": results["data_fingerprint"],
        "training": {
            name: results["training"][name]
            for name in ("commit", "steps", "seconds")
        },
        "level": LEVEL,
        "num_divisions": NUM_DIVISIONS,
        "num_support": NUM_SUPPORT,
        **measure(validation, test),
        **provenance(),
    }
    name = folder.resolve().name
    keep_result(RESULTS / f"{name}.json", found, replace=replace)


def table(found: dict[str, dict]) -> str:
    """Returns the Markdown between the marks."""
    lines = [
        "| run | method | classes | error of all answers, % | promised error, "
        "% | accepted answers, % | error among them, % | divisions above the "
        "promise, % |",
        "|---|---|---:|---:|---:|---:|---:|---:|",
    ]
    for name, result in found.items():
        for row in result["promises"]:
            lines.append(
                f"| `{name}` | `{result['method']}` | {result['classes']} "
                f"| {100 * result['error_of_all']:.1f} "
                f"| {100 * row['error_rate']:g} "
                f"| {100 * row['accepted']:.1f} | {100 * row['error']:.1f} "
                f"| {100 * row['divisions_above']:.1f} |"
            )
    commits = {
        tuple(
            dict.fromkeys(
                [result["training"]["commit"][:7], result["commit"][:7]]
            )
        )
        for result in found.values()
    }
    lines += [
        "",
        "Commits of the training and, if it is another, of the measurement: "
        f"{', '.join(' and '.join(of_one) for of_one in sorted(commits))}; "
        f"{hardware(found.values())} (`python -m tools.accepted_answers "
        "runs/NAME`).",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    remake_page(__doc__, collect, load, PAGE, MARKS, table)
