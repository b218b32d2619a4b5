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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 1, ""), "`rows` must be an integer of at least 1; received 0"),
        ((2, 0.5, ""), "`rows_of_other` must be an integer"),
        ((2, 3, ""), "received rows_of_other=3 and rows=2"),
        ((2, 1, None), "`sampler` must be a string"),
    ],
)
def test_invalid_needs(arguments, message):
    with pytest.raises(ValueError, match=message):
        batch_needs.BatchNeeds(*arguments)


def test_labels_are_checked():
    rows = batch_needs.PAIRS.teachable_rows([[1], [1], [2]])
    assert rows.numpy().tolist() == [True, True, False]
    with pytest.raises(ValueError, match="one-hot"):
        batch_needs.PAIRS.teachable_rows([[1, 0], [0, 1]])


def test_of_no_rows():
    rows = batch_needs.PAIRS.teachable_rows(tf.zeros([0], tf.int32))
    assert rows.shape == (0,)


def test_description_names_the_sampler_and_its_arguments():
    text = batch_needs.episode_needs(5).describe()
    assert "at least 6 rows" in text
    assert "sampling.episodes(" in text and "num_support=5" in text
    assert "6 rows of its class and 1 row of another class" in text
    text = batch_needs.BatchNeeds(6, 3, "").describe()
    assert "6 rows of its class and 3 rows of another class" in text
    assert "class_balanced_batches(" in batch_needs.PAIRS.describe()
