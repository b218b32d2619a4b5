"""Speed and memory of the losses on pairs and triplets, side by side.

    pip install torch pytorch-metric-learning      # CPU builds suffice
    python -m benchmarks.rival_losses

A step is the loss and its gradient in the embeddings, on one batch, with all
cores. Each library has a process of its own; they take turns, so that both
see the same machine. Peak memory is what the first step on a batch adds to
the resident set of a fresh process that has seen only a few rows.
Prints a table and writes it; without the other library, only prints ours.
"""

import concurrent.futures
import contextlib
import functools
import importlib.metadata
import importlib.util
import multiprocessing
import os
import pathlib
import statistics
import time
import warnings

RESULT = pathlib.Path(__file__).parent / "results" / "rival_losses.json"
OURS, THEIRS = "embeddings_tf", "pytorch_metric_learning"
INSTALL = "pip install torch pytorch-metric-learning"
# Classes, instances of each, dimensions.
BATCHES = {"12x10x500": (12, 10, 500), "64x8x128": (64, 8, 128)}
LOSSES = (
    "triplet",
    "histogram",
    "lifted_structure",
    "contrastive",
    "binomial_deviance",
)
# Ours must be faster by this factor.
AIMS = {
    ("12x10x500", "triplet"): 3,
    ("12x10x500", "histogram"): 50,
    ("12x10x500", "lifted_structure"): 50,
    ("12x10x500", "contrastive"): 1,
    ("64x8x128", "triplet"): 10,
    ("64x8x128", "contrastive"): 1,
}
# Why the other library has no number, or another value.
MISSING = {
    "binomial_deviance": "pytorch-metric-learning has no such loss",
    ("64x8x128", "histogram"): "left out: more than 10 s a step",
    ("64x8x128", "lifted_structure"): "left out: a matrix of 3,584 positive "
    "times 258,048 negative pairs, 3.4 GiB, several times",
}
OTHER_FORMULA = {"contrastive": "distances there, half their squares here"}
ROUNDS, SECONDS_A_TURN = 12, 0.2


def batch(name):
    """Embeddings `(rows, dim)` of classes that overlap, labels `(rows,)`."""
    import numpy as np

    num_classes, num_per_class, dim = BATCHES[name]
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(num_classes), num_per_class)
    centres = 0.2 * rng.normal(size=(num_classes, dim))
    z = centres[labels] + rng.normal(size=(len(labels), dim))
    # Distances of about 1: of each loss, some hinges are active.
    return (z / np.sqrt(2 * dim)).astype("float32"), labels.astype("int32")


def our_step(loss):
    """Makes tensors of arrays; takes a step on tensors."""
    import tensorflow as tf

    from embeddings_tf import losses

    function = getattr(losses, f"{loss}_loss")

    @tf.function(
        input_signature=[
            tf.TensorSpec([None, None], tf.float32),
            tf.TensorSpec([None], tf.int32),
        ]
    )
    def step(z, labels):
        with tf.GradientTape() as tape:
            tape.watch(z)
            value = tf.reduce_mean(function(labels, z))
        return value, tape.gradient(value, z)

    return tf.constant, lambda z, labels: step(z, labels)[0].numpy()


def their_step(loss):
    """Makes tensors of arrays; takes a step on tensors."""
    import torch
    from pytorch_metric_learning import distances
    from pytorch_metric_learning import losses
    from pytorch_metric_learning import reducers

    raw = functools.partial(distances.LpDistance, normalize_embeddings=False)
    function = {
        "triplet": lambda: losses.TripletMarginLoss(
            margin=0.1,
            distance=raw(power=2),
            reducer=reducers.MeanReducer(),
        ),
        "histogram": lambda: losses.HistogramLoss(n_bins=200),
        "lifted_structure": lambda: losses.LiftedStructureLoss(distance=raw()),
        "contrastive": lambda: losses.ContrastiveLoss(distance=raw()),
    }[loss]()

    def step(z, labels):
        z = z.detach().requires_grad_()
        value = function(z, labels)
        value.backward()
        return value.detach().numpy()

    return torch.tensor, step


# What runs in the processes of the libraries.


def start(library):
    """Imports the library, without its noise."""
    from trainers.quiet import import_tensorflow
    from trainers.quiet import quiet_import

    if library == OURS:
        import_tensorflow()
    else:
        with quiet_import():
            import pytorch_metric_learning  # noqa: F401
        warnings.simplefilter("ignore")  # it indexes in an outdated way


@functools.cache
def ready_step(library, loss, batch_name):
    """A step on the batch, after one on a few rows of it."""
    to_tensor, step = (our_step if library == OURS else their_step)(loss)
    z, labels = batch(batch_name)
    some = labels < 2
    step(to_tensor(z[some]), to_tensor(labels[some]))
    return functools.partial(step, to_tensor(z), to_tensor(labels))


def value(*case):
    return float(ready_step(*case)())


