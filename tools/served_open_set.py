"""Measures the answers "unknown" of an exported gallery on new classes.

    python -m tools.served_open_set runs/demo ...
    python -m tools.served_open_set --print runs/demo

For each run, over random divisions of its test classes: a third, or 20 classes
if that is more, calibrates threshold and check of inputs. Half of the others is
enrolled with at most `NUM_SUPPORT` examples per class, the other half is
unknown. The validation classes are left out, because they chose the best epoch.
The score is the one that docs/use.md advises. The first division is exported
and answered by its signature `identify`, which also answers inputs that are not
of the data set, such as noise.

Writes `benchmarks/results/open_set/NAME.json`, with the name of the folder, and
the tables of docs/serving.md. With `--print`, it prints the tables of the runs
and writes nothing.
"""

import argparse
import io
import pathlib
import tempfile
import zipfile

import numpy as np

from tools.foreign_inputs import foreign_inputs
from tools.generated_text import ROOT
from tools.generated_text import write_between
from tools.keep_result import keep_result
from tools.keep_result import results_by_name
from tools.open_set_tables import tables
from tools.run_files import run_config
from tools.run_files import run_results
from trainers.workdirs import layout

RESULTS = ROOT / "benchmarks" / "results" / "open_set"
PAGE = ROOT / "docs" / "serving.md"
BEGIN, END = "<!-- open set table: begin -->", "<!-- open set table: end -->"
RATES = (0.05, 0.1)
NUM_SUPPORT = 10
NUM_DIVISIONS = 20
# At most so many classes of a split.
MOST_CLASSES = 200
# Calibration classes among the test classes, which can promise 5 %.
NUM_CALIBRATION = 20
_ROWS = 256
# Methods for which docs/use.md advises the evidence.
_BY_EVIDENCE = (
    "FStatisticLoss",
    "LearnedDistance",
    "LiftedStructureLoss",
    "PrototypicalLoss",
    "StochasticPrototypes",
)


def advised_score(method: str) -> str:
    """The score of a gallery that docs/use.md advises for a method."""
    return "log_evidence" if method in _BY_EVIDENCE else "nearest_distance"


