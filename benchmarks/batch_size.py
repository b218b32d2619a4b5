"""Measures time and memory of losses and objectives as the batch grows.

    taskset -c 0 python -m benchmarks.batch_size [--names LearnedDistance]

A step is the value and its gradient in the embeddings and in the weights of
the objective, compiled, on the cores of the process. Every replica computes
this step for the global batch. Every size has a process, and five rounds, whose
time is the median of up to five steps. Batches double until a step would exceed
`LARGEST_SECONDS` or `LARGEST_BYTES`, extrapolated from the growth so far.
Writes `benchmarks/results/batch_size.json` and the tables of
`docs/distributed.md`, which contain measured sizes and larger sizes by the
model.
"""

import argparse
import json
import os
import pathlib
import statistics
import time

from benchmarks._provenance import provenance
from benchmarks._side_by_side import LEAST_ROUNDS
from benchmarks._side_by_side import high_water_mark
from benchmarks._side_by_side import process
from benchmarks._side_by_side import spread
from tools.generated_text import write_between
from trainers.terminal.quiet import import_tensorflow
from trainers.workdirs.json_files import write_json

ROOT = pathlib.Path(__file__).parents[1]
RESULT = ROOT / "benchmarks" / "results" / "batch_size.json"
PAGE = ROOT / "docs" / "distributed.md"
BEGIN, END = (
    "<!-- batch_size table: begin -->",
    "<!-- batch_size table: end -->",
)
BEGIN_TRAFFIC = "<!-- traffic table: begin -->"
END_TRAFFIC = "<!-- traffic table: end -->"
BEGIN_EFFICIENCY = "<!-- efficiency table: begin -->"
END_EFFICIENCY = "<!-- efficiency table: end -->"
WIDTHS = [64, 128, 256, 512, 2048]
DIM, NUM_PER_CLASS, NUM_SUPPORT = 128, 8, 4
SIZES = [2**power for power in range(9, 13)]
REPLICAS = [2, 4, 8, 16, 64]
# Share of the encoder's time for the whole batch on one replica: loss, traffic.
SHARES = [
    (0.001, 0.001),
    (0.01, 0),
    (0, 0.01),
    (0.01, 0.01),
    (0.1, 0),
    (0, 0.1),
]
LARGE_SIZES = [512, 4096, 16384, 65536]
LARGEST_SECONDS, LARGEST_BYTES = 40.0, 3 * 2**30
# Steps of a round, at most; a round ends with a step after so many seconds.
STEPS, ROUND_SECONDS = 5, 0.5
NAMES = [
    "FStatisticLoss",
    "TripletLoss",
    "HistogramLoss",
    "BinomialDevianceLoss",
    "LiftedStructureLoss",
    "ContrastiveLoss",
    "PrototypicalLoss",
    "StochasticPrototypes",
    "HedgedInstances",
    "LearnedDistance",
]


def make(name: str):
    """Returns the loss or objective with its default arguments."""
    from embeddings_tf import layers
    from embeddings_tf import losses
    from embeddings_tf import objectives

    if name.startswith("Prototypical") or name.endswith("Prototypes"):
        module = losses if name.endswith("Loss") else objectives
        return getattr(module, name)(num_support=NUM_SUPPORT)
    if name == "LearnedDistance":
        return objectives.LearnedDistance(layers.PairDistance())
    if name.endswith("Loss"):
        return getattr(losses, name)(reduction="none")
    return getattr(objectives, name)()


def new_step(name: str, loss, **options):
    """Returns a new `tf.function` of labels and embeddings: the gradients."""
    import tensorflow as tf

    training = {"training": True} if name == "LearnedDistance" else {}

    @tf.function(**options)
    def step(labels, z):
        with tf.GradientTape() as tape:
            tape.watch(z)
            value = tf.reduce_mean(loss(labels, z, **training))
        weights = getattr(loss, "trainable_variables", [])
        return tape.gradient(value, [z, *weights])

    return step


