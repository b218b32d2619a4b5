"""Compares speed and memory of losses with other implementations.

A step is a loss and its gradient in the embeddings, on one batch, with all
cores. Each contender runs in its own process. The contenders take turns, so
that all of them see the same load of the machine. Peak memory is the growth of
the resident set in the first step on a batch; the process is new and has only
seen a few rows.

A contender is a function of a module with one argument, such as the name of a
loss. It returns two functions: the first makes tensors of arrays; the second
takes a step on these embeddings and labels and returns the loss.
"""

import concurrent.futures
import contextlib
import functools
import json
import multiprocessing
import os
import pathlib
import time

from benchmarks import _spread as spread
from tools.generated_text import hardware
from tools.generated_text import write_between

RESULTS = pathlib.Path(__file__).parent / "results"
# Number of classes, instances per class, dimensions.
BATCHES = {"12x10x500": (12, 10, 500), "64x8x128": (64, 8, 128)}
ROUNDS, SECONDS_A_TURN = 12, 0.2


def batch(name):
    """Returns embeddings `(rows, dim)` of overlapping classes, and labels."""
    import numpy as np

    num_classes, num_per_class, dim = BATCHES[name]
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(num_classes), num_per_class)
    centres = 0.2 * rng.normal(size=(num_classes, dim))
    z = centres[labels] + rng.normal(size=(len(labels), dim))
    # Distances of about 1, so that every loss has some active hinges.
    return (z / np.sqrt(2 * dim)).astype("float32"), labels.astype("int32")


def tensorflow_contender(function, jit_compile=None):
    """Makes a contender of a function with one value per row.

    With `jit_compile`, XLA compiles it as in `model.compile(jit_compile=True)`.
    """
    import tensorflow as tf

    @tf.function(
        input_signature=[
            tf.TensorSpec([None, None], tf.float32),
            tf.TensorSpec([None], tf.int32),
        ],
        jit_compile=jit_compile,
    )
    def step(z, labels):
        with tf.GradientTape() as tape:
            tape.watch(z)
            value = tf.reduce_mean(function(labels, z))
        return value, tape.gradient(value, z)

    # The single traced function, because choosing among several takes time
    # at each call and does not belong to a loss.
    step = step.get_concrete_function()
    return tf.constant, lambda z, labels: step(z, labels)[0].numpy()


# The following functions run in the processes of the contenders.


@functools.cache
def ready_step(contender, argument, batch_name):
    """Takes a step on a few rows; returns a step on the whole batch."""
    to_tensor, step = contender(argument)
    z, labels = batch(batch_name)
    some = labels < 2
    step(to_tensor(z[some]), to_tensor(labels[some]))
    return functools.partial(step, to_tensor(z), to_tensor(labels))


def value(*case):
    return float(ready_step(*case)())


def turn(*case):
    """Returns the seconds of each step of one turn."""
    step = ready_step(*case)
    seconds = []
    while sum(seconds) < SECONDS_A_TURN:
        started = time.perf_counter()
        step()
        seconds.append(time.perf_counter() - started)
    return seconds


def peak_bytes(*case):
    """Returns the growth of the resident set in a step, or None."""
    step = ready_step(*case)
    try:
        # Resets the high-water mark to the current resident set.
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


# The following functions run in the comparing process.


def process(**options):
    return concurrent.futures.ProcessPoolExecutor(
        1, multiprocessing.get_context("spawn"), **options
    )


def compare(cases):
    """Returns measurements as `measured[batch][argument][name]`.

    Args:
        cases: Mapping from `(batch, argument)` to contenders by name.
    """
    names = dict.fromkeys(name for among in cases.values() for name in among)
    measured = {batch_name: {} for batch_name, _ in cases}
    with contextlib.ExitStack() as stack:
        processes = {name: stack.enter_context(process()) for name in names}
        for (batch_name, argument), among in cases.items():

            def call(function, name, contender, case=(argument, batch_name)):
                return processes[name].submit(function, contender, *case)

            entry = measured[batch_name][argument] = {
                name: {"value": call(value, name, contender).result()}
                for name, contender in among.items()
            }
            seconds = {name: [] for name in among}
            for _ in range(ROUNDS):
                for name, contender in among.items():
                    seconds[name] += call(turn, name, contender).result()
            for name, of_steps in seconds.items():
                entry[name] |= spread.summary(of_steps)
                entry[name]["steps"] = len(of_steps)
            print(".", end="", flush=True)
    with process(max_tasks_per_child=1) as fresh:
        for (batch_name, argument), among in cases.items():
            for name, contender in among.items():
                work = fresh.submit(peak_bytes, contender, argument, batch_name)
                measured[batch_name][argument][name]["peak_bytes"] = (
                    work.result()
                )
            print(".", end="", flush=True)
    print()
    return measured


