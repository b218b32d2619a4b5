"""Measures speed and memory of scoring all pairs with a learned distance.

    python -m benchmarks.pair_distance

Scores 10,000 x 10,000 embeddings of 128 dimensions with three hidden layers of
256 units on all cores. A turn scores 250 of the rows with all columns; the
time of a pair does not depend on the number of rows. Ways of scoring take
turns, each in its own process:

- `all_pairs`: the method of the layer;
- `bare`: only the products with 256 x 256 matrices that every way of scoring
  needs, two per pair, in blocks of the same size;
- `bare bfloat16`: these products of bfloat16 numbers;
- `all_pairs bfloat16`: the method of a layer with the policy mixed_bfloat16.
  Its error is the largest difference of a logit, relative to the standard
  deviation of the logits;
- `concatenated`: the published network on concatenated pairs, in blocks.

Peak memory is the growth of the resident set by 10,000 x 10,000 scores
(381 MiB), with hidden layers of 32 units to save time, in blocks with the same
number of bytes.
"""

import functools

from benchmarks import _side_by_side as side_by_side
from benchmarks._benchmark import Benchmark
from benchmarks._benchmark import Comparison
from tools import scoring_table
from trainers.terminal.quiet import import_tensorflow

COLUMNS, ROWS, QUICK = 10_000, 250, (40, 20)
DIM, UNITS = 128, (256, 256, 256)
MEMORY_UNITS, MEMORY_DIM = (32, 32), 16
PUBLISHED, CASE = "concatenated", f"{COLUMNS} x {COLUMNS}"
BENCHMARK = Benchmark(
    "pair_distance",
    minutes=4,
    comparisons=(
        Comparison("all_pairs", "bare", by_time=True),
        Comparison("all_pairs", PUBLISHED),
        Comparison("all_pairs bfloat16", "all_pairs", by_time=True),
        Comparison("all_pairs bfloat16", "bare", by_time=True),
        Comparison("all_pairs bfloat16", "bare bfloat16", by_time=True),
    ),
    note=f"Seconds of {ROWS} x {COLUMNS:,} pairs.",
)


def bare(layer, block_size, dtype):
    """Computes each hidden layer's product once per pair."""
    import tensorflow as tf

    kernels = [tf.cast(k, dtype) for k in layer.kernels[1:-1]]

    @tf.function
    def products(a, b):
        hidden = tf.random.stateless_normal([block_size, UNITS[0]], [0, 1])
        hidden, a = tf.cast(hidden, dtype), tf.cast(a, dtype)
        num_blocks = tf.shape(a)[0] * tf.shape(b)[0] // block_size

        def body(number, total):
            # Depends on the number; otherwise it would be computed once.
            changed = hidden[:1] + a[number % 7, 0]
            result = tf.concat([hidden[1:], changed], 0)
            for kernel in kernels:
                result = tf.matmul(result, kernel)
            return number + 1, total + tf.cast(result[0, 0], tf.float32)

        return tf.while_loop(
            lambda number, _: number < num_blocks, body, (0, 0.0)
        )[1]

    return products


