"""Measures memory and time of training steps in pieces and on whole batches.

    python -m benchmarks.two_pass_step

The step is gradient descent on the convolutional network of MNIST, with
binomial deviance over all pairs of the batch. Peak memory is the growth of the
resident set in a compiled step; the process is new and has only taken steps on
a few rows. For time, both kinds of steps take turns in one process. Both start
from the same weights. The largest difference between their updates is reported
with the largest update. Writes `benchmarks/results/two_pass_step.json` and the
table of `docs/training.md`.
"""

import functools
import json
import os
import pathlib
import time

from benchmarks import _side_by_side as side_by_side
from benchmarks._provenance import provenance
from tools.generated_text import ROOT
from tools.generated_text import write_between

RESULT = side_by_side.RESULTS / "two_pass_step.json"
PAGE = ROOT / "docs" / "training.md"
BEGIN, END = "<!-- two-pass step: begin -->", "<!-- two-pass step: end -->"
BATCHES, PIECE_SIZE, NUM_PER_CLASS = (512, 1024, 2048), 128, 8
ROUNDS = 8


def new_model(piece_size):
    """Returns a new compiled model after steps on a few rows."""
    import keras

    from embeddings_tf import losses
    from embeddings_tf import models

    keras.utils.set_random_seed(0)
    model = models.EmbeddingModel(
        models.mnist_encoder(32),
        losses.BinomialDevianceLoss(),
        piece_size=piece_size,
    )
    model.compile(keras.optimizers.SGD(0.1))
    weights = model.get_weights()
    # Two sizes, after which the step is compiled for any size.
    for num_rows in (16, 24):
        model.train_on_batch(*batch(num_rows))
    model.set_weights(weights)
    return model


@functools.cache
def batch(num_rows):
    """Returns images of overlapping classes `(rows, 28, 28, 1)`, and labels."""
    import numpy as np

    rng = np.random.default_rng(0)
    labels = np.arange(num_rows) // NUM_PER_CLASS
    centres = rng.uniform(0, 255, (labels.max() + 1, 28, 28, 1))
    x = (centres[labels] + rng.uniform(0, 255, (num_rows, 28, 28, 1))) / 2
    return x.astype("float32"), labels.astype("int32")


# The following functions run in separate processes.


def peak_bytes(piece_size, num_rows):
    """Returns the growth of the resident set in a step, or None."""
    from trainers.terminal.quiet import import_tensorflow

    import_tensorflow()
    model = new_model(piece_size)
    data = batch(num_rows)
    try:
        # Resets the high-water mark to the current resident set.
        pathlib.Path("/proc/self/clear_refs").write_text("5")
        before = side_by_side.high_water_mark()
        model.train_on_batch(*data)
        return side_by_side.high_water_mark() - before
    except OSError:
        return None


def time_and_difference(num_rows):
    """Seconds of the steps of both, and difference of their first updates."""
    import numpy as np

    from trainers.terminal.quiet import import_tensorflow

    import_tensorflow()
    models = {"whole": new_model(None), "pieces": new_model(PIECE_SIZE)}
    start = models["whole"].get_weights()
    data = batch(num_rows)
    seconds = {name: [] for name in models}
    updates = {}
    for round_ in range(ROUNDS + 1):
        for name, model in models.items():
            started = time.perf_counter()
            model.train_on_batch(*data)
            if round_:
                seconds[name].append(time.perf_counter() - started)
            else:
                updates[name] = [
                    after - before
                    for before, after in zip(
                        start, model.get_weights(), strict=True
                    )
                ]
    largest = max(float(np.abs(u).max()) for u in updates["whole"])
    difference = max(
        float(np.abs(whole - pieces).max())
        for whole, pieces in zip(*updates.values(), strict=True)
    )
    assert difference <= 1e-5 * max(1, largest), (difference, largest)
    return {
        "seconds": seconds,
        "largest_update": largest,
        "largest_difference": difference,
    }


def table(result: dict) -> str:
    """Returns the Markdown between the marks."""
    lines = [
        "| rows | memory, whole | in pieces | seconds, whole | in pieces "
        "| times as long |",
        "|---:|---:|---:|---:|---:|---:|",
    ]
    for num_rows, found in result["batches"].items():
        peaks = (
            "" if peak is None else f"{peak / 2**20:.0f} MiB"
            for peak in found["peak_bytes"].values()
        )
        both = found["seconds"]
        ratios = [
            pieces / whole
            for whole, pieces in zip(both["whole"], both["pieces"], strict=True)
        ]
        times = (
            side_by_side.shown(values, 2)
            for values in (both["whole"], both["pieces"], ratios)
        )
        cells = f"{int(num_rows):,}", *peaks, *times
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(
        [
            *lines,
            "",
            f"A step of the network of MNIST with binomial deviance, whole and "
            f"in pieces of {result['piece_size']} rows: median (quartiles) of "
            f"{result['rounds']} rounds, `{result['command']}`, commit "
            f"{result['commit'][:7]}; {result['processor']}, "
            f"{result['cores']} cores, load before "
            f"{result['load_average_before']:.1f}.",
        ]
    )


def load() -> dict:
    return json.loads(RESULT.read_text())


def main() -> None:
    started = time.perf_counter()
    before = {"load_average_before": os.getloadavg()[0], **provenance()}
    measured = {}
    for num_rows in BATCHES:
        print(f"{num_rows} rows", flush=True)
        peaks = {}
        for name, piece_size in (("whole", None), ("pieces", PIECE_SIZE)):
            with side_by_side.process() as fresh:
                peaks[name] = fresh.submit(
                    peak_bytes, piece_size, num_rows
                ).result()
        with side_by_side.process() as fresh:
            entry = fresh.submit(time_and_difference, num_rows).result()
        measured[str(num_rows)] = {"peak_bytes": peaks, **entry}

    from trainers.workdirs.json_files import write_json

    result = {
        "command": "python -m benchmarks.two_pass_step",
        "piece_size": PIECE_SIZE,
        "rounds": ROUNDS,
        "batches": measured,
        "seconds": time.perf_counter() - started,
        **before,
    }
    RESULT.parent.mkdir(exist_ok=True)
    write_json(RESULT, result)
    text = table(result)
    write_between(PAGE, BEGIN, END, text)
    print(f"{text}\nWrote {RESULT.relative_to(ROOT)} and {PAGE.name}")


if __name__ == "__main__":
    main()
