"""Measures the answers "unknown" of an exported gallery on new classes.

    python -m tools.served_open_set runs/omniglot_triplet ...

For each run, over random divisions of its test classes into two halves: one
half is enrolled with at most `NUM_SUPPORT` examples per class, the other half
is unknown, and the validation classes calibrate the threshold. If these were in
training, the test classes are divided into thirds, and one calibrates. The
first division is exported and answered by its signature `identify`, which also
answers images of uniform noise.

Writes `benchmarks/results/open_set/NAME.json`, with the name of the folder, and
the table of docs/serving.md.
"""

import io
import pathlib
import tempfile
import zipfile

import numpy as np

from tools.generated_text import ROOT
from tools.generated_text import collect_folders
from tools.generated_text import write_between
from tools.keep_result import keep_result
from tools.keep_result import kept_results

RESULTS = ROOT / "benchmarks" / "results" / "open_set"
PAGE = ROOT / "docs" / "serving.md"
BEGIN, END = "<!-- open set table: begin -->", "<!-- open set table: end -->"
RATES = (0.05, 0.1)
NUM_SUPPORT = 10
NUM_DIVISIONS = 20
# At most so many classes of a split.
MOST_CLASSES = 60
NUM_NOISE = 200
_ROWS = 256


def divided(labels: np.ndarray, division: int, calibrates: bool) -> tuple:
    """Rows of supports, their classes' queries, unknown and calibration.

    Without `calibrates`, no class of these labels calibrates the threshold.
    """
    rng = np.random.default_rng(division)
    order = rng.permutation(len(labels))
    classes = np.array_split(
        rng.permutation(np.unique(labels)), 3 if calibrates else 2
    )
    rows = [order[labels[order] == c] for c in classes[0]]
    count = [min(NUM_SUPPORT, len(r) // 2) for r in rows]
    others = [order[np.isin(labels[order], part)] for part in classes[1:]]
    return (
        np.concatenate([r[:n] for r, n in zip(rows, count, strict=True)]),
        np.concatenate([r[n:] for r, n in zip(rows, count, strict=True)]),
        others[0],
        others[1] if calibrates else order[:0],
    )


def shares(found: dict, truth: np.ndarray, num_known: int) -> dict:
    """Shares of right and of accepted answers; known inputs come first."""
    accepted = found["accepted"]
    right = found["class"].astype(str)[:num_known] == truth[:num_known]
    return {
        "known_identified": float(np.mean(right & accepted[:num_known])),
        "known_accepted": float(np.mean(accepted[:num_known])),
        "unknown_accepted": float(np.mean(accepted[num_known:])),
    }


def served(model, gallery, x, truth, num_known: int) -> dict:
    """Shares of the answers of an export, and of its answers to noise."""
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

        found = answer(np.asarray(x, np.float32))
        rng = np.random.default_rng(0)
        noise = rng.integers(0, 256, (NUM_NOISE, *x.shape[1:])).astype(
            np.float32
        )
        of_noise = answer(noise)
    return {
        **shares(found, truth, num_known),
        "noise_unknown": float(np.mean(of_noise["answer"] == b"unknown")),
        "noise_mean_probability": float(np.mean(of_noise["probability"])),
        "known_mean_probability": float(
            np.mean(found["probability"][:num_known])
        ),
    }


def study(folder: pathlib.Path) -> dict:
    """Returns the results of a run."""
    from embeddings_tf.scoring import Gallery
    from trainers.checkpoint import load_best
    from trainers.data import Data
    from trainers.embed import embed
    from trainers.folds import class_ids
    from trainers.provenance import provenance
    from trainers.workdir import read_json
    from trainers.workdir import run_of_workdir

    recipe, run = run_of_workdir(folder)
    data, model = Data(run), load_best(folder)
    x, labels = few_classes(data, run.evaluation.splits[-1])
    test = embed(model, x)
    trained = set(class_ids(data.labels(run.data.split)).tolist())
    held_out, held_out_labels = few_classes(data, "validation")
    calibrates = bool(trained & {*held_out_labels.tolist()})
    others = None if calibrates else embed(model, held_out)
    promises = []
    for rate in RATES:
        found = []
        for division in range(NUM_DIVISIONS):
            support, known, unknown, rest = divided(
                labels, division, calibrates
            )
            gallery = Gallery(model, embedded=True)
            gallery.enroll(test[support], labels[support].astype(str))
            gallery.calibrate(
                test[rest] if calibrates else others,
                # Names of other classes, also if numbers are the same.
                np.char.add(
                    "other ",
                    (labels[rest] if calibrates else held_out_labels).astype(
                        str
                    ),
                ),
                rate,
            )
            rows = np.concatenate([known, unknown])
            truth = labels[rows].astype(str)
            answers = gallery.identify(test[rows])
            found.append(shares(answers, truth, len(known)))
            if division == 0:
                first = served(model, gallery, x[rows], truth, len(known))
        promises.append(
            {
                "promised": rate,
                **{
                    key: float(np.mean([one[key] for one in found]))
                    for key in found[0]
                },
                "unknown_accepted_deviation": float(
                    np.std([one["unknown_accepted"] for one in found], ddof=1)
                ),
                "served_first_division": first,
            }
        )
    calibration = gallery.calibration_
    return {
        "recipe": recipe,
        "config": read_json(folder / "config.json", "train again")["config"],
        "method": run.method.name,
        "trained_steps": trained_steps(folder),
        "test_classes": len(np.unique(labels)),
        "enrolled_classes": len(gallery.classes_),
        "calibration_classes": calibration["num_classes"],
        "num_support": NUM_SUPPORT,
        "num_divisions": NUM_DIVISIONS,
        "promises": promises,
        **provenance(),
    }


def trained_steps(folder: pathlib.Path) -> int:
    """Steps of the optimizer in the best checkpoint, also of a stopped run."""
    import h5py

    path = folder / "checkpoints" / "best.keras"
    with zipfile.ZipFile(path) as file:
        weights = io.BytesIO(file.read("model.weights.h5"))
    with h5py.File(weights) as file:
        return int(file["optimizer/vars/0"][()])


def few_classes(data, name: str) -> tuple:
    """Inputs and classes of a split, of at most `MOST_CLASSES` classes."""
    from trainers.embed import split_to_embed
    from trainers.folds import class_ids

    x, labels = split_to_embed(data, name)
    labels = class_ids(labels)
    some = np.random.default_rng(0).permutation(np.unique(labels))
    rows = np.flatnonzero(np.isin(labels, some[:MOST_CLASSES]))
    return x[rows], labels[rows]


def table(found: dict[str, dict]) -> str:
    """The Markdown between the marks."""
    lines = [
        "| run | test classes | promised | unknown classes accepted | "
        "enrolled classes accepted | and identified | unknown classes "
        "accepted, by the export | enrolled classes identified, by the export "
        '| noise answered "unknown" |',
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name, result in sorted(found.items()):
        for promise in result["promises"]:
            first = promise["served_first_division"]
            lines.append(
                f"| {name.replace('_', ' ')} | {result['test_classes']} | "
                f"{promise['promised']:.0%} | "
                f"{promise['unknown_accepted']:.1%} "
                f"(± {promise['unknown_accepted_deviation']:.1%}) | "
                f"{promise['known_accepted']:.1%} | "
                f"{promise['known_identified']:.1%} | "
                f"{first['unknown_accepted']:.1%} | "
                f"{first['known_identified']:.1%} | "
                f"{first['noise_unknown']:.1%} |"
            )
    return "\n".join(lines)


def write_page() -> None:
    found = {p.stem: result for p, result in kept_results(RESULTS).items()}
    write_between(PAGE, BEGIN, END, table(found))


def collect(folder: pathlib.Path, replace: bool) -> None:
    """Writes the result file of a run, and the table."""
    from trainers.quiet import import_tensorflow

    import_tensorflow()
    name = folder.resolve().name
    keep_result(RESULTS / f"{name}.json", study(folder), replace=replace)
    write_page()
    print(f"wrote {RESULTS / name}.json")


if __name__ == "__main__":
    collect_folders(__doc__.partition("\n")[0], collect)
    write_page()
