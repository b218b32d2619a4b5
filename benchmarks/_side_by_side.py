"""Speed and memory of losses and what they are compared with, in turns.

A step is a loss and its gradient in the embeddings, on one batch, with all
cores. Each contender has a process of its own; they take turns, so that all
see the same machine. Peak memory is what the first step on a batch adds to
the resident set of a fresh process that has seen only a few rows.

A contender is a module's function that takes an argument, such as the name of
a loss. It returns two functions: one makes tensors of arrays; the other takes
a step on such embeddings and labels and returns the loss.
"""

import concurrent.futures
import contextlib
import functools
import json
import multiprocessing
import os
import pathlib
import statistics
import time

from tools.generated_text import hardware
from tools.generated_text import write_between

RESULTS = pathlib.Path(__file__).parent / "results"
# Classes, instances of each, dimensions.
BATCHES = {"12x10x500": (12, 10, 500), "64x8x128": (64, 8, 128)}
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


def tensorflow_contender(function, jit_compile=None):
    """Of a function of labels and embeddings with a value for each row.

    With `jit_compile` by XLA, as `model.compile(jit_compile=True)` does.
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

    # The one function it is: choosing among several takes time at each call,
    # and is no part of a loss.
    step = step.get_concrete_function()
    return tf.constant, lambda z, labels: step(z, labels)[0].numpy()


# What runs in the processes of the contenders.


@functools.cache
def ready_step(contender, argument, batch_name):
    """A step on the batch, after one on a few rows of it."""
    to_tensor, step = contender(argument)
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


def peak_bytes(*case):
    """What a step adds to the resident set; None where it cannot be read."""
    step = ready_step(*case)
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


# What runs in the process that compares them.


def process(**options):
    return concurrent.futures.ProcessPoolExecutor(
        1, multiprocessing.get_context("spawn"), **options
    )


def compare(cases):
    """What was measured, `measured[batch][argument][name]`.

    Args:
        cases: From `(batch, argument)` to contenders by name.
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
                entry[name] |= {
                    "median_seconds": statistics.median(of_steps),
                    "fastest_seconds": min(of_steps),
                    "steps": len(of_steps),
                }
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
    return f"{1000 * measured['median_seconds']:.2f}"


def columns(measured):
    """Cells of a table: milliseconds and MiB."""
    peak = measured["peak_bytes"]
    return [
        milliseconds(measured),
        "" if peak is None else f"{peak / 2**20:.1f}",
    ]


def assess(entry, ours, theirs, aim):
    """Adds by how much ours is faster, and the aim."""
    entry |= {"faster_by": faster_by(entry, ours, theirs), "aim": aim}


def faster_by(entry, ours, theirs):
    return entry[theirs]["median_seconds"] / entry[ours]["median_seconds"]


def table(batches, argument_name, their_name, ours, theirs, compiled=None):
    """The measurements in markdown; `compiled` is ours, compiled by XLA."""
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
    """The result file."""
    return json.loads((RESULTS / f"{name}.json").read_text())


def made_with(result):
    """The line below a table."""
    commit = result["commit"]
    changed = " with changes" * commit.endswith("-dirty")
    return (
        "Medians of steps taken in turns, in one run, commit "
        f"{commit[:7]}{changed}, {hardware([result])}."
    )


def write_page(page, begin, end, text):
    write_between(page, begin, end, text)
    print(f"Wrote {page.relative_to(RESULTS.parents[1])}")


def write_result(name, measured, started, load_average, **versions):
    """Writes `results/<name>.json`, with what the numbers were made with."""
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
    """When it is, and how busy the machine."""
    return {
        "started": time.perf_counter(),
        "load_average": os.getloadavg()[0],
    }