def step_of(name: str, num_rows: int) -> dict:
    """Measures seconds and bytes of one size, in a new process."""
    import_tensorflow()
    import numpy as np
    import tensorflow as tf

    loss = make(name)
    gaussian = name in ("StochasticPrototypes", "HedgedInstances")
    rng = np.random.default_rng(0)
    width = 2 * DIM if gaussian else DIM
    z = rng.normal(size=(num_rows, width)).astype("float32") / width**0.5
    if gaussian:
        z[:, DIM:] = 0.1
    labels = np.arange(num_rows, dtype="int32") // NUM_PER_CLASS

    step = new_step(
        name,
        loss,
        input_signature=[
            tf.TensorSpec([None], tf.int32),
            tf.TensorSpec([None, width], tf.float32),
        ],
    )

    def seconds(rows):
        started = time.perf_counter()
        step(labels[:rows], z[:rows])[0].numpy()
        return time.perf_counter() - started

    if hasattr(loss, "build"):
        loss.build((num_rows,), z.shape)
    seconds(4 * NUM_PER_CLASS)
    # Resets the high-water mark to the current resident set.
    pathlib.Path("/proc/self/clear_refs").write_text("5")
    before = high_water_mark()
    seconds(num_rows)
    peak = high_water_mark() - before
    rounds = []
    while len(rounds) < LEAST_ROUNDS:
        times = [seconds(num_rows)]
        while len(times) < STEPS and sum(times) < ROUND_SECONDS:
            times.append(seconds(num_rows))
        rounds.append(statistics.median(times))
    return {"seconds": rounds, "peak_bytes": peak}


