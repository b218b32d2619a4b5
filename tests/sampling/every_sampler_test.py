import re

import numpy as np
import pytest
import tensorflow as tf

from embeddings_tf.sampling import class_balanced_batches
from embeddings_tf.sampling import episodes
from embeddings_tf.sampling import factor_batches
from tests.sampling.labels import shuffled_labels
from tests.sampling.labels import take
from tests.sampling.labels import two_factors

DATASETS = {
    "class_balanced": lambda **kwargs: class_balanced_batches(
        shuffled_labels(), 3, 4, 11, **kwargs
    ),
    "class_balanced_fewer": lambda **kwargs: class_balanced_batches(
        shuffled_labels(), 3, 4, 11, allow_fewer=True, **kwargs
    ),
    "episodes": lambda **kwargs: episodes(
        shuffled_labels(), 3, 1, 4, 11, **kwargs
    ),
    "factors": lambda **kwargs: factor_batches(
        two_factors(), 3, 4, 11, **kwargs
    ),
    "factors_fewer": lambda **kwargs: factor_batches(
        two_factors(), 3, 4, 11, allow_fewer=True, **kwargs
    ),
}


@pytest.mark.parametrize("name", DATASETS)
class TestEveryDataset:
    @pytest.mark.every_nth(3)
    def test_start_continues_the_same_batches(self, name):
        unbroken = take(DATASETS[name](), 60)
        for start in (1, 29, 58):
            resumed = take(DATASETS[name](start=start), 2)
            tf.nest.map_structure(
                np.testing.assert_array_equal,
                resumed,
                unbroken[start : start + 2],
            )

    def test_iterator_checkpoint(self, name, tmp_path):
        iterator = iter(DATASETS[name]())
        for _ in range(5):
            next(iterator)
        path = tf.train.Checkpoint(iterator=iterator).write(
            str(tmp_path / "checkpoint")
        )
        expected = [next(iterator) for _ in range(3)]
        restored = iter(DATASETS[name]())
        next(restored)
        tf.train.Checkpoint(iterator=restored).read(path).assert_consumed()
        for batch in expected:
            tf.nest.map_structure(
                np.testing.assert_array_equal, next(restored), batch
            )

    def test_survives_parallel_consumption(self, name):
        pairs = tf.data.Dataset.zip(DATASETS[name](), DATASETS[name]())
        for first, second in pairs.prefetch(4).take(10).as_numpy_iterator():
            tf.nest.map_structure(np.testing.assert_array_equal, first, second)

    def test_indices_are_int32_and_batches_differ(self, name):
        batches = [
            batch[0] if isinstance(batch, tuple) else batch
            for batch in take(DATASETS[name](), 4)
        ]
        assert all(batch.dtype == np.int32 for batch in batches)
        assert len({tuple(batch) for batch in batches}) == 4

    def test_is_infinite(self, name):
        assert DATASETS[name]().cardinality() == tf.data.INFINITE_CARDINALITY


def refusal(name, bad):
    return rf"`{name}` must be an integer.*received {re.escape(repr(bad))}"


class TestErrors:
    def test_fewer_classes_than_asked(self):
        with pytest.raises(
            ValueError, match=r"at most the number of .*, 7; received 8"
        ):
            class_balanced_batches(shuffled_labels(), 8, 2, seed=0)

    def test_class_with_too_few_instances(self):
        with pytest.raises(
            ValueError,
            match=r"at least 6 instances .* class 6 has 5. "
            r"2 of 7 classes have too few: .*allow_fewer=True",
        ):
            class_balanced_batches(shuffled_labels(), 3, 6, seed=0)

    @pytest.mark.parametrize(
        "labels, message",
        [
            ([], "received none"),
            (np.eye(3, dtype=int), r"shape \(3, 3\).*argmax"),
            (3, r"shape \(\)"),
            ([0.0, 1.0], "must be integers; received dtype float64"),
            ([True, False], "dtype bool"),
            (["a", "b"], "return_inverse"),
        ],
    )
    def test_labels(self, labels, message):
        with pytest.raises(ValueError, match=message):
            class_balanced_batches(labels, 1, 1, seed=0)
        with pytest.raises(ValueError, match=message):
            episodes(labels, 1, 1, 1, seed=0)

    @pytest.mark.parametrize("bad", [0, -1, 2.0, True, None, "3"])
    def test_counts(self, bad):
        labels = shuffled_labels()
        with pytest.raises(ValueError, match=refusal("num_classes", bad)):
            class_balanced_batches(labels, bad, 2, seed=0)
        with pytest.raises(ValueError, match=refusal("num_per_class", bad)):
            class_balanced_batches(labels, 2, bad, seed=0)
        with pytest.raises(ValueError, match=refusal("num_classes", bad)):
            episodes(labels, bad, 1, 1, seed=0)
        with pytest.raises(ValueError, match=refusal("num_support", bad)):
            episodes(labels, 2, bad, 1, seed=0)
        with pytest.raises(ValueError, match=refusal("num_query", bad)):
            episodes(labels, 2, 1, bad, seed=0)
        with pytest.raises(ValueError, match=refusal("num_values", bad)):
            factor_batches(two_factors(), bad, 2, seed=0)
        with pytest.raises(ValueError, match=refusal("num_per_value", bad)):
            factor_batches(two_factors(), 2, bad, seed=0)

    @pytest.mark.parametrize("bad", [-1, 1.5, None, True, 2**62])
    def test_start(self, bad):
        with pytest.raises(ValueError, match=refusal("start", bad)):
            class_balanced_batches(shuffled_labels(), 2, 2, 0, start=bad)

    @pytest.mark.parametrize("bad", [None, 0.5, "0"])
    def test_seed(self, bad):
        with pytest.raises(ValueError, match=refusal("seed", bad)):
            class_balanced_batches(shuffled_labels(), 2, 2, bad)

    @pytest.mark.parametrize("seed", [-1, -(2**63), 2**64 + 5])
    def test_any_integer_is_a_seed(self, seed):
        found, expected = (
            next(
                class_balanced_batches(
                    shuffled_labels(), 2, 2, one
                ).as_numpy_iterator()
            )
            for one in (seed, seed % 2**63)
        )
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    "draw",
    [
        lambda labels: class_balanced_batches(labels, 2, 2, seed=0),
        lambda labels: episodes(labels, 2, 1, 1, seed=0),
    ],
)
def test_labels_as_a_column_as_in_the_arrays_of_keras(draw):
    labels = shuffled_labels()
    ours, expected = (
        np.array([*draw(given).take(3).as_numpy_iterator()])
        for given in (labels[:, None], labels)
    )
    np.testing.assert_array_equal(ours, expected)