def turn(*case):
    """Seconds of each step of one turn."""
    step = ready_step(*case)
    seconds = []
    while sum(seconds) < SECONDS_A_TURN:
        started = time.perf_counter()
        step()
        seconds.append(time.perf_counter() - started)
    return seconds


def peak_bytes(library, *case):
    """What a step adds to the resident set; None where it cannot be read."""
    start(library)
    step = ready_step(library, *case)
    try:
        # Sets the high-water mark back to what is resident now.
        pathlib.Path("/proc/self/clear_refs").write_text("5")
        before = high_water_mark()
        step()
        return high_water_mark() - before
    except OSError:
        return None


def high_water_mark():
    status = pathlib.Path("/proc/self/status").read_text()
    line = next(s for s in status.splitlines() if s.startswith("VmHWM:"))
    return 1024 * int(line.split()[1])


# What runs in this process.


def process(**options):
    return concurrent.futures.ProcessPoolExecutor(
        1, multiprocessing.get_context("spawn"), **options
    )


def compare(libraries):
    """By batch and loss, what was measured of each library."""
    cases = {
        (name, loss): [
            library
            for library in libraries
            if library == OURS or not {loss, (name, loss)}.intersection(MISSING)
        ]
        for name in BATCHES
        for loss in LOSSES
    }
    measured = {name: {} for name in BATCHES}
    with contextlib.ExitStack() as stack:
        processes = {
            library: stack.enter_context(process()) for library in libraries
        }

        def call(function, library, *arguments):
            work = processes[library].submit(function, library, *arguments)
            return work.result()

        for library in libraries:
            call(start, library)
        for (name, loss), among in cases.items():
            entry = measured[name][loss] = {
                library: {"value": call(value, library, loss, name)}
                for library in among
            }
            seconds = {library: [] for library in among}
            for _ in range(ROUNDS):
                for library in among:
                    seconds[library] += call(turn, library, loss, name)
            for library in among:
                entry[library]["median_seconds"] = statistics.median(
                    seconds[library]
                )
                entry[library]["fastest_seconds"] = min(seconds[library])
                entry[library]["steps"] = len(seconds[library])
            print(".", end="", flush=True)
    with process(max_tasks_per_child=1) as fresh:
        for (name, loss), among in cases.items():
            for library in among:
                work = fresh.submit(peak_bytes, library, loss, name)
                measured[name][loss][library]["peak_bytes"] = work.result()
            print(".", end="", flush=True)
    print()
    return measured


def summarise(measured):
    """Adds ratios and aims, checks the values; returns lines of a table."""
    lines = [
        "| batch | loss | ms | peak MiB | theirs, ms | peak MiB | faster by "
        "| aim |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, entries in measured.items():
        for loss, entry in entries.items():
            ours, theirs = entry[OURS], entry.get(THEIRS)
            cells = [name, loss, *columns(ours), *columns(theirs)]
            if theirs is None:
                entry["missing"] = MISSING.get(
                    loss, MISSING.get((name, loss), f"to compare: {INSTALL}")
                )
                lines.append(f"| {' | '.join(cells)} | | |")
                continue
            entry["faster_by"] = (
                theirs["median_seconds"] / ours["median_seconds"]
            )
            entry["aim"] = AIMS.get((name, loss))
            if loss in OTHER_FORMULA:
                entry["other_formula"] = OTHER_FORMULA[loss]
            else:
                difference = abs(ours["value"] - theirs["value"])
                assert difference < 1e-4 * abs(theirs["value"]), entry
            cells += [f"{entry['faster_by']:.1f}", str(entry["aim"] or "")]
            lines.append(f"| {' | '.join(cells)} |")
    return lines


def columns(measured):
    if measured is None:
        return ["", ""]
    peak = measured["peak_bytes"]
    return [
        f"{1000 * measured['median_seconds']:.2f}",
        "" if peak is None else f"{peak / 2**20:.1f}",
    ]


def main() -> None:
    complete = all(importlib.util.find_spec(name) for name in ("torch", THEIRS))
    started, load_average = time.perf_counter(), os.getloadavg()[0]
    measured = compare([OURS, THEIRS] if complete else [OURS])
    print("\n".join(summarise(measured)))
    if not complete:
        print(f"Ours alone, and nothing written; to compare: {INSTALL}")
        return

    from trainers.quiet import import_tensorflow

    import_tensorflow()
    from trainers.workdir import provenance
    from trainers.workdir import write_json

    result = {
        "command": "python -m benchmarks.rival_losses",
        "step": "loss and gradient in the embeddings, all cores",
        "load_average_before": load_average,
        "batches": measured,
        "seconds": time.perf_counter() - started,
        **provenance(),
        "torch": importlib.metadata.version("torch"),
        THEIRS: importlib.metadata.version("pytorch-metric-learning"),
    }
    RESULT.parent.mkdir(exist_ok=True)
    write_json(RESULT, result)
    print(f"Wrote {RESULT.relative_to(RESULT.parents[2])}")


if __name__ == "__main__":
    main()
