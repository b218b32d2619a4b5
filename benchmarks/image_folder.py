"""Measures the time to the first batch from a folder of 100,000 images.

    python -m benchmarks.image_folder
    python -m benchmarks.image_folder --folder PATH
    python -m benchmarks.image_folder --folder PATH --record "Name of the data"

Writes 200 classes of 500 JPEG files of 32 x 32 pixels to a temporary folder, or
uses an existing folder. Six processes, one after another, list its training
classes and make the first batch of 60 images, then 50 more. The time to import
TensorFlow is not counted. CPU seconds hardly depend on the disk and on other
processes; the other figures do. The result of the fabricated folder is written
to a file and to its table in docs/own_data.md. With `--record`, so is the
result of an existing folder.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time

from benchmarks._side_by_side import shown
from tools.generated_text import hardware
from tools.generated_text import write_between

NUM_CLASSES, NUM_PER_CLASS, SIZE = 200, 500, 32
NUM_BATCHES, MORE_PROCESSES = 50, 5
ROOT = pathlib.Path(__file__).parents[1]
RESULT = ROOT / "benchmarks" / "results" / "image_folder.json"
PAGE = ROOT / "docs" / "own_data.md"
BEGIN, END = "<!-- speed: begin -->", "<!-- speed: end -->"


def write_folder(folder: pathlib.Path) -> None:
    """Writes noise, so that files are as long as photographs of that size."""
    import keras
    import numpy as np
    import tensorflow as tf

    rng = np.random.default_rng(0)
    bar = keras.utils.Progbar(NUM_CLASSES, unit_name="class")
    for number in range(NUM_CLASSES):
        place = folder / f"class_{number:03}"
        place.mkdir()
        for image in range(NUM_PER_CLASS):
            pixels = rng.integers(0, 256, (SIZE, SIZE, 3), np.uint8)
            content = tf.io.encode_jpeg(pixels, quality=50).numpy()
            (place / f"{image:03}.jpg").write_bytes(content)
        bar.update(number + 1)


def measure(folder: str) -> dict:
    """Measures the seconds of this process; prints them as JSON."""
    from embeddings_tf import datasets
    from embeddings_tf import sampling

    started, cpu_started = time.perf_counter(), time.process_time()
    x, labels = datasets.load(f"image_folder:{folder}", "train")
    listed, cpu_listed = time.perf_counter(), time.process_time()
    indices = sampling.class_balanced_batches(labels, 12, 5, seed=0)
    batches = iter(datasets.batches(x, labels, indices))
    shape = next(batches)[0].shape
    first, cpu_first = time.perf_counter(), time.process_time()
    for _ in range(NUM_BATCHES):
        next(batches)
    last = time.perf_counter()
    return {
        "training_images": len(x),
        "seconds_to_list": listed - started,
        "cpu_seconds_to_list": cpu_listed - cpu_started,
        "seconds_to_first_batch": first - started,
        "cpu_seconds_to_first_batch": cpu_first - cpu_started,
        "images_per_second": NUM_BATCHES * shape[0] / (last - first),
    }


def in_process(folder) -> dict:
    command = (sys.executable, "-m", "benchmarks.image_folder")
    done = subprocess.run(
        [*command, "--measure", "--folder", str(folder)],
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


def of_folder(folder: str) -> dict:
    """Returns what is in a folder: classes, images and their shape."""
    from embeddings_tf import datasets

    x, labels = datasets.load(f"image_folder:{folder}", "all")
    return {
        "classes": len(set(labels.tolist())),
        "images": len(x),
        "image_shape": list(x[:1].shape[1:]),
    }


def result_file(folder: str | None) -> pathlib.Path:
    """Returns the file of the result of a folder; None: the fabricated one."""
    if folder is None:
        return RESULT
    name = pathlib.Path(folder).resolve().name
    return RESULT.with_stem(f"{RESULT.stem}_{name}")


def page_text() -> str:
    """Returns the Markdown between the marks: the tables of all results."""
    files = [RESULT, *sorted(RESULT.parent.glob(f"{RESULT.stem}_*.json"))]
    return "\n\n".join(text(json.loads(file.read_text())) for file in files)


def text(result: dict) -> str:
    """Returns the caption and the table of a result."""
    first, more = result["first"], result["more"]
    lines = [
        f"| | first process | {len(more)} more, median and quartiles |",
        "|---|---|---|",
    ]
    for name, digits in (
        ("seconds_to_list", 2),
        ("cpu_seconds_to_list", 2),
        ("seconds_to_first_batch", 2),
        ("cpu_seconds_to_first_batch", 2),
        ("images_per_second", 0),
    ):
        title = name.replace("_", " ").replace("cpu", "CPU")
        lines.append(
            f"| {title} | {first[name]:,.{digits}f} | "
            f"{shown([run[name] for run in more], digits)} |"
        )
    height, width = result.get("image_shape", (SIZE, SIZE))[:2]
    files = "JPEG files of noise"
    if "data" in result:
        files = f"files of {result['data']}"
    return "\n".join(
        [
            f"{result['images']:,} {files}, {height} x {width} pixels in "
            f"{result['classes']} classes, on {hardware([result])}, load "
            f"{result['load']:.1f} (`{result['command']}`):",
            "",
            *lines,
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--folder", help="an existing folder")
    parser.add_argument(
        "--record",
        metavar="NAME",
        help="name of the data in the folder: writes the result to a file and "
        "to the page (default: only prints it)",
    )
    parser.add_argument(
        "--measure", action="store_true", help=argparse.SUPPRESS
    )
    arguments = parser.parse_args()
    if arguments.record and not arguments.folder:
        parser.error("--record needs --folder")

    from trainers.terminal.quiet import import_tensorflow
    from trainers.workdirs.json_files import write_json
    from trainers.workdirs.provenance import provenance

    import_tensorflow()
    if arguments.measure:
        print(json.dumps(measure(arguments.folder)))
        return
    with tempfile.TemporaryDirectory() as made:
        folder = arguments.folder
        if folder is None:
            folder = made
            write_folder(pathlib.Path(made))
        first, *more = [in_process(folder) for _ in range(1 + MORE_PROCESSES)]
    measured = {"first": first, "more": more}
    if arguments.folder and not arguments.record:
        print(json.dumps({"folder": folder, **measured}, indent=2))
        return
    result = {
        "command": "python -m benchmarks.image_folder",
        "classes": NUM_CLASSES,
        "images": NUM_CLASSES * NUM_PER_CLASS,
        **measured,
        **provenance(),
    }
    if arguments.folder:
        result["command"] += f" --folder {pathlib.Path(folder).resolve().name}"
        result["command"] += f' --record "{arguments.record}"'
        result |= {"data": arguments.record, **of_folder(folder)}
    write_json(result_file(arguments.folder), result)
    write_between(PAGE, BEGIN, END, page_text())
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
