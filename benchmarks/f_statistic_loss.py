"""Compares the F-statistic loss with a loop over single pairs of classes.

    python -m benchmarks.f_statistic_loss

The comparison follows the authors' code: two nested loops over pairs of
classes, masks for the rows of each class, and the F distribution in all
dimensions before the best are chosen, clipped in float32. A step is the loss
and its gradient in the embeddings; `_side_by_side.py` explains the
measurement. Prints a table, and writes it to its page.
"""

import pathlib

from benchmarks import _side_by_side as side_by_side
from trainers.quiet import import_tensorflow

PAGE = pathlib.Path(__file__).parents[1] / "docs" / "f_statistic_loss.md"
BEGIN, END = "<!-- speed: begin -->", "<!-- speed: end -->"
OURS, THEIRS = "embeddings_tf", "pair_by_pair"
# num_dims of each batch, and the required speed-up.
CASES = {("12x10x500", 70): 15, ("64x8x128", 10): 50}


def pair_by_pair(labels, z, num_dims):
    """The F-statistic loss, as a scalar."""
    import tensorflow as tf

    classes, _ = tf.unique(labels)
    last = tf.size(classes) - 1

    def statistics_of(label):
        rows = tf.boolean_mask(z, labels == label)
        mean = tf.reduce_mean(rows, 0)
        size = tf.cast(tf.shape(rows)[0], z.dtype)
        return size, mean, tf.reduce_sum((rows - mean) ** 2, 0)

    def value_of_pair(i, j):
        size_a, mean_a, within_a = statistics_of(classes[i])
        size_b, mean_b, within_b = statistics_of(classes[j])
        middle = (mean_a + mean_b) / 2
        between = size_a * (mean_a - middle) ** 2
        between += size_b * (mean_b - middle) ** 2
        x = between / (between + within_a + within_b)
        x = tf.clip_by_value(x, 1e-37, 1 - 1e-5)
        phi = tf.math.betainc(0.5, (size_a + size_b - 2) / 2, x)
        top, _ = tf.math.top_k(phi, num_dims)
        return -tf.reduce_sum(tf.math.log(top))

    def sum_over(indices, value):
        return tf.reduce_sum(
            tf.map_fn(value, indices, fn_output_signature=z.dtype)
        )

    return sum_over(
        tf.range(last),
        lambda i: sum_over(
            tf.range(i + 1, last + 1), lambda j: value_of_pair(i, j)
        ),
    )


def our_step(num_dims):
    import_tensorflow()
    from embeddings_tf import losses

    return side_by_side.tensorflow_contender(
        lambda labels, z: losses.f_statistic_loss(labels, z, num_dims)
    )


def their_step(num_dims):
    import_tensorflow()
    return side_by_side.tensorflow_contender(
        lambda labels, z: pair_by_pair(labels, z, num_dims)
    )


def text(result: dict) -> str:
    """Returns the Markdown between the marks."""
    batches = result["batches"]
    table = side_by_side.table(
        batches, "num_dims", "pair by pair", OURS, THEIRS
    )
    return f"{table}\n\n{side_by_side.made_with(result)}"


def main() -> None:
    start = side_by_side.start()
    contenders = {OURS: our_step, THEIRS: their_step}
    measured = side_by_side.compare(dict.fromkeys(CASES, contenders))
    for (batch_name, num_dims), aim in CASES.items():
        entry = measured[batch_name][num_dims]
        side_by_side.assert_same_value(entry, OURS, THEIRS)
        side_by_side.assess(entry, OURS, THEIRS, aim)
    side_by_side.write_result("f_statistic_loss", measured, **start)
    written = text(side_by_side.load("f_statistic_loss"))
    print(written)
    side_by_side.write_page(PAGE, BEGIN, END, written)


if __name__ == "__main__":
    main()
