import numpy as np
import pytest
import tensorflow as tf

from embeddings_tf.ops import batch_needs


def teachable_by_loop(labels, rows, rows_of_other):
    counts = {label: sum(labels == label) for label in labels}
    return [
        counts[label] >= rows
        and any(
            n >= rows_of_other for other, n in counts.items() if other != label
        )
        for label in labels
    ]


@pytest.mark.parametrize(("rows", "rows_of_other"), [(2, 1), (2, 2), (4, 1)])
@pytest.mark.parametrize("jit_compile", [False, True])
def test_by_loop(rows, rows_of_other, jit_compile):
    needs = batch_needs.BatchNeeds(rows, rows_of_other, "")
    function = tf.function(needs.teachable_rows, jit_compile=jit_compile)
    rng = np.random.default_rng(0)
    for num_classes in (1, 2, 3, 6, 30):
        labels = rng.integers(0, num_classes, 12) * 10**10 - 5
        expected = teachable_by_loop(labels, rows, rows_of_other)
        assert function(tf.constant(labels)).numpy().tolist() == expected


def test_of_no_rows():
    rows = batch_needs.PAIRS.teachable_rows(tf.zeros([0], tf.int32))
    assert rows.shape == (0,)


def test_description_names_the_sampler_and_its_arguments():
    text = batch_needs.episode_needs(5).describe()
    assert "at least 6 rows" in text
    assert "sampling.episodes(" in text and "num_support=5" in text
    assert "class_balanced_batches(" in batch_needs.PAIRS.describe()
