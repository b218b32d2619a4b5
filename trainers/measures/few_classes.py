"""Says what an interval over episodes of few test classes leaves out."""

from collections.abc import Iterable

from embeddings_tf.ops.listed import listed
from trainers.terminal import command_names

# With fewer, another choice of test classes can change the mean by more than
# the interval over episodes says.
FEW_TEST_CLASSES = 20


def few_classes_lines(num_classes: Iterable[int]) -> list[str]:
    """Lines about intervals over episodes, if a split has few classes.

    Args:
        num_classes: Numbers of test classes of the splits.
    """
    few = sorted({count for count in num_classes if count < FEW_TEST_CLASSES})
    if not few:
        return []
    return [
        f"± is over episodes of the same {listed([*map(str, few)])} test "
        "classes. It says nothing about",
        "  other classes or another training. Repeat the training with other "
        "values of",
        "  --config.seed and, for data without splits of its own, of "
        "--config.division.seed,",
        "  each in another --workdir; or use "
        f"{command_names.display_name('trainers.compare')}, which does this.",
    ]
