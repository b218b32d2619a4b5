"""Measures the cost of the global batch on replicas, and extrapolates it.

    python -m benchmarks.scale

The triplet loss and its gradient, of 512 embeddings with 128 dimensions in all,
on 1, 2 and 4 virtual devices of this machine under `MirroredStrategy`. Each
replica computes the pairs of its block of rows; for comparison, also every
pair. Virtual devices share the cores, so this is the work of all replicas, not
a speed-up. The all-gather of four replicas is timed for several sizes and
fitted by a time a call and a time a byte.

The simulation extrapolates to 8 to 512 replicas with 64 rows each: if every
replica computed all pairs, and if each computes its rows, with two more calls
for their sums. Sharding pays where it saves 5 % of a step whose encoder takes
the time of the Omniglot network (`training_throughput`, if measured).
"""

import functools
import json
import statistics

from benchmarks import _side_by_side as side_by_side
from benchmarks import training_throughput
from benchmarks._benchmark import Benchmark
from benchmarks._benchmark import Comparison
from trainers.terminal.quiet import import_tensorflow

REPLICAS, MOST = (1, 2, 4), 4
ROWS, QUICK_ROWS, DIM, NUM_PER_CLASS = 512, 32, 128, 8
GATHERED_ROWS, QUICK_GATHERED = (64, 512, 4096, 16384), (16, 64)
LOSS, GATHER, SIMULATED = "global batch", "all-gather", "simulation"
EVERY_PAIR = "every pair on each"
SIMULATED_REPLICAS, LOCAL_ROWS = (8, 16, 32, 64, 128, 256, 512), 64
WORTH = 0.05
BENCHMARK = Benchmark(
    "scale",
    minutes=2,
    comparisons=(
        Comparison("2 replicas", "1 replica", by_time=True),
        Comparison("4 replicas", "1 replica", by_time=True),
        Comparison(f"2 replicas, {EVERY_PAIR}", "1 replica", by_time=True),
        Comparison(f"4 replicas, {EVERY_PAIR}", "1 replica", by_time=True),
    ),
    note="Simulated with the times of a call and of a byte between virtual "
    "devices of one machine; a network is slower.",
)


# The following functions run in the processes of the contenders.


def start_devices():
    import tensorflow as tf

    (device,) = tf.config.list_physical_devices("CPU")
    tf.config.set_logical_device_configuration(
        device, [tf.config.LogicalDeviceConfiguration()] * MOST
    )
    tf.config.list_logical_devices()


@functools.cache
def strategy_of(num_replicas):
    import_tensorflow(start_devices)
    import tensorflow as tf

    names = [f"CPU:{number}" for number in range(num_replicas)]
    return tf.distribute.MirroredStrategy(names)


def shares(strategy, num_rows):
    """Returns embeddings and labels, of each replica its rows."""
    import numpy as np
    import tensorflow as tf

    rng = np.random.default_rng(0)
    z = (rng.normal(size=(num_rows, DIM)) / DIM**0.5).astype("float32")
    labels = np.arange(num_rows, dtype="int32") // NUM_PER_CLASS
    size = num_rows // strategy.num_replicas_in_sync

    def of_replica(context):
        number = context.replica_id_in_sync_group
        rows = slice(number * size, (number + 1) * size)
        return tf.constant(z[rows]), tf.constant(labels[rows])

    run = strategy.experimental_distribute_values_from_function
    return (
        run(lambda context: of_replica(context)[0]),
        run(lambda context: of_replica(context)[1]),
    )


@functools.lru_cache(1)
def loss_step(num_replicas, num_rows, is_sharded=True):
    strategy = strategy_of(num_replicas)
    import tensorflow as tf

    from embeddings_tf import losses
    from embeddings_tf.ops import sum_over_pairs

    if not is_sharded:
        sum_over_pairs.own_rows = lambda num_rows: None

    def of_replica(z, labels):
        with tf.GradientTape() as tape:
            tape.watch(z)
            value = tf.reduce_mean(losses.triplet_loss(labels, z))
        return tape.gradient(value, z)

    step = tf.function(lambda *batch: strategy.run(of_replica, batch))
    batch = shares(strategy, num_rows)
    return lambda: strategy.experimental_local_results(step(*batch))[0].numpy()


@functools.lru_cache(1)
def gather_step(num_replicas, num_rows):
    strategy = strategy_of(num_replicas)
    import tensorflow as tf

    from embeddings_tf.ops.global_batch import gather_global_batch

    step = tf.function(
        lambda z: strategy.run(lambda z: gather_global_batch(z)[0], (z,))
    )
    z, _ = shares(strategy, num_rows)
    return lambda: strategy.experimental_local_results(step(z))[0].numpy()


