"""Measures how far the numbers of trained runs may be trusted on new classes.

    python -m tools.trust_study runs/omniglot_triplet runs/an4_triplet ...

For each run, on its test classes:

- pairs: Cllr of each score as trained, after calibration on the validation
  classes, and its minimum;
- promises: false-accept rates that `metrics.conformal_threshold` promises, and
  the rates that are reached, over 1,000 random divisions of the classes into
  enrolled, calibration and unknown classes;
- unknown classes: AUROC and FPR at 95 % TPR in few-shot episodes;
- few-shot: accuracy and expected calibration error of class probabilities.

Writes `benchmarks/results/trust/NAME.json`, with the name of the folder, and
the picture `docs/figures/trust_NAME.png` of the runs in `DRAWN`.
`tools.trust_table` makes the tables of docs/trust.md. Everything is embedded
once; a run takes minutes on one core.
"""

import pathlib
import time
import types

import numpy as np

from tools.generated_text import FIGURES
from tools.generated_text import ROOT
from tools.generated_text import collect_folders
from tools.keep_result import keep_result

RESULTS = ROOT / "benchmarks" / "results" / "trust"
NUM_SPLITS = 1_000
# Classes and examples per class, drawn once: two million pairs at most.
MOST_CLASSES, MOST_PER_CLASS = 120, 15
TOP_K = 300
# Runs whose reliability diagram is on the page.
DRAWN = ("an4_learned_distance", "omniglot_learned_distance")
RATES = (0.02, 0.05, 0.1, 0.2)
SCORES = ("log_evidence", "nearest_distance")
PROTOCOL = {
    "num_splits": NUM_SPLITS,
    "most_classes": MOST_CLASSES,
    "most_examples_per_class": MOST_PER_CLASS,
    "num_support": 5,
    "num_query": 5,
    "cohort": "means of the training classes",
    "top_k": TOP_K,
}


def drawn(classes: np.ndarray) -> np.ndarray:
    """Rows of at most `MOST_CLASSES` classes, in a random order of each."""
    rng = np.random.default_rng(0)
    order = rng.permutation(len(classes))
    chosen = rng.permutation(np.unique(classes))[:MOST_CLASSES]
    return np.concatenate(
        [order[classes[order] == c][:MOST_PER_CLASS] for c in chosen]
    )


def pairs(method, plda, cohort, validation, test) -> tuple[dict, dict]:
    """Returns Cllr of each score, and reliability curves for the figure."""
    from embeddings_tf import metrics
    from embeddings_tf import scoring
    from trainers.measures import calibrated_scores
    from trainers.measures.scores import likelihood_ratio_names
    from trainers.measures.scores import of_points
    from trainers.measures.scores import scores_of_all_pairs

    scores = scores_of_all_pairs(method, plda)
    scores.pop("fused", None)
    scores["cosine, AS-norm"] = of_points(
        method,
        scoring.AdaptiveScoreNormalization(
            metrics.cosine_scores, cohort, TOP_K
        ),
    )
    found, as_trained, after = {}, {}, {}
    for name, score in scores.items():
        sides = []
        for embeddings, classes in (validation, test):
            first, second = np.triu_indices(len(classes), 1)
            values = metrics.score_all_pairs(score, embeddings)[first, second]
            sides.append((values, classes[first] == classes[second]))
        calibrated = calibrated_scores.fit(*sides[0], (0.01,))
        values, is_target = sides[1]
        found[name] = {
            "equal_error_rate": metrics.equal_error_rate(values, is_target)[0],
            "min_cllr": metrics.min_cllr(values, is_target),
            **calibrated_scores.measures(calibrated, values, is_target),
        }
        if name in likelihood_ratio_names(method):
            found[name]["cllr"] = metrics.cllr(values, is_target)
            as_trained[name] = metrics.likelihood_ratio_curve(values, is_target)
        after[name] = metrics.likelihood_ratio_curve(
            calibrated.logistic.transform(values), is_target
        )
        print(f"  {name}: {found[name]['min_cllr']:.3f} bits at least")
    panels = {"as trained": as_trained, "calibrated on other classes": after}
    return found, panels


