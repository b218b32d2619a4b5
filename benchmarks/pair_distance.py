"""Speed and memory of scoring every pair with a learned distance.

    python -m benchmarks.pair_distance

2,000 x 2,000 embeddings of 128 dimensions, three hidden layers of 256 units,
all cores; three ways to score, in turn, in one process:

- `all_pairs`: the layer's own;
- `bare`: the products of 256 x 256 matrices that no way of scoring avoids, two
  for each pair, in blocks of the same size, and nothing else;
- `concatenated`: the published network on concatenated pairs, in blocks.

Peak memory is what 10,000 x 10,000 scores (381 MiB) add to the resident set;
hidden layers of 32 units save time, in blocks of as many bytes.
Prints the ratios and writes them.
"""

import os
import pathlib
import statistics
import time

from tools import scoring_table

RESULT = pathlib.Path(__file__).parent / "results" / "pair_distance.json"
ROWS, DIM, UNITS = 2000, 128, (256, 256, 256)
MEMORY_ROWS, MEMORY_UNITS = 10_000, (32, 32)
ROUNDS = 7
# all_pairs may take this many times as long as the bare products.
AIM = 1.25


def bare(layer, block_size):
    """Each hidden layer's product, once for every pair."""
    import tensorflow as tf

    kernels = [tf.convert_to_tensor(k) for k in layer.kernels[1:-1]]

    @tf.function
    def products(a, b):
        hidden = tf.random.stateless_normal([block_size, UNITS[0]], [0, 1])
        num_blocks = tf.shape(a)[0] * tf.shape(b)[0] // block_size

        def body(number, total):
            # Depends on the number, or it would be computed only once.
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
    """The published network, pair by pair, as its code reads."""
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
    """What 10^8 scores add to the resident set; None where unknown."""
    import numpy as np

    from benchmarks._side_by_side import high_water_mark
    from embeddings_tf.layers import PairDistance

    layer = PairDistance(MEMORY_UNITS, seed=0)
    rng = np.random.default_rng(0)
    z = rng.normal(size=(MEMORY_ROWS, 16)).astype("float32")
    layer.all_pairs(z[:10], z[:10])
    try:
        # Sets the high-water mark back to what is resident now.
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
            if round_:  # the first traces
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
    print(f"| time, of the bare products | {result['ratio_to_bare']:.2f} |")
    print(
        "| faster than concatenated pairs, by | "
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
