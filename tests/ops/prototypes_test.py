import numpy as np
import pytest
import tensorflow as tf
from scipy import special

from embeddings_tf.ops import prototypes

BAD_LABELS = [
    ([0, 2, 2], 3, "1 of 3 classes has none, the first is 1"),
    ([1, 1], 4, "3 of 4 classes have none, the first is 0"),
    ([0, 1, 2, 3], 3, r"must lie in \[0, 3\) .*received 0 to 3"),
    ([0, 1, -1], 2, r"must lie in \[0, 2\) .*received -1 to 1"),
    # A range that does not start at 0 has no gap.
    ([1, 2, 3], 3, r"must lie in \[0, 3\).*from 0: np.unique"),
    ([], 2, "received none for 2 classes"),
    ([], 0, "`num_classes` must be an integer of at least 1"),
]


class TestRequireSupport:
    @pytest.mark.parametrize("labels", [[0, 1, 1], [[0], [1], [1]]])
    def test_valid_labels(self, labels):
        for function in (
            prototypes.require_support,
            tf.function(prototypes.require_support),
        ):
            checked = function(tf.constant(labels, tf.int64), 2)
            assert checked.dtype == tf.int32
            np.testing.assert_array_equal(checked, [0, 1, 1])

    @pytest.mark.parametrize(("labels", "num_classes", "message"), BAD_LABELS)
    def test_eager(self, labels, num_classes, message):
        with pytest.raises(ValueError, match=message):
            prototypes.require_support(labels, num_classes)

    @pytest.mark.parametrize(
        ("labels", "num_classes"), [case[:2] for case in BAD_LABELS[:-1]]
    )
    def test_in_a_graph(self, labels, num_classes):
        function = tf.function(
            prototypes.require_support,
            input_signature=[
                tf.TensorSpec((None,), tf.int32),
                tf.TensorSpec((), tf.int32),
            ],
        )
        with pytest.raises(tf.errors.InvalidArgumentError):
            function(tf.constant(labels, tf.int32), num_classes)


def test_class_means_by_loop():
    embeddings = np.random.default_rng(0).normal(size=(6, 3)).astype("float32")
    class_ids = np.array([1, 0, 1, 2, 1, 0])
    actual = prototypes.class_means(embeddings, class_ids, 3)
    for y in range(3):
        members = [embeddings[i] for i in range(6) if class_ids[i] == y]
        np.testing.assert_allclose(
            actual[y], sum(members) / len(members), rtol=1e-5, atol=1e-6
        )


def test_nearest_mean_log_prob():
    rng = np.random.default_rng(1)
    queries = rng.normal(size=(4, 3)).astype("float32")
    means = rng.normal(size=(5, 3)).astype("float32")
    squared = ((queries[:, None] - means) ** 2).sum(axis=-1)
    np.testing.assert_allclose(
        prototypes.nearest_mean_log_prob(queries, means, tf.float32),
        special.log_softmax(-squared, axis=1),
        rtol=1e-5,
    )
