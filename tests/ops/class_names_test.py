import numpy as np
import pandas as pd
import pytest
import tensorflow as tf

from embeddings_tf.ops.class_names import class_names


@pytest.mark.parametrize(
    ("labels", "received"),
    [
        ([0.0] * 1000 + [np.inf], "inf of dtype float64"),
        (np.array([1j] * 1000), "1j of dtype complex128"),
        (np.array(["2020-01-01", "NaT"], "M8[D]"), "NaT of dtype datetime64"),
    ],
)
def test_the_message_names_one_label(labels, received):
    with pytest.raises(ValueError, match="finite numbers; received") as error:
        class_names(labels)
    assert received in str(error.value) and len(str(error.value)) < 200


@pytest.mark.parametrize(
    "labels",
    [
        [2**63, 2**63 + 1, -1],
        [2**53, 2**53 + 1, 0.5],
        [1, "1"],
        (True, "True", "x"),
        ["a", "a\0"],
    ],
    ids=str,
)
def test_types_that_merge_classes_are_refused(labels):
    num_classes = len(set(labels))
    for given in (
        labels,
        np.array(labels, object),
        pd.Series(labels, dtype=object),
    ):
        with pytest.raises(
            ValueError, match=f"have {num_classes} classes, which become "
        ):
            class_names(given)


@pytest.mark.parametrize(
    "labels",
    [
        [],
        [1, 2.0, 1.5, True],
        ["a", "b", "a"],
        [b"a", b"b"],
        [[1], [2]],
        [np.int8(1), np.float32(0.1), 0.1],
        [tf.constant(1), tf.constant(2)],
        [2**63, 2**63 + 1],
    ],
    ids=str,
)
def test_types_that_keep_classes(labels):
    names = class_names(labels)
    assert len(names) == len(labels)
    assert len(set(names.ravel())) == len(set(np.ravel(labels)))