def prepare(make, *case):
    make(*case)()
    return {}


def turn(make, *case):
    return side_by_side.timed(make(*case))


# The following functions run in the comparing process.


def call_and_byte(points):
    """Returns seconds of a call and of a byte, by least squares."""
    line = statistics.linear_regression(*zip(*points, strict=True))
    return max(0, line.intercept), max(0, line.slope)


def simulate(num_replicas, a_call, a_byte, of_pair, encoder):
    """Returns seconds of the loss: as it is, and sharded; and what is saved.

    Args:
        num_replicas: Number of replicas, each with `LOCAL_ROWS` rows.
        a_call, a_byte: Seconds of the all-gather.
        of_pair: Seconds of a pair of rows in the loss.
        encoder: Seconds of the encoder for the rows of a replica.
    """
    rows = num_replicas * LOCAL_ROWS
    gather = a_call + a_byte * 4 * DIM * rows
    loss = of_pair * rows**2
    whole = gather + loss
    sharded = gather + loss / num_replicas + 2 * (a_call + 2 * 4 * a_byte)
    return whole, sharded, (whole - sharded) / (encoder + whole)


def simulation(points, of_pair, encoder):
    """Returns the rows of the simulation, and the crossover."""
    a_call, a_byte = call_and_byte(points)
    rows = [
        {"what": "all-gather, a call", "unit": "s", "median": a_call},
        {"what": "all-gather, a MiB", "unit": "s", "median": a_byte * 2**20},
        {"what": "encoder of 64 rows", "unit": "s", "median": encoder},
    ]
    crossover = None
    for number in SIMULATED_REPLICAS:
        whole, sharded, saved = simulate(
            number, a_call, a_byte, of_pair, encoder
        )
        names = f"{number} replicas, every pair", f"{number} replicas, sharded"
        rows += [
            {"what": name, "unit": "s", "median": seconds}
            for name, seconds in zip(names, (whole, sharded), strict=True)
        ]
        what = f"{number} replicas, saved of a step"
        rows.append({"what": what, "unit": "share", "median": saved})
        if crossover is None and saved > WORTH:
            crossover = number
    what = "replicas from which sharding pays"
    note = "" if crossover else f"none up to {SIMULATED_REPLICAS[-1]}"
    if not encoder:
        crossover, note = None, "needs the result of training_throughput"
    rows.append({"what": what, "unit": "", "median": crossover, "note": note})
    return rows


def encoder_seconds():
    """Seconds of the Omniglot network for the rows of a replica, or 0."""
    path = training_throughput.BENCHMARK.path
    if not path.exists():
        return 0.0
    entry = json.loads(path.read_text())["cases"].get("omniglot", {})
    if not entry.get("fit", {}).get("seconds"):
        return 0.0
    num_classes, num_per_class, _ = training_throughput.BATCHES["omniglot"]
    step = statistics.median(entry["fit"]["seconds"])
    return step * LOCAL_ROWS / (num_classes * num_per_class)


def main(arguments=None) -> None:
    with (
        BENCHMARK.run(__doc__, arguments) as run,
        run.side_by_side() as together,
    ):
        num_rows = QUICK_ROWS if run.quick else ROWS
        for case in run.each([LOSS, GATHER, SIMULATED]):
            if case == LOSS:
                replicas = REPLICAS[:2] if run.quick else REPLICAS
                steps = {
                    f"{n} replica{'s' * (n > 1)}": (loss_step, n, num_rows)
                    for n in replicas
                } | {
                    f"{n} replicas, {EVERY_PAIR}": (loss_step, n, num_rows, 0)
                    for n in replicas[1:]
                }
            elif case == GATHER:
                sizes = QUICK_GATHERED if run.quick else GATHERED_ROWS
                steps = {f"{n:,} rows": (gather_step, MOST, n) for n in sizes}
            else:
                break
            run.add(case, together.compare(prepare, turn, steps, run.seconds))
        gathered = run.cases.get(GATHER, {})
        alone = run.cases.get(LOSS, {}).get("1 replica", {})
        points = [
            (4 * DIM * int(name.split()[0].replace(",", "")), median)
            for name, entry in gathered.items()
            if "seconds" in entry
            for median in [statistics.median(entry["seconds"])]
        ]
        if len(points) > 1 and "seconds" in alone:
            of_pair = statistics.median(alone["seconds"]) / num_rows**2
            rows = simulation(points, of_pair, encoder_seconds())
            run.add(SIMULATED, {}, rows)


if __name__ == "__main__":
    main()
