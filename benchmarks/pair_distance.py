"""Measures speed and memory of scoring all pairs with a learned distance.

    python -m benchmarks.pair_distance

Scores 2,000 x 2,000 embeddings of 128 dimensions with three hidden layers of
256 units on all cores. Three ways of scoring take turns in one process:

- `all_pairs`: the method of the layer;
- `bare`: only the products with 256 x 256 matrices that every way of scoring
  needs, two per pair, in blocks of the same size;
- `concatenated`: the published network on concatenated pairs, in blocks.

Peak memory is the growth of the resident set by 10,000 x 10,000 scores
(381 MiB). This part uses hidden layers of 32 units to save time, in blocks with
the same number of bytes. Prints and writes the ratios.
"""

import os
import pathlib
import statistics
import time

from benchmarks import _spread as spread
from tools import scoring_table

RESULT = pathlib.Path(__file__).parent / "results" / "pair_distance.json"
ROWS, DIM, UNITS = 2000, 128, (256, 256, 256)
MEMORY_ROWS, MEMORY_UNITS = 10_000, (32, 32)
ROUNDS = 7
# all_pairs may take at most this many times the time of the bare products.
AIM = 1.25


def bare(layer, block_size):
    """Computes each hidden layer's product once per pair."""
    import tensorflow as tf

    kernels = [tf.convert_to_tensor(k) for k in layer.kernels[1:-1]]

    @tf.function
    def products(a, b):
        hidden = tf.random.stateless_normal([block_size, UNITS[0]], [0, 1])
        num_blocks = tf.shape(a)[0] * tf.shape(b)[0] // block_size

        def body(number, total):
            # Depends on the number; otherwise it would be computed once.
            changed = hidden[:1] + a[number % 7, 0]
            result = tf.concat([hidden[1:], changed], 0)
            for kernel in kernels:
                result = tf.matmul(result, kernel)
            return number + 1, total + result[0, 0]

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


def peak_bytes():
    """Returns the growth of the resident set by 10^8 scores, or None."""
    import numpy as np

    from benchmarks._side_by_side import high_water_mark
    from embeddings_tf.layers import PairDistance

    layer = PairDistance(MEMORY_UNITS, seed=0)
    rng = np.random.default_rng(0)
    z = rng.normal(size=(MEMORY_ROWS, 16)).astype("float32")
    layer.all_pairs(z[:10], z[:10])
    try:
        # Resets the high-water mark to the current resident set.
        pathlib.Path("/proc/self/clear_refs").write_text("5")
        before = high_water_mark()
        scores = layer.all_pairs(z, z)
        assert scores.shape == (MEMORY_ROWS, MEMORY_ROWS)
        return high_water_mark() - before
    except OSError:
        return None


def main() -> None:
    from trainers.quiet import import_tensorflow

    import_tensorflow()
    import numpy as np
    import tensorflow as tf

    from embeddings_tf.layers import PairDistance
    from embeddings_tf.layers.pair_distance import BLOCK_FLOATS
    from trainers.provenance import provenance
    from trainers.workdir import write_json

    load_average, started = os.getloadavg()[0], time.perf_counter()
    rng = np.random.default_rng(0)
    a, b = (
        tf.constant(rng.normal(size=(ROWS, DIM)).astype("float32"))
        for _ in range(2)
    )
    layer = PairDistance(UNITS, seed=0)
    layer.build((a.shape, b.shape))
    block_size = BLOCK_FLOATS // max(UNITS)
    ways = {
        "all_pairs": layer.all_pairs,
        "bare": bare(layer, block_size),
        "concatenated": concatenated(layer, block_size),
    }
    np.testing.assert_allclose(
        ways["all_pairs"](a[:50], b), ways["concatenated"](a[:50], b), atol=1e-4
    )
    seconds = {name: [] for name in ways}
    for round_ in range(ROUNDS + 1):
        for name, way in ways.items():
            begin = time.perf_counter()
            way(a, b).numpy()
            if round_:  # the first round traces
                seconds[name].append(time.perf_counter() - begin)
        print(".", end="", flush=True)
    print()
    median = {name: statistics.median(s) for name, s in seconds.items()}
    peak = peak_bytes()
    result = {
        "command": "python -m benchmarks.pair_distance",
        "rows": ROWS,
        "dim": DIM,
        "hidden_units": UNITS,
        "rounds": ROUNDS,
        "load_average_before": load_average,
        "median_seconds": median,
        "quartiles_seconds": {
            name: spread.quartiles(s) for name, s in seconds.items()
        },
        "fastest_seconds": {name: min(s) for name, s in seconds.items()},
        "ratio_to_bare": median["all_pairs"] / median["bare"],
        "aim": AIM,
        "faster_than_concatenated": median["concatenated"]
        / median["all_pairs"],
        "peak_bytes_of_10000_x_10000": peak,
        "result_bytes_of_10000_x_10000": 4 * MEMORY_ROWS**2,
        "seconds": time.perf_counter() - started,
        **provenance(),
    }
    print(f"| time / bare products | {result['ratio_to_bare']:.2f} |")
    print(
        "| speed-up over concatenated pairs | "
        f"{result['faster_than_concatenated']:.2f} |"
    )
    if peak is not None:
        print(f"| peak of 10,000 x 10,000 scores, MiB | {peak / 2**20:.0f} |")
    RESULT.parent.mkdir(exist_ok=True)
    write_json(RESULT, result)
    print(f"Wrote {RESULT.relative_to(RESULT.parents[2])}")
    scoring_table.main()


if __name__ == "__main__":
    main()