def promises(method, embeddings, classes) -> dict:
    """Promised and reached false-accept rates over random divisions."""
    import tensorflow as tf

    from embeddings_tf import metrics
    from embeddings_tf.scoring.nearest_rows import distances_and_rows
    from trainers.terminal.progress import Progress

    needed = PROTOCOL["num_support"] + PROTOCOL["num_query"]
    ids, sizes = np.unique(classes, return_counts=True)
    ids = ids[sizes >= needed]
    rows_of = [np.flatnonzero(classes == c)[:needed] for c in ids]
    # A twelfth is enrolled; calibration and unknown classes share the rest.
    num_enrolled = max(3, len(ids) // 12)
    num_calibration = (len(ids) - num_enrolled + 1) // 2
    rates = [r for r in RATES if r * (num_calibration + 1) >= 1]

    @tf.function(autograph=False)
    def evidence(support, labels, query):
        represented = method.represent(support, labels, num_enrolled)
        return method.log_evidence(
            query, represented, None, tf.constant([0, 0])
        )

    reached = {score: {rate: [] for rate in rates} for score in SCORES}
    known = {score: {rate: [] for rate in rates} for score in SCORES}
    progress = Progress(NUM_SPLITS, "division")
    for division in range(NUM_SPLITS):
        rng = np.random.default_rng(division)
        parts = np.split(
            np.stack(rows_of)[rng.permutation(len(ids))],
            [num_enrolled, num_enrolled + num_calibration],
        )
        support, own = np.split(
            rng.permuted(parts[0], axis=1), [PROTOCOL["num_support"]], axis=1
        )
        others = [part[:, : PROTOCOL["num_query"]] for part in parts[1:]]
        queries = [own, *others]
        support = embeddings[support.reshape(-1)]
        labels = np.repeat(np.arange(num_enrolled), PROTOCOL["num_support"])
        query = embeddings[np.concatenate([q.reshape(-1) for q in queries])]
        ends = np.cumsum([q.size for q in queries])[:-1]
        distances, _ = distances_and_rows(method, query, support, 1)
        values = {
            "log_evidence": evidence(support, labels, query).numpy(),
            "nearest_distance": -distances[:, 0],
        }
        calibration = np.repeat(
            np.arange(num_calibration), PROTOCOL["num_query"]
        )
        for score, found in values.items():
            enrolled, held_out, unknown = np.split(found, ends)
            for rate in rates:
                threshold = metrics.conformal_threshold(
                    held_out, calibration, rate
                )["threshold"]
                reached[score][rate].append(np.mean(unknown >= threshold))
                known[score][rate].append(np.mean(enrolled >= threshold))
        progress.advance()
    return {
        "classes": {
            "enrolled": num_enrolled,
            "calibration": num_calibration,
            "unknown": len(ids) - num_enrolled - num_calibration,
        },
        **{
            score: [
                _promise(rate, reached[score][rate], known[score][rate])
                for rate in rates
            ]
            for score in SCORES
        },
    }


def _promise(rate: float, reached: list, known: list) -> dict:
    """A promise, and means over the divisions with their standard errors."""
    return {
        "promised": rate,
        "reached": float(np.mean(reached)),
        "standard_error": float(np.std(reached, ddof=1) / len(reached) ** 0.5),
        "reached_90_percent_below": float(np.quantile(reached, 0.9)),
        "known_accepted": float(np.mean(known)),
    }


def few_shot(model, split, wanted) -> dict:
    """Accuracy and calibration error of the probabilities of new classes."""
    from trainers.measures import episodes

    log_prob = episodes.episode_log_prob(model, wanted.num_samples)
    found, *_ = episodes.measure_episodes(
        list(episodes.episodes(split, "clean", wanted, log_prob))
    )
    names = "accuracy", "interval", "episodes", "expected_calibration_error"
    return {name: found[name] for name in names}


def study(folder: pathlib.Path) -> tuple[dict, dict]:
    """Returns the results of a run, and the panels of its figure."""
    from embeddings_tf import metrics
    from embeddings_tf import models
    from embeddings_tf.models.method import Method
    from trainers.data.data import Data
    from trainers.data.folds import class_ids
    from trainers.measures import unknown_classes
    from trainers.measures.embed import embed
    from trainers.measures.embed import split_to_embed
    from trainers.measures.occluded import EmbeddedSplit
    from trainers.training.checkpoint import load_best
    from trainers.workdirs.provenance import provenance
    from trainers.workdirs.results import read_results
    from trainers.workdirs.workdir import run_of_workdir

    started = time.monotonic()
    recipe, run = run_of_workdir(folder)
    trained_results = read_results(folder)
    data, model = Data(run), load_best(folder)
    method = Method(model)
    sides = {}
    for name in (run.data.split, "validation", "test"):
        x, labels = split_to_embed(data, name)
        classes = class_ids(labels)
        if name == run.data.split and len(x) > 20_000:
            # Every fourth class is enough for PLDA and the cohort.
            rows = np.flatnonzero(classes % 4 == 0)
        elif name == run.data.split:
            rows = np.arange(len(x))
        else:
            rows = drawn(classes)
        # In the order of the file, so that all rows need no copy.
        rows = np.sort(rows)
        embeddings = embed(model, x[rows] if len(rows) < len(x) else x)
        sides[name] = embeddings, class_ids(classes[rows])
    trained = method.points(sides[run.data.split][0]).numpy()
    classes = sides[run.data.split][1]
    num_dims = (
        run.evaluation.plda.num_dims if hasattr(run.evaluation, "plda") else 32
    )
    num_dims = min(num_dims, trained.shape[1])
    plda = models.PLDA(num_dims=num_dims).fit(trained, classes)
    # In the width of the embeddings, whose points are compared.
    cohort = metrics.class_means(trained, classes)
    measured, panels = pairs(
        method, plda, cohort, sides["validation"], sides["test"]
    )
    embeddings, classes = sides["test"]
    num_classes = min(20, len(np.unique(classes)) // 2)
    split = EmbeddedSplit(
        "test", num_classes, classes, classes, embeddings, [], []
    )
    wanted = types.SimpleNamespace(
        num_support=PROTOCOL["num_support"],
        num_query=PROTOCOL["num_query"],
        num_episodes=100,
        num_draws=1,
        num_samples=None,  # the default of the method
    )
    results = {
        "recipe": recipe,
        "method": run.method.name,
        "dataset": run.data.dataset,
        "training": {
            name: trained_results["training"][name]
            for name in ("commit", "steps", "epochs", "seconds", "best_value")
        },
        "config": trained_results["config"],
        "data_fingerprint": trained_results["data_fingerprint"],
        "protocol": PROTOCOL,
        "test_classes": len(np.unique(classes)),
        "test_examples": len(classes),
        "pairs": measured,
        "promises": promises(method, embeddings, classes),
        "unknown_classes": {
            "num_classes": num_classes,
            **unknown_classes.measure(model, split, wanted),
        },
        "few_shot": {
            "num_classes": num_classes,
            **few_shot(model, split, wanted),
        },
        "seconds": round(time.monotonic() - started, 1),
        **provenance(),
    }
    return results, panels


def collect(folder: pathlib.Path, replace: bool) -> None:
    """Writes the result file and the figure of a run."""
    from trainers.terminal.quiet import import_tensorflow

    import_tensorflow()
    from embeddings_tf import viz

    name = folder.resolve().name
    results, panels = study(folder)
    keep_result(RESULTS / f"{name}.json", results, replace=replace)
    if name in DRAWN:
        figure = viz.calibration_figure(panels, title=name.replace("_", " "))
        FIGURES.mkdir(parents=True, exist_ok=True)
        viz.save_figure(figure, FIGURES / f"trust_{name}.png")
    print(f"wrote {RESULTS / name}.json")


if __name__ == "__main__":
    collect_folders(__doc__, collect)