def divided(labels: np.ndarray, division: int) -> tuple:
    """Rows of supports, their classes' queries, unknown and calibration."""
    rng = np.random.default_rng(division)
    order = rng.permutation(len(labels))
    classes = rng.permutation(np.unique(labels))
    first = max(NUM_CALIBRATION, len(classes) // 3)
    enrolled, others = np.array_split(classes[first:], 2)
    rows = [order[labels[order] == c] for c in enrolled]
    count = [min(NUM_SUPPORT, len(r) // 2) for r in rows]
    return (
        np.concatenate([r[:n] for r, n in zip(rows, count, strict=True)]),
        np.concatenate([r[n:] for r, n in zip(rows, count, strict=True)]),
        order[np.isin(labels[order], others)],
        order[np.isin(labels[order], classes[:first])],
    )


def shares(found: dict, truth: np.ndarray, num_known: int) -> dict:
    """Shares of answers; known inputs come first."""
    accepted, typical = found["accepted"], found["typical"]
    right = found["class"].astype(str)[:num_known] == truth[:num_known]
    return {
        "known_identified": float(np.mean(right & accepted[:num_known])),
        "known_accepted": float(np.mean(accepted[:num_known])),
        "unknown_accepted": float(np.mean(accepted[num_known:])),
        "known_not_typical": float(np.mean(~typical[:num_known])),
        "unknown_not_typical": float(np.mean(~typical[num_known:])),
    }


def served(model, gallery, x, truth, num_known: int) -> dict:
    """Shares of the answers of an export, also to foreign inputs."""
    import tensorflow as tf

    from embeddings_tf.export import export_saved_model

    with tempfile.TemporaryDirectory() as folder:
        path = export_saved_model(model, folder, gallery=gallery)
        loaded = tf.saved_model.load(path)
        signature = loaded.signatures["identify"]
        (name,) = signature.structured_input_signature[1]

        def answer(images):
            found = [
                signature(**{name: tf.constant(images[i : i + _ROWS])})
                for i in range(0, len(images), _ROWS)
            ]
            return {
                key: np.concatenate([part[key] for part in found])
                for key in found[0]
            }

        x = np.asarray(x, np.float32)
        found = answer(x)
        foreign = {}
        for kind, images in foreign_inputs(x[:num_known]).items():
            one = answer(images)
            above = one["score"].astype(np.float64) >= gallery.threshold_
            foreign[kind] = {
                "unknown": float(np.mean(one["answer"] == b"unknown")),
                "not_typical": float(np.mean(~one["typical"])),
                "accepted_by_threshold": float(np.mean(above)),
                "mean_probability": float(np.mean(one["probability"])),
            }
    return {
        **shares(found, truth, num_known),
        "known_mean_probability": float(
            np.mean(found["probability"][:num_known])
        ),
        "foreign": foreign,
    }


def study(folder: pathlib.Path) -> dict:
    """Returns the results of a run."""
    from embeddings_tf.scoring import Gallery
    from embeddings_tf.scoring import Typicality
    from trainers.data.data import Data
    from trainers.measures.embed import embed
    from trainers.training.checkpoint import load_best
    from trainers.workdirs.provenance import provenance
    from trainers.workdirs.workdir import run_of_workdir

    recipe, run = run_of_workdir(folder)
    data, model = Data(run), load_best(folder)
    x, labels = few_classes(data, run.evaluation.splits[-1])
    test = embed(model, x)
    score = advised_score(run.method.name)
    found: dict[float, list] = {rate: [] for rate in RATES}
    first = {}
    for division in range(NUM_DIVISIONS):
        support, known, unknown, rest = divided(labels, division)
        gallery = Gallery(model, score=score, embedded=True)
        gallery.enroll(test[support], labels[support].astype(str))
        typicality = Typicality().fit(x[rest], labels[rest])
        rows = np.concatenate([known, unknown])
        truth = labels[rows].astype(str)
        typical = typicality.predict(x[rows])
        # Thresholds of other rates have the same scores and classes.
        scores = gallery.score_samples(test[rows])
        best = gallery.predict_proba(test[known]).argmax(axis=1)
        for rate in RATES:
            gallery.calibrate(test[rest], labels[rest].astype(str), rate)
            answers = {
                "class": gallery.classes_[best],
                "accepted": (scores >= gallery.threshold_) & typical,
                "typical": typical,
            }
            found[rate].append(shares(answers, truth, len(known)))
            if division == 0:
                gallery.typicality = typicality
                first[rate] = served(model, gallery, x[rows], truth, len(known))
        print(f"Division {division + 1} of {NUM_DIVISIONS}.", flush=True)
    return {
        "recipe": recipe,
        "config": run_config(folder),
        "data_fingerprint": run_results(folder)["data_fingerprint"],
        "method": run.method.name,
        "score": score,
        "trained_steps": trained_steps(folder),
        "test_classes": len(np.unique(labels)),
        "enrolled_classes": len(gallery.classes_),
        "calibration_classes": gallery.calibration_["num_classes"],
        "num_support": NUM_SUPPORT,
        "num_divisions": NUM_DIVISIONS,
        "typicality": {"refused": typicality.refused, **typicality.report_},
        "promises": [
            {
                "promised": rate,
                **{
                    key: float(np.mean([one[key] for one in found[rate]]))
                    for key in found[rate][0]
                },
                "unknown_accepted_deviation": float(
                    np.std(
                        [one["unknown_accepted"] for one in found[rate]],
                        ddof=1,
                    )
                ),
                "served_first_division": first[rate],
            }
            for rate in RATES
        ],
        **provenance(),
    }


def trained_steps(folder: pathlib.Path) -> int:
    """Steps of the optimizer in the best checkpoint, also of a stopped run."""
    import h5py

    path = layout.best(folder)
    with zipfile.ZipFile(path) as file:
        weights = io.BytesIO(file.read("model.weights.h5"))
    with h5py.File(weights) as file:
        return int(file["optimizer/vars/0"][()])


def few_classes(data, name: str) -> tuple:
    """Inputs and classes of a split, of at most `MOST_CLASSES` classes."""
    from trainers.data.folds import class_ids
    from trainers.measures.embed import split_to_embed

    x, labels = split_to_embed(data, name)
    labels = class_ids(labels)
    some = np.random.default_rng(0).permutation(np.unique(labels))
    rows = np.flatnonzero(np.isin(labels, some[:MOST_CLASSES]))
    return x[rows], labels[rows]


def main(words=None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.served_open_set",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folders", nargs="*", type=pathlib.Path)
    parser.add_argument("--replace", action="store_true")
    parser.add_argument("--print", action="store_true", dest="prints")
    arguments = parser.parse_args(words)
    from trainers.terminal.quiet import import_tensorflow

    import_tensorflow()
    for folder in arguments.folders:
        name, found = folder.resolve().name, study(folder)
        if arguments.prints:
            print(tables({name: found}))
            continue
        path = RESULTS / f"{name}.json"
        keep_result(path, found, replace=arguments.replace)
        print(f"wrote {path}")
    if not arguments.prints:
        write_between(PAGE, BEGIN, END, tables(results_by_name(RESULTS)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