def concatenated(layer, block_size):
    """Applies the published network pair by pair, like its code."""
    import tensorflow as tf

    *hidden_layers, last = [
        (tf.convert_to_tensor(kernel), tf.convert_to_tensor(bias))
        for kernel, bias in zip(layer.kernels, layer.biases, strict=True)
    ]

    @tf.function
    def scores(a, b):
        columns = tf.shape(b)[0]
        num_pairs = tf.shape(a)[0] * columns
        num_blocks = -(-num_pairs // block_size)

        def body(number, blocks):
            pairs = tf.range(block_size) + number * block_size
            pairs = tf.minimum(pairs, num_pairs - 1)
            hidden = tf.concat(
                [tf.gather(a, pairs // columns), tf.gather(b, pairs % columns)],
                axis=1,
            )
            for kernel, bias in hidden_layers:
                hidden = tf.nn.bias_add(tf.matmul(hidden, kernel), bias)
                hidden = tf.nn.leaky_relu(hidden, 0.1)
            block = tf.matmul(hidden, last[0])[:, 0] + last[1]
            return number + 1, blocks.write(number, block)

        blocks = tf.TensorArray(
            tf.float32, num_blocks, element_shape=[block_size]
        )
        blocks = tf.while_loop(
            lambda number, _: number < num_blocks, body, (0, blocks)
        )[1]
        flat = tf.reshape(blocks.stack(), [-1])[:num_pairs]
        return tf.reshape(flat, [-1, columns])

    return scores


@functools.lru_cache(1)
def ready(way, rows, columns):
    """Returns a step and the layer; runs in the process of a contender."""
    import_tensorflow()
    import numpy as np
    import tensorflow as tf

    from embeddings_tf.layers import PairDistance
    from embeddings_tf.layers.pair_distance import BLOCK_FLOATS

    half = way.endswith("bfloat16")
    rng = np.random.default_rng(0)
    a, b = (
        tf.constant(rng.normal(size=(n, DIM)).astype("float32"))
        for n in (rows, columns)
    )
    policy = "mixed_bfloat16" if half else "float32"
    layer = PairDistance(UNITS, seed=0, dtype=policy)
    layer.build((a.shape, b.shape))
    block_size = BLOCK_FLOATS // max(UNITS)
    if way.startswith("bare"):
        dtype = tf.bfloat16 if half else tf.float32
        step = bare(layer, block_size, dtype)
    elif way == PUBLISHED:
        step = concatenated(layer, block_size)
    else:
        step = tf.function(layer.all_pairs)
    return functools.partial(step, a, b)


def prepare(way, rows, columns):
    """Returns the mean of the logits, and the error of bfloat16."""
    import numpy as np

    step = ready(way, rows, columns)
    logits = np.asarray(step(), np.float64)
    if way.startswith("bare"):
        return {}
    few = logits[:20, :100]
    return {"value": float(np.abs(few).mean()), "logits": few.tolist()}


def turn(*case):
    step = ready(*case)
    return side_by_side.timed(lambda: step().numpy())


def peak_bytes(size):
    """Returns the growth of the resident set by size x size scores."""
    import_tensorflow()
    import numpy as np

    from embeddings_tf.layers import PairDistance

    layer = PairDistance(MEMORY_UNITS, seed=0)
    z = np.random.default_rng(0).normal(size=(size, MEMORY_DIM))
    z = z.astype("float32")
    layer.all_pairs(z[:10], z[:10])
    return side_by_side.peak_bytes(lambda: layer.all_pairs(z, z))


def error_of_half(found):
    """Returns the largest difference of logits in standard deviations."""
    import numpy as np

    pair = [
        found[way].pop("logits", None)
        for way in ("all_pairs", "all_pairs bfloat16")
    ]
    found[PUBLISHED].pop("logits", None)
    if None in pair:
        return []
    exact, half = map(np.array, pair)
    error = float(np.abs(half - exact).max() / exact.std())
    what = "largest error of bfloat16, of the standard deviation"
    return [{"what": what, "unit": "share", "median": error}]


def main(arguments=None) -> None:
    ways = ("all_pairs", "bare", "bare bfloat16", "all_pairs bfloat16")
    with (
        BENCHMARK.run(__doc__, arguments) as run,
        run.side_by_side() as together,
    ):
        columns, rows = QUICK if run.quick else (COLUMNS, ROWS)
        for case in run.each([CASE]):
            found = together.compare(
                prepare,
                turn,
                {way: (way, rows, columns) for way in (*ways, PUBLISHED)},
                run.seconds / 2,
            )
            side_by_side.refuse_other_values(found, "all_pairs", [PUBLISHED])
            more = error_of_half(found)
            peak = together.call("memory", peak_bytes, columns, seconds=180)
            if peak is not None:
                what = "memory of all scores, narrower layers"
                more.append({"what": what, "unit": "bytes", "median": peak})
            run.add(case, found, more)
    if not run.quick:
        scoring_table.main()


if __name__ == "__main__":
    main()
