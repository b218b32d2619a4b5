"""Computes logits of pairs of embeddings for `PairDistance`."""

import contextlib
import contextvars

import tensorflow as tf

SLOPE = 0.1
_AT_ONCE = contextvars.ContextVar("_AT_ONCE", default=False)


@contextlib.contextmanager
def pairs_at_once():
    """Computes all pairs without blocks, for what is traced inside.

    Memory grows with the pairs. Converters to other engines do not know the
    lists of tensors that blocks need.
    """
    token = _AT_ONCE.set(True)
    try:
        yield
    finally:
        _AT_ONCE.reset(token)


def _projections(first, second, weights) -> tuple[tf.Tensor, tf.Tensor]:
    """Each side's part of the first layer; a pair's layer is the sum."""
    kernel, bias = weights[:2]
    of_first, of_second = tf.split(kernel, 2)
    return (
        tf.nn.bias_add(tf.matmul(first, of_first), bias),
        tf.matmul(second, of_second),
    )


def _logits(hidden, weights, rate, seed) -> tf.Tensor:
    """Computes logits from the first layer's `(pairs, units)`."""
    hidden = tf.nn.leaky_relu(hidden, SLOPE)
    *between, kernel, bias = weights[2:]
    for inner, inner_bias in zip(between[::2], between[1::2], strict=True):
        # TensorFlow fuses these three operations into one kernel.
        hidden = tf.nn.bias_add(tf.matmul(hidden, inner), inner_bias)
        hidden = tf.nn.leaky_relu(hidden, SLOPE)
    if rate:
        noise = tf.random.stateless_uniform(
            tf.shape(hidden), seed, dtype=tf.float32, alg="philox"
        )
        keep = tf.cast(noise >= rate, hidden.dtype)
        hidden = hidden * keep / (1 - rate)
    return tf.matmul(hidden, kernel)[:, 0] + bias


def logits_of_pairs(first, second, weights, rate, seed) -> tf.Tensor:
    of_first, of_second = _projections(first, second, weights)
    return _logits(of_first + of_second, weights, rate, seed)


def logits_of_all_pairs(
    first, second, weights, rate, seed, block_size
) -> tf.Tensor:
    if not _AT_ONCE.get():
        return _in_blocks(first, second, weights, rate, seed, block_size)
    of_first, of_second = _projections(first, second, weights)
    hidden = of_first[:, None] + of_second
    hidden = tf.reshape(hidden, (-1, of_second.shape[-1]))
    logits = _logits(hidden, weights, rate, seed)
    return tf.reshape(logits, (-1, tf.shape(second)[0]))


# Compiled also for eager callers, because eager small operations are slow.
@tf.function(reduce_retracing=True, autograph=False)
def _in_blocks(first, second, weights, rate, seed, block_size) -> tf.Tensor:
    rows, columns = tf.shape(first)[0], tf.shape(second)[0]
    # An empty side becomes one row, which is dropped at the end.
    first, second = (
        tf.pad(x, [[0, tf.cast(tf.equal(n, 0), tf.int32)], [0, 0]])
        for x, n in ((first, rows), (second, columns))
    )
    projections = _projections(first, second, weights)
    logits = _blocks(*projections, weights, rate, seed, block_size)
    return logits[:rows, :columns]


def _blocks(of_first, of_second, weights, rate, seed, block_size) -> tf.Tensor:
    """Logits `(rows, columns)` from the projections of non-empty sides.

    Pairs are numbered row by row, and a block is a range of numbers.
    """
    # int64, because 50,000 x 50,000 pairs exceed int32.
    rows = tf.shape(of_first, tf.int64)[0]
    columns = tf.shape(of_second, tf.int64)[0]
    last_pair = rows * columns - 1
    size = tf.minimum(rows * columns, tf.constant(block_size, tf.int64))
    num_blocks = tf.cast(last_pair // size + 1, tf.int32)
    # Outside the loops, where XLA knows the size.
    within_block = tf.range(size)

    def members(number):
        """Row and column of each pair; the last block repeats the last."""
        first_pair = tf.cast(number, tf.int64) * size
        pairs = tf.minimum(first_pair + within_block, last_pair)
        return pairs // columns, pairs % columns

    def block_seed(number):
        if not rate:
            return seed  # unused; converters know no random operations
        return tf.random.experimental.stateless_fold_in(
            seed, number, alg="philox"
        )

    @tf.custom_gradient
    def logits(of_first, of_second, *weights):
        def body(number, blocks):
            i, j = members(number)
            block = _logits(
                tf.gather(of_first, i) + tf.gather(of_second, j),
                weights,
                rate,
                block_seed(number),
            )
            return number + 1, blocks.write(number, block)

        blocks = tf.TensorArray(
            of_first.dtype, num_blocks, element_shape=[None]
        )
        _, blocks = tf.while_loop(
            lambda number, _: number < num_blocks, body, (0, blocks)
        )
        scores = tf.reshape(blocks.stack(), [-1])[: last_pair + 1]

        def gradient(upstream):
            upstream = tf.reshape(upstream, [-1])
            missing = tf.cast(num_blocks, tf.int64) * size - last_pair - 1
            upstream = tf.reshape(tf.pad(upstream, [[0, missing]]), [-1, size])

            def add_block(number, of_first_total, of_second_total, *totals):
                i, j = members(number)
                hidden = tf.gather(of_first, i) + tf.gather(of_second, j)
                with tf.GradientTape() as tape:
                    tape.watch([hidden, *weights])
                    block = _logits(hidden, weights, rate, block_seed(number))
                of_pair, *of_weights = tape.gradient(
                    block,
                    [hidden, *weights],
                    output_gradients=upstream[number],
                    unconnected_gradients=tf.UnconnectedGradients.ZERO,
                )
                return (
                    number + 1,
                    tf.tensor_scatter_nd_add(
                        of_first_total, i[:, None], of_pair
                    ),
                    tf.tensor_scatter_nd_add(
                        of_second_total, j[:, None], of_pair
                    ),
                    # TensorFlow may lose the shape of a bias with one entry.
                    *(
                        tf.ensure_shape(t + g, t.shape)
                        for t, g in zip(totals, of_weights, strict=True)
                    ),
                )

            arguments = (of_first, of_second, *weights)
            _, *totals = tf.while_loop(
                lambda number, *_: number < num_blocks,
                add_block,
                (0, *map(tf.zeros_like, arguments)),
                parallel_iterations=1,
            )
            return totals

        return scores, gradient

    scores = logits(of_first, of_second, *weights)
    return tf.reshape(scores, tf.stack([rows, columns]))
