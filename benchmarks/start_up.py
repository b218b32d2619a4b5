"""Measures imports, the first training step, and tracing of each objective.

    python -m benchmarks.start_up

Imports and the first step of the demo's model run in new interpreters, beside
the imports of TensorFlow and Keras alone. The breakdown is Python's
`-X importtime`: the seconds of the modules of each package themselves. For
each loss and objective, a new function of its value and gradient is traced and
run on 120 rows of 64 dimensions, or of a plane for full covariance, plain and
with XLA, beside a later run.
"""

import collections
import functools
import os
import re
import subprocess
import sys
import time

from benchmarks import _side_by_side as side_by_side
from benchmarks import batch_size
from benchmarks._benchmark import ROOT
from benchmarks._benchmark import Benchmark
from benchmarks._benchmark import Comparison
from trainers.terminal.quiet import import_tensorflow

FIRST_STEP = """
import numpy as np
from trainers.terminal.quiet import import_tensorflow
import_tensorflow()
from trainers.config import load_recipe
from trainers.fit import build_model
model = build_model(load_recipe("demo"))
x = np.zeros((20, *model.encoder.input_shape[1:]), "uint8")
model.train_on_batch(x, np.arange(20) % 5)
"""
PROGRAMS = {
    "embeddings_tf": "import embeddings_tf",
    "tensorflow": "import tensorflow",
    "keras": "import keras",
    "first step": FIRST_STEP,
}
QUICK_PROGRAMS = ("embeddings_tf", "first step")
IMPORTS, LARGEST = "imports", 8
ROWS, DIM = 120, 64
NAMES = [*batch_size.NAMES, "SoftContrastive", "FullCovariancePrototypes"]
GAUSSIAN = ("StochasticPrototypes", "HedgedInstances")
FIRST, COMPILED, LATER = "first call", "first call with XLA", "later call"
BENCHMARK = Benchmark(
    "start_up",
    minutes=5,
    comparisons=(
        Comparison("embeddings_tf", "tensorflow", by_time=True),
        Comparison("first step", "tensorflow", by_time=True),
    ),
    packages=("tensorflow", "keras"),
)


# The following functions run in the processes of the contenders.


def interpreter(*words):
    return subprocess.run(
        [sys.executable, *words],
        cwd=ROOT,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
        capture_output=True,
        text=True,
        check=True,
    )


def run_program(name):
    started = time.perf_counter()
    interpreter("-c", PROGRAMS[name])
    return {"seconds": time.perf_counter() - started}


def warm_up(name):
    """Reads the files and writes the byte code."""
    run_program(name)
    return {}


def nothing(name):
    return {}


def breakdown():
    """Returns the seconds of the modules of each package in one import."""
    program = PROGRAMS["embeddings_tf"]
    lines = interpreter("-X", "importtime", "-c", program).stderr
    found = collections.Counter()
    for line in lines.splitlines():
        match = re.match(r"import time:\s+(\d+) \|\s+\d+ \|\s+([\w]+)", line)
        if match:
            found[match[2]] += int(match[1]) / 1e6
    return found


def largest_packages(imports):
    """Returns rows of the packages with the largest seconds of one import."""
    seconds = {
        name: side_by_side.spread(one.get(name, 0.0) for one in imports)
        for name in set().union(*imports)
    }
    largest = sorted(seconds, key=lambda name: -seconds[name]["median"])
    return [
        {"what": f"of {name}", "unit": "s", **seconds[name]}
        for name in largest[:LARGEST]
    ]


@functools.lru_cache(1)
def traced(name, jit_compile):
    import_tensorflow()
    import numpy as np
    import tensorflow as tf

    tf.get_logger().setLevel("ERROR")  # it warns of many functions
    loss = batch_size.make(name)
    width = 2 * DIM if name in GAUSSIAN else DIM
    if name == "FullCovariancePrototypes":
        width = 5  # it is in a plane
    z = np.random.default_rng(0).normal(size=(ROWS, width)).astype("float32")
    z[:, DIM:] = 0.1
    labels = np.arange(ROWS, dtype="int32") // 8
    if hasattr(loss, "build"):
        loss.build((ROWS,), z.shape)
    labels, z = tf.constant(labels), tf.constant(z)

    def new_step():
        # Labels are an argument, as in a training: XLA would fold constants.
        step = batch_size.new_step(name, loss, jit_compile=jit_compile)
        return lambda: step(labels, z)

    return new_step, new_step()


def prepare(name, kind):
    _, step = traced(name, kind == COMPILED or None)
    step()
    return {}


def turn(name, kind):
    new_step, step = traced(name, kind == COMPILED or None)
    if kind != LATER:
        step = new_step()
    started = time.perf_counter()
    step()[0].numpy()
    return {"seconds": time.perf_counter() - started}


def main(arguments=None) -> None:
    with (
        BENCHMARK.run(__doc__, arguments) as run,
        run.side_by_side() as together,
    ):
        names = NAMES[1:2] if run.quick else NAMES
        for case in run.each([IMPORTS, *names]):
            if case == IMPORTS:
                chosen = QUICK_PROGRAMS if run.quick else PROGRAMS
                programs = {name: (name,) for name in chosen}
                rounds = 1 if run.quick else side_by_side.LEAST_ROUNDS
                prepare_program = nothing if run.quick else warm_up
                found = together.compare(
                    *(prepare_program, run_program, programs, 0),
                    most_rounds=rounds,
                )
                parts = [
                    together.call("breakdown", breakdown) for _ in range(rounds)
                ]
                run.add(case, found, largest_packages(parts))
                continue
            kinds = {kind: (case, kind) for kind in (FIRST, COMPILED, LATER)}
            run.add(case, together.compare(prepare, turn, kinds, 0))


if __name__ == "__main__":
    main()
