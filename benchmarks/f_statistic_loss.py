"""Compares the F-statistic loss with a loop over single pairs of classes.

    python -m benchmarks.f_statistic_loss

The comparison follows the authors' code: two nested loops over pairs of
classes, masks for the rows of each class, and the F distribution in all
dimensions before the best are chosen, clipped in float32. A step is the loss
and its gradient in the embeddings, with all cores. Both take turns, each in
its own process (`_side_by_side.py`). Three more contenders divide our time: the
F distribution alone; everything but the F distribution; and rows and classes
alone, without the tests of pairs of classes.
"""

from benchmarks import _loss_step as loss_step
from benchmarks import _side_by_side as side_by_side
from benchmarks._aims import OURS
from benchmarks._aims import PAIRS
from benchmarks._benchmark import ROOT
from benchmarks._benchmark import Benchmark
from benchmarks._benchmark import Comparison
from trainers.terminal.quiet import import_tensorflow

DISTRIBUTION = "the F distribution alone"
NO_DISTRIBUTION = "without the F distribution"
NO_PAIRS = "without pairs of classes"
# num_dims of each batch.
CASES = {"12x10x500": 70, "64x8x128": 10}
QUICK = {"3x5x4": 2}
BENCHMARK = Benchmark(
    "f_statistic_loss",
    minutes=1,
    comparisons=(
        Comparison(OURS, PAIRS),
        Comparison(DISTRIBUTION, OURS, by_time=True),
        Comparison(NO_DISTRIBUTION, OURS, by_time=True),
        Comparison(NO_PAIRS, OURS, by_time=True),
    ),
    page=ROOT / "docs" / "f_statistic_loss.md",
    mark="speed",
    note="70 and 10 dimensions are chosen; the table of losses chooses 10.",
)


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


def our_step(num_dims, **options):
    import_tensorflow()
    from embeddings_tf import losses

    return loss_step.tensorflow_contender(
        lambda labels, z: losses.f_statistic_loss(labels, z, num_dims),
        **options,
    )


def our_step_compiled(num_dims):
    return our_step(num_dims, jit_compile=True)


def their_step(num_dims):
    import_tensorflow()
    return loss_step.tensorflow_contender(
        lambda labels, z: pair_by_pair(labels, z, num_dims)
    )


def distribution_alone(num_dims):
    """A contender: probabilities and slopes of the chosen tests."""
    import_tensorflow()
    import tensorflow as tf

    from embeddings_tf.ops import f_distribution

    def values(labels, z):
        num_classes = tf.cast(tf.reduce_max(labels) + 1, tf.float64)
        tests = tf.cast(num_classes * (num_classes - 1) / 2, tf.int32)
        freedom = tf.cast(tf.size(labels), tf.float64) / num_classes * 2 - 2
        ratio = tf.random.stateless_uniform((tests, num_dims), (0, 0))
        log, slope = f_distribution.log_cdf_and_slope(
            tf.cast(ratio, tf.float64) / freedom, freedom
        )
        # Without the cost of a gradient in z.
        return tf.cast(tf.reduce_sum(log + slope), z.dtype) + 0 * z[:, 0]

    return loss_step.tensorflow_contender(values)


# The next two change functions for all contenders of their process, which has
# no other.


def without_distribution(num_dims):
    """Our step with the ratios of the chosen tests in place of their Phi."""
    import_tensorflow()
    import tensorflow as tf

    from embeddings_tf.ops import f_statistic

    def choice(ratio, *_, **__):
        ratio, dims = tf.math.top_k(ratio, num_dims, sorted=False)
        return ratio, ratio, ratio, dims

    f_statistic.compare_classes = choice
    return our_step(num_dims)


def without_pairs(num_dims):
    """Our step from rows to classes and back; tests have gradient 0."""
    import_tensorflow()
    import tensorflow as tf

    from embeddings_tf.ops import f_statistic

    def no_tests(batch, test):
        del test
        gradient = tf.stack([0 * batch.mean, 0 * batch.spread])
        return tf.reduce_sum(batch.spread), tf.reshape(gradient, [-1])

    f_statistic.over_all_pairs = no_tests
    return our_step(num_dims)


def main(arguments=None) -> None:
    with (
        BENCHMARK.run(__doc__, arguments) as run,
        run.side_by_side() as together,
    ):
        cases = QUICK if run.quick else CASES
        for batch in run.each(cases):
            functions = {OURS: our_step, PAIRS: their_step}
            functions[DISTRIBUTION] = distribution_alone
            functions[NO_DISTRIBUTION] = without_distribution
            functions[NO_PAIRS] = without_pairs
            found = loss_step.compare(
                together, functions, cases[batch], batch, run.seconds
            )
            side_by_side.refuse_other_values(found, OURS, [PAIRS])
            run.add(batch, found)


if __name__ == "__main__":
    main()
