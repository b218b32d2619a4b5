"""Measures objectives, plain and with XLA, for many sizes of the batch.

    python -m benchmarks.objective_grid
    python -m benchmarks.objective_grid LearnedDistance   # this objective only

A step is the objective and its gradients, in the embeddings and in the weights
of the objective, with all cores. No other library has these objectives, so the
contenders are ours: a plain graph, and XLA. A Gaussian embedding of `dim`
dimensions has as many variances. Full covariance is in a plane. A step
that would take over 10 s or 8 GiB by its growth is not run. The exponent is the
slope of log time against log rows, from 512 rows on. The limit is what an
objective cannot avoid, at the rates of the machine: the products of its
network on all pairs, or the distances of all samples, with their gradients.
"""

import json

import numpy as np

from benchmarks import _side_by_side as side_by_side
from benchmarks import _size_grid as size_grid
from benchmarks import batch_size
from benchmarks import machine_limits
from benchmarks._aims import OURS
from benchmarks._aims import XLA
from benchmarks._benchmark import Benchmark
from benchmarks._benchmark import Comparison
from benchmarks._speed_plots import draw_growth
from benchmarks._speed_plots import pictures
from trainers.terminal.quiet import import_tensorflow

PLANE = "FullCovariancePrototypes"
GAUSSIAN = ("StochasticPrototypes", "HedgedInstances", PLANE)
OBJECTIVES = (*GAUSSIAN, "SoftContrastive", "LearnedDistance")
DIMS_OF = dict.fromkeys(OBJECTIVES, size_grid.DIMS) | {PLANE: (2,)}
VARIANCE = 0.1


def packed(name, z):
    """Returns the embedding `(rows, width)` of means, as the encoder's."""
    if name not in GAUSSIAN:
        return z
    variances = np.full_like(z, VARIANCE)
    correlation = np.zeros_like(z[:, :1])
    parts = [z, variances, correlation][: 3 if name == PLANE else 2]
    return np.concatenate(parts, axis=1)


def step_of(case, jit_compile=None):
    """Makes a contender of an objective and a number of dimensions."""
    import_tensorflow()
    import tensorflow as tf

    name, dim = case.split()
    objective = batch_size.make(name)
    width = packed(name, np.zeros((1, int(dim)))).shape[1]
    objective.build((None,), (None, width))

    @tf.function(
        input_signature=[
            tf.TensorSpec([None, width], tf.float32),
            tf.TensorSpec([None], tf.int32),
        ],
        jit_compile=jit_compile,
    )
    def step(z, labels):
        with tf.GradientTape() as tape:
            tape.watch(z)
            value = tf.reduce_mean(objective(labels, z, training=True))
        return value, tape.gradient(value, [z, *objective.trainable_variables])

    step = step.get_concrete_function()

    def to_tensor(array):
        return tf.constant(packed(name, array) if array.ndim == 2 else array)

    return to_tensor, lambda z, labels: step(z, labels)[0].numpy()


def step_of_xla(case):
    return step_of(case, jit_compile=True)


def argument_of(case):
    name, *_, dim = size_grid.split_case(case)
    return f"{name} {dim}"


def check(case, found):
    """Refuses other values of objectives that draw no samples."""
    if case.startswith("SoftContrastive"):
        side_by_side.refuse_other_values(found, OURS, [XLA], 1e-3)


def limit_seconds(case):
    """Returns the time that the machine itself needs, or None."""
    limits = machine_limits.limits()
    name, rows, _, dim = size_grid.split_case(case)
    if not limits or "Prototypes" in name:
        return None
    objective = batch_size.make(name)
    pairs, width = rows**2, dim
    if name == "LearnedDistance":
        # The layers after the factored first one; a product for the value
        # and one for each of two gradients.
        units = [*objective.distance.hidden_units, 1]
        width = sum(a * b for a, b in zip(units, units[1:], strict=False))
    elif name == "HedgedInstances":
        # Each pair of two samples once, and the pairs of equal samples.
        num_samples = objective.num_samples
        pairs *= num_samples * (num_samples + 1) / 2
    products = 3 if name == "LearnedDistance" else 2
    seconds = 2 * products * pairs * width / limits["sgemm"]
    return seconds + 8 * pairs / limits["copy"]


def table(result, rows):
    """Returns our time and the time with XLA by batch."""

    def text(case, cell):
        plain, compiled = size_grid.time_of(case, cell), cell(case, XLA)
        return f"{plain}; {compiled}" if compiled else plain

    grid = size_grid.table(result, rows, "objective", DIMS_OF, text)
    return "\n".join([grid, *pictures("objectives")])


BENCHMARK = Benchmark(
    "objective_grid",
    minutes=21,
    comparisons=(Comparison(OURS, XLA, by_time=True),),
    table=table,
    note="Our time as a plain graph; with XLA. In parentheses: quartiles over "
    "the rounds.",
    limits_are_results=True,
)


def main(arguments=None) -> None:
    with (
        BENCHMARK.run(__doc__, arguments) as run,
        run.side_by_side() as together,
    ):
        cases = size_grid.cases_of(OBJECTIVES, run.quick, DIMS_OF.get)
        import_tensorflow()
        for case, found in size_grid.measure(
            run,
            together,
            cases,
            lambda name: {OURS: step_of, XLA: step_of_xla},
            argument_of,
            check,
        ):
            limit = limit_seconds(case)
            run.add(case, found, size_grid.limit_row(limit, found[OURS]))
    if not run.quick:
        draw_growth(json.loads(BENCHMARK.path.read_text()), "objectives")
        BENCHMARK.write_page()  # with the plots


if __name__ == "__main__":
    main()
