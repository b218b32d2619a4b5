"""Measures what the machine can do: products of matrices and copying memory.

    python -m benchmarks.machine_limits

Products are of square matrices, in TensorFlow, with all cores: single and
double precision, and bfloat16. Copying counts the bytes that are read and the
bytes that are written. Other benchmarks state their share of these limits.
"""

import concurrent.futures
import functools
import json
import os
import statistics

from benchmarks import _side_by_side as side_by_side
from benchmarks._benchmark import Benchmark

SIZE, QUICK_SIZE = 4096, 64
BENCHMARK = Benchmark(
    "machine_limits",
    minutes=1,
    note="Rates are of the median time.",
)
PRODUCTS = {"sgemm": "float32", "dgemm": "float64", "bf16 gemm": "bfloat16"}


@functools.cache
def step_of(what, size):
    """Returns a step; runs in the process of the contender."""
    from trainers.terminal.quiet import import_tensorflow

    import_tensorflow()
    import numpy as np
    import tensorflow as tf

    if what == "copy":
        # Far larger than the caches; each core copies a part.
        source = np.ones(size * size * 8, np.float32)
        target = np.empty_like(source)
        cores = len(os.sched_getaffinity(0))
        parts = [np.array_split(a, cores) for a in (target, source)]
        threads = concurrent.futures.ThreadPoolExecutor(cores)
        return lambda: list(threads.map(np.copyto, *parts))
    x = tf.cast(tf.random.stateless_normal([size, size], [0, 1]), what)
    product = tf.function(lambda: tf.linalg.matmul(x, x)[0, 0])
    product = product.get_concrete_function()
    return lambda: product().numpy()


def prepare(*case):
    step_of(*case)()
    return {}


def turn(*case):
    return side_by_side.timed(step_of(*case))


def limits():
    """Returns the measured rates by name, or nothing."""
    if not BENCHMARK.path.exists():
        return {}
    result = json.loads(BENCHMARK.path.read_text())
    return {
        case: rows[0]["median"] * 1e9
        for case, rows in result["rows"].items()
        if rows
    }


def main(arguments=None) -> None:
    with BENCHMARK.run(__doc__, arguments) as run:
        size = QUICK_SIZE if run.quick else SIZE
        for case in run.each(["copy", *PRODUCTS]):
            arguments = PRODUCTS.get(case, case), size
            with run.side_by_side() as alone:
                found = alone.compare(
                    prepare, turn, {"TensorFlow": arguments}, run.seconds
                )
            entry = found["TensorFlow"]
            rows = []
            if "seconds" in entry:
                work = 64 * size**2 if case == "copy" else 2 * size**3
                rate = work / statistics.median(entry["seconds"]) / 1e9
                unit = "GB/s" if case == "copy" else "GFLOP/s"
                rows = [{"what": "rate", "unit": unit, "median": rate}]
            run.add(case, found, rows)


if __name__ == "__main__":
    main()
