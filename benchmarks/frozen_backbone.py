"""Measures a head on a frozen network: the first run, and the next ones.

    python -m benchmarks.frozen_backbone FOLDER

FOLDER is Tiny ImageNet, a subfolder of images per class. Makes a
folder of links to its first `NUM_CLASSES` classes, and trains a head on
ResNet50V2 with random weights by `embeddings-tf train`: with an empty cache of
features, and again with the cache; five times, each with a new cache. The
second training reads features, so without the start it only trains the head.
Writes `benchmarks/results/frozen_backbone.json` and its table in
docs/own_data.md.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from benchmarks._side_by_side import shown
from tools.generated_text import NOT_RUN
from tools.generated_text import hardware
from tools.generated_text import write_between

NUM_CLASSES, ROUNDS = 20, 5
ROOT = pathlib.Path(__file__).parents[1]
RESULT = ROOT / "benchmarks" / "results" / "frozen_backbone.json"
PAGE = ROOT / "docs" / "own_data.md"
MARKS = "<!-- frozen backbone: begin -->", "<!-- frozen backbone: end -->"
FIELDS = (
    "backbone.network=ResNet50V2",
    "backbone.weights=None",
    "backbone.image_shape=(32, 32, 3)",
    "images.size=0",
    "encoder.name=features_encoder",
    "encoder.num_features=2048",
)


def link_classes(source: pathlib.Path, folder: pathlib.Path) -> int:
    """Links the first classes into a folder; returns the number of images."""
    classes = sorted(path for path in source.iterdir() if path.is_dir())
    for path in classes[:NUM_CLASSES]:
        (folder / path.name).symlink_to(path.resolve())
    return sum(len(list(p.iterdir())) for p in classes[:NUM_CLASSES])


def train(folder: pathlib.Path, number: int, name: str) -> dict:
    """Trains in a new process; returns its seconds and its best recall@1.

    Args:
        folder: Folder with `images`.
        number: The round, which has a cache of its own.
        name: Name of the workdir within the round.
    """
    made = folder / str(number)
    words = ["train", f"image_folder:{folder / 'images'}", "--goal", "retrieve"]
    words += ["--workdir", str(made / name)]
    fields = [*FIELDS, f"cache_dir={made / 'cache'}"]
    started = time.perf_counter()
    done = subprocess.run(
        [
            *(sys.executable, "-m", "trainers.console", *words),
            *(f"--config.{field}" for field in fields),
        ],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise SystemExit(done.stdout + done.stderr)
    print(name, done.stdout, flush=True)
    training = json.loads((made / name / "results.json").read_text())
    return {
        "seconds": round(time.perf_counter() - started, 1),
        "training_seconds": training["training"]["seconds"],
        "epochs": training["training"]["epochs"],
        "steps": training["training"]["steps"],
        "recall_at_1": training["training"]["best_value"],
    }


def text(result: dict) -> str:
    """Returns the Markdown between the marks."""
    first, again = (
        [each[name] for each in result["rounds"]] for name in ("first", "again")
    )
    rows = {
        "with an empty cache": [run["seconds"] for run in first],
        "again, features from the cache": [run["seconds"] for run in again],
        f"of which the training of the head, {again[0]['steps']:,} batches": [
            run["training_seconds"] for run in again
        ],
    }
    recall = statistics.median(run["recall_at_1"] for run in again)
    return "\n".join(
        [
            "| `train`, whole process | seconds |",
            "|---|---:|",
            *(
                f"| {name} | {shown(found, 1)} |"
                for name, found in rows.items()
            ),
            "",
            f"Median and quartiles of {len(first)} rounds. "
            f"{result['images']:,} images of {result['classes']} classes of "
            "Tiny ImageNet at 32 x 32 pixels, ResNet50V2 with random weights. "
            "Therefore recall@1 of the validation classes is only "
            f"{100 * recall:.0f} %. On {hardware([result])}, "
            f"load {result['load']:.1f}, at {result['commit'][:7]} "
            f"(`{result['command']}`).",
        ]
    )


def page_text() -> str:
    """Returns what the page must have between the marks."""
    return text(json.loads(RESULT.read_text())) if RESULT.exists() else NOT_RUN


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=pathlib.Path)
    source = parser.parse_args().folder

    from trainers.terminal.quiet import import_tensorflow
    from trainers.workdirs.json_files import write_json
    from trainers.workdirs.provenance import provenance

    with tempfile.TemporaryDirectory() as made:
        folder = pathlib.Path(made)
        (folder / "images").mkdir()
        num_images = link_classes(source, folder / "images")
        rounds = [
            {name: train(folder, number, name) for name in ("first", "again")}
            for number in range(ROUNDS)
        ]
    import_tensorflow()
    result = {
        "command": "python -m benchmarks.frozen_backbone FOLDER",
        "classes": NUM_CLASSES,
        "images": num_images,
        "rounds": rounds,
        **provenance(),
    }
    write_json(RESULT, result)
    write_between(PAGE, *MARKS, page_text())
    print(page_text())


if __name__ == "__main__":
    main()