def measure(name: str) -> dict:
    """Returns measurements by size, up to the largest size that fits."""
    found = {}
    for num_rows in SIZES:
        if found:
            last = found[str(num_rows // 2)]
            if 4 * _middle(last) > LARGEST_SECONDS:
                break
            if 4 * last["peak_bytes"] > LARGEST_BYTES:
                break
        with process() as fresh:
            work = fresh.submit(step_of, name, num_rows)
            found[str(num_rows)] = work.result()
        print(".", end="", flush=True)
    return found


def table(result: dict) -> str:
    """Measured sizes; larger ones are the largest times (B / B0)^2."""
    lines = [
        "| step of one replica, global batch of | "
        + " | ".join(f"{size:,}" for size in LARGE_SIZES)
        + " | last doubling |",
        "|---" * (len(LARGE_SIZES) + 2) + "|",
    ]
    for name, found in result["measured"].items():
        sizes = sorted(int(size) for size in found)
        last = found[str(sizes[-1])]
        cells = []
        for size in LARGE_SIZES:
            if str(size) in found:
                text = _with_quartiles(found[str(size)]["seconds"])
                peak = found[str(size)]["peak_bytes"]
            else:
                factor = (size / sizes[-1]) ** 2
                text = f"~{_time(factor * _middle(last))}"
                peak = factor * last["peak_bytes"]
            cells.append(f"{text}, {_memory(peak)}")
        growth = ""  # only one size was measured
        if len(sizes) > 1:
            before = found[str(sizes[-2])]
            growth = (
                f"x{_middle(last) / _middle(before):.1f}, "
                f"x{last['peak_bytes'] / max(1, before['peak_bytes']):.1f}"
            )
        lines.append(f"| `{name}` | {' | '.join(cells)} | {growth} |")
    return "\n".join(lines)


def traffic_table() -> str:
    """Bytes that a replica receives in a step with ring all-reduce."""
    lines = [
        "| embedding, of 8 replicas | "
        + " | ".join(f"B = {size:,}" for size in LARGE_SIZES)
        + " |",
        "|---" * (len(LARGE_SIZES) + 1) + "|",
    ]
    for width in WIDTHS:
        cells = [
            f"{traffic_bytes(size, width, 8) / 1e6:,.4g} MB"
            for size in LARGE_SIZES
        ]
        lines.append(f"| {width} numbers | {' | '.join(cells)} |")
    return "\n".join(lines)


def traffic_bytes(num_rows: int, width: int, num_replicas: int) -> float:
    """Bytes to gather embeddings and labels, then to sum the gradient."""
    of_others = num_rows * (num_replicas - 1) / num_replicas
    return of_others * ((4 * width + 4) + 2 * 4 * width)


def efficiency_table() -> str:
    """Throughput of N replicas relative to N times one replica."""
    lines = [
        "| loss | traffic | "
        + " | ".join(f"{count} replicas" for count in REPLICAS)
        + " |",
        "|---" * (len(REPLICAS) + 2) + "|",
    ]
    for loss, traffic in SHARES:
        cells = [
            f"{100 * efficiency(loss, traffic, n):.0f} %" for n in REPLICAS
        ]
        lines.append(
            f"| {100 * loss:g} % | {100 * traffic:g} % | {' | '.join(cells)} |"
        )
    return "\n".join(lines)


def efficiency(loss: float, traffic: float, num_replicas: int) -> float:
    """T(1) / (R T(R)), with the encoder's time for the batch as the unit."""
    time_of_all = 1 / num_replicas + loss + traffic
    return (1 + loss) / (num_replicas * time_of_all)


def _middle(found: dict) -> float:
    return statistics.median(found["seconds"])


def _with_quartiles(seconds: list[float]) -> str:
    """`median (quartile to quartile)` in the unit of the median."""
    rounds = spread(seconds)
    size, unit = _unit(rounds["median"])
    middle, low, high = (
        f"{rounds[name] / size:.2g}" for name in ("median", "low", "high")
    )
    return f"{middle} ({low} to {high}) {unit}"


def _time(seconds: float) -> str:
    size, unit = _unit(seconds)
    return f"{seconds / size:.2g} {unit}"


def _unit(seconds: float) -> tuple[float, str]:
    for size, unit in ((1e-3, "ms"), (1, "s"), (60, "min")):
        if seconds < 100 * size:
            return size, unit
    return 3600, "h"


def _memory(peak: float) -> str:
    for size, unit in ((2**20, "MiB"), (2**30, "GiB"), (2**40, "TiB")):
        if peak < 1000 * size or unit == "TiB":
            return f"{peak / size:.3g} {unit}"


def load() -> dict:
    return json.loads(RESULT.read_text())


def write_tables(result: dict) -> None:
    for begin, end, text in (
        (BEGIN, END, table(result)),
        (BEGIN_TRAFFIC, END_TRAFFIC, traffic_table()),
        (BEGIN_EFFICIENCY, END_EFFICIENCY, efficiency_table()),
    ):
        write_between(PAGE, begin, end, text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--names",
        nargs="+",
        action="extend",
        choices=NAMES,
        help="measure again (default: all)",
    )
    names = parser.parse_args().names
    started = time.monotonic()
    before = {"load_average_before": os.getloadavg()[0], **provenance()}
    measured = {}
    for name in names or NAMES:
        print(name, end=" ", flush=True)
        measured[name] = measure(name)
        print()
    import_tensorflow()
    if names:
        result = load()
        result["measured"] |= measured
        result.setdefault("again", {}).update(dict.fromkeys(names, before))
    else:
        result = _result(started, before, measured)
    RESULT.parent.mkdir(exist_ok=True)
    write_json(RESULT, result)
    write_tables(result)
    print(table(result))


def _result(started, before, measured) -> dict:
    return {
        "command": "python -m benchmarks.batch_size",
        "dim": DIM,
        "num_per_class": NUM_PER_CLASS,
        "num_support": NUM_SUPPORT,
        "measured": measured,
        "seconds": round(time.monotonic() - started, 1),
        **before,
    }


if __name__ == "__main__":
    main()