def milliseconds(measured):
    return spread.cell(measured, 1000, 2)


def columns(measured):
    """Returns the cells of a table: milliseconds and MiB."""
    peak = measured["peak_bytes"]
    return [
        milliseconds(measured),
        "" if peak is None else f"{peak / 2**20:.1f}",
    ]


def assess(entry, ours, theirs, aim):
    """Adds the speed-up of our implementation, and the aim."""
    entry |= {"faster_by": faster_by(entry, ours, theirs), "aim": aim}


def faster_by(entry, ours, theirs):
    return entry[theirs]["median_seconds"] / entry[ours]["median_seconds"]


def table(batches, argument_name, their_name, ours, theirs, compiled=None):
    """Returns a table in Markdown; `compiled` is our code under XLA."""
    names = ["batch", argument_name, "ms", "peak MiB", f"{their_name}, ms"]
    names += ["peak MiB", "faster by", "aim"]
    names += ["with XLA, ms", "faster by"] if compiled else []
    lines = [
        f"| {' | '.join(names)} |",
        "|---|---|" + "---:|" * (len(names) - 2),
    ]
    for batch_name, entries in batches.items():
        for argument, entry in entries.items():
            cells = [batch_name, str(argument).replace("_", " ")]
            cells += columns(entry[ours])
            if theirs in entry:
                aim = str(entry["aim"] or "")
                cells += [*columns(entry[theirs]), f"{entry['faster_by']:.1f}"]
                cells.append(aim)
            else:
                cells += [""] * 4
            if compiled:
                cells.append(milliseconds(entry[compiled]))
                ratio = theirs in entry and faster_by(entry, compiled, theirs)
                cells.append(f"{ratio:.1f}" if ratio else "")
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def assert_same_value(entry, ours, theirs):
    difference = abs(entry[ours]["value"] - entry[theirs]["value"])
    assert difference < 1e-4 * abs(entry[theirs]["value"]), entry


def load(name):
    """Reads the result file."""
    return json.loads((RESULTS / f"{name}.json").read_text())


def made_with(result):
    """Returns the line below a table."""
    commit = result["commit"]
    changed = " with changes" * commit.endswith("-dirty")
    return (
        "Medians (quartiles, where they were recorded) of steps taken in "
        f"turns, in one run, commit {commit[:7]}{changed}, "
        f"{hardware([result])}, {spread.load_of(result)}."
    )


def write_page(page, begin, end, text):
    write_between(page, begin, end, text)
    print(f"Wrote {page.relative_to(RESULTS.parents[1])}")


def write_result(name, measured, started, load_average, **versions):
    """Writes `results/<name>.json`, with versions, machine and time."""
    from trainers.quiet import import_tensorflow

    import_tensorflow()
    from trainers.provenance import provenance
    from trainers.workdir import write_json

    path = RESULTS / f"{name}.json"
    result = {
        "command": f"python -m benchmarks.{name}",
        "step": "loss and gradient in the embeddings, all cores",
        "load_average_before": load_average,
        "batches": measured,
        "seconds": time.perf_counter() - started,
        **provenance(),
        **versions,
    }
    path.parent.mkdir(exist_ok=True)
    write_json(path, result)
    print(f"Wrote {path.relative_to(RESULTS.parents[1])}")


def start():
    """Returns the time, and the load of the machine."""
    return {
        "started": time.perf_counter(),
        "load_average": os.getloadavg()[0],
    }
