import itertools
from collections import Counter

import numpy as np
import pytest
import tensorflow as tf
from scipy import stats

from embeddings_tf.sampling import class_balanced_batches
from embeddings_tf.sampling import episodes
from embeddings_tf.sampling import factor_batches

# Seven classes of unequal size, with unsorted ids with gaps.
IDS = [40, -3, 7, 1000, 12, 5, 6]
SIZES = [9, 12, 5, 30, 6, 8, 5]


def shuffled_labels(sizes=SIZES, ids=IDS, seed=0):
    return np.random.default_rng(seed).permutation(np.repeat(ids, sizes))


def two_factors(num_examples=120):
    rng = np.random.default_rng(1)
    return np.stack(
        [
            rng.permutation(num_examples) % 2 + 5,
            rng.permutation(num_examples) % 5,
        ],
        axis=1,
    )


def take(dataset, count):
    return list(dataset.take(count).as_numpy_iterator())


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


@pytest.mark.parametrize(
    "draw",
    [
        lambda seed, alg: tf.random.stateless_uniform(
            (3,), seed, None, None, tf.int64, alg
        ),
        lambda seed, alg: tf.random.experimental.stateless_fold_in(
            seed, seed[0], alg
        ),
        lambda seed, alg: tf.random.experimental.stateless_shuffle(
            tf.range(9), seed, alg
        ),
    ],
    ids=["bits", "fold", "shuffle"],
)
def test_random_numbers_are_philox(draw):
    """On every processor on which tf.data draws."""
    steps = tf.data.Dataset.range(5)
    selected, philox = (
        np.stack(
            list(steps.map(lambda n, alg=alg: draw(tf.stack([n, 7]), alg)))
        )
        for alg in ("auto_select", "philox")
    )
    np.testing.assert_array_equal(selected, philox)


@pytest.mark.parametrize("name", DATASETS)
class TestEveryDataset:
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


class TestClassBalancedBatches:
    def test_batch_is_class_by_class_and_distinct(self):
        labels = shuffled_labels()
        dataset = class_balanced_batches(labels, 3, 5, seed=0)
        assert dataset.element_spec == tf.TensorSpec((15,), tf.int32)
        for indices in take(dataset, 50):
            assert len(set(indices)) == 15
            by_class = labels[indices].reshape(3, 5)
            assert (by_class == by_class[:, :1]).all()
            assert len(set(by_class[:, 0])) == 3

    @pytest.mark.parametrize("num_classes", [1, 2, 3, 7])
    def test_every_class_appears_in_every_epoch(self, num_classes):
        labels = shuffled_labels()
        steps = -(-7 // num_classes)
        batches = take(
            class_balanced_batches(labels, num_classes, 2, seed=3), 6 * steps
        )
        orders = []
        for epoch in range(6):
            classes = np.concatenate(
                [
                    labels[indices][::2]
                    for indices in batches[epoch * steps : (epoch + 1) * steps]
                ]
            )
            assert sorted(classes[:7]) == sorted(IDS)
            # Filled up from the start of the epoch's order.
            np.testing.assert_array_equal(
                classes[7:], classes[: len(classes) - 7]
            )
            orders.append(tuple(classes[:7]))
        assert len(set(orders)) > 1

    @pytest.mark.parametrize("size, draws", [(5, 2), (5, 4), (4, 4), (6, 3)])
    def test_every_ordered_sample_is_equally_likely(self, size, draws):
        """Chi-square over all ordered samples: tests subset and order."""
        counted = Counter()
        num_steps, num_classes = 400, 30
        labels = np.arange(num_classes * size) % num_classes
        dataset = class_balanced_batches(labels, num_classes, draws, seed=5)
        for indices in take(dataset, num_steps):
            rows = indices.reshape(num_classes, draws) // num_classes
            counted.update(map(tuple, rows))
        outcomes = list(itertools.permutations(range(size), draws))
        observed = [counted[outcome] for outcome in outcomes]
        assert sum(observed) == num_steps * num_classes
        assert stats.chisquare(observed).pvalue > 1e-3

    def test_a_whole_class_can_be_drawn(self):
        labels = np.arange(200) % 2
        for indices in take(class_balanced_batches(labels, 2, 100, 0), 20):
            assert len(set(indices)) == 200

    def test_every_class_order_is_equally_likely(self):
        dataset = class_balanced_batches([0, 1, 2, 3], 4, 1, seed=5)
        counted = Counter(map(tuple, take(dataset, 2400)))
        outcomes = itertools.permutations(range(4))
        observed = [counted[outcome] for outcome in outcomes]
        assert sum(observed) == 2400
        assert stats.chisquare(observed).pvalue > 1e-3

    def test_classes_draw_independently(self):
        """The instance drawn of one class does not depend on other classes."""
        table = np.zeros((4, 4))
        dataset = class_balanced_batches(np.arange(8) % 2, 2, 1, seed=2)
        for indices in take(dataset, 1600):
            first, second = sorted(indices, key=lambda index: index % 2)
            table[first // 2, second // 2] += 1
        assert stats.chi2_contingency(table).pvalue > 1e-3

    def test_seeds_differ_and_any_integer_will_do(self):
        labels = shuffled_labels()
        batches = [
            tuple(take(class_balanced_batches(labels, 3, 4, seed), 1)[0])
            for seed in (0, 1, -1, 2**31, 2**40, np.int64(7))
        ]
        assert len(set(batches)) == 6

    def test_labels_may_be_a_tensor_of_any_integer_type(self):
        labels = shuffled_labels() + 3
        expected = take(class_balanced_batches(labels, 3, 4, 0), 2)
        for same in (tf.constant(labels), labels.astype(np.uint16), [*labels]):
            np.testing.assert_array_equal(
                take(class_balanced_batches(same, 3, 4, 0), 2), expected
            )

    def test_ids_may_be_far_apart(self):
        labels = shuffled_labels()
        far = np.array([-(2**62), 2**62, 5, 2**40, -1, 0, 7])
        ranks = np.searchsorted(np.sort(IDS), labels)
        np.testing.assert_array_equal(
            take(class_balanced_batches(np.sort(far)[ranks], 3, 4, 0), 3),
            take(class_balanced_batches(labels, 3, 4, 0), 3),
        )
        small = np.array([-128, -127, -3, 0, 1, 2, 127], np.int8)
        np.testing.assert_array_equal(
            take(class_balanced_batches(small[ranks], 3, 4, 0), 3),
            take(class_balanced_batches(labels, 3, 4, 0), 3),
        )

    def test_many_classes_and_examples(self):
        labels = np.random.default_rng(0).permutation(1_000_000) % 10_000
        dataset = class_balanced_batches(labels, 100, 5, seed=0)
        batches = np.stack(take(dataset, 100))
        classes = labels[batches].reshape(-1, 5)
        assert (classes == classes[:, :1]).all()
        assert len(set(classes[:, 0])) == 10_000
        assert len(np.unique(batches)) == batches.size

    def test_inside_a_batched_pipeline_shapes_stay_static(self):
        values = tf.constant(np.random.default_rng(0).normal(size=(75, 3)))
        dataset = class_balanced_batches(shuffled_labels(), 3, 4, seed=0).map(
            lambda indices: tf.gather(values, indices)
        )
        assert dataset.element_spec.shape == (12, 3)


class TestPublishedEpoch:
    @staticmethod
    def expected_batches(sizes, num_classes, num_per_class):
        """Class counts of each batch of an epoch, by the authors' loop."""
        left = {c: n for c, n in enumerate(sizes) if n >= 2}
        shapes = []
        while len(left) >= 2:
            # The order of classes is random; the group sizes are not.
            shapes.append(
                [
                    min(num_classes, len(left) - first)
                    for first in range(0, len(left), num_classes)
                    if min(num_classes, len(left) - first) >= 2
                ]
            )
            left = {c: n - min(n, num_per_class) for c, n in left.items()}
            left = {c: n for c, n in left.items() if n >= 2}
        return shapes

    @pytest.mark.parametrize(
        "sizes, num_classes, num_per_class",
        [
            (SIZES, 3, 4),
            (SIZES, 2, 5),
            (SIZES, 12, 5),
            ([1, 2, 3, 1, 4, 5], 2, 2),
            ([2, 2], 2, 2),
            ([10] * 13, 12, 5),
            ([11, 11, 11, 11, 26], 4, 5),
        ],
    )
    def test_epoch(self, sizes, num_classes, num_per_class):
        labels = shuffled_labels(sizes, range(len(sizes)))
        shapes = self.expected_batches(sizes, num_classes, num_per_class)
        steps = sum(map(len, shapes))
        dataset = class_balanced_batches(
            labels, num_classes, num_per_class, 1, allow_fewer=True
        )
        assert dataset.element_spec == tf.TensorSpec((None,), tf.int32)
        batches = take(dataset, 3 * steps)
        for epoch in range(3):
            remaining = Counter(labels.tolist())
            used = []
            epoch_batches = iter(batches[epoch * steps : (epoch + 1) * steps])
            for number, groups in enumerate(shapes):
                seen = []
                for group in groups:
                    indices = next(epoch_batches)
                    classes = [c for c, _ in itertools.groupby(labels[indices])]
                    assert len(classes) == group == len(set(classes))
                    counts = Counter(labels[indices].tolist())
                    for c in classes:
                        before = sizes[c] - number * num_per_class
                        assert counts[c] == min(num_per_class, before) >= 2
                    seen.extend(classes)
                    used.extend(indices)
                assert len(seen) == len(set(seen))
            assert len(used) == len(set(used))
            remaining.subtract(labels[used].tolist())
            assert min(remaining.values()) >= 0

    def test_all_are_used_if_counts_allow_it(self):
        labels = np.arange(60) % 6
        dataset = class_balanced_batches(labels, 3, 5, 0, allow_fewer=True)
        batches = take(dataset, 8)
        for epoch in (batches[:4], batches[4:]):
            np.testing.assert_array_equal(
                np.sort(np.concatenate(epoch)), np.arange(60)
            )
        assert not np.array_equal(batches[0], batches[4])

    def test_every_instance_order_is_equally_likely(self):
        labels = np.arange(8) % 2
        dataset = class_balanced_batches(labels, 2, 2, 0, allow_fewer=True)
        counted = Counter()
        batches = take(dataset, 2400)
        for first, second in zip(batches[::2], batches[1::2], strict=True):
            both = np.concatenate([first, second])
            counted.update([tuple(both[labels[both] == 0] // 2)])
        outcomes = itertools.permutations(range(4))
        observed = [counted[outcome] for outcome in outcomes]
        assert sum(observed) == 1200
        assert stats.chisquare(observed).pvalue > 1e-3

    @pytest.mark.parametrize("labels", [[0] * 9, [0, 1, 2], [0, 0, 1]])
    def test_needs_two_classes_of_two(self, labels):
        with pytest.raises(ValueError, match="expected at least two such"):
            class_balanced_batches(labels, 2, 2, 0, allow_fewer=True)

    @pytest.mark.parametrize("counts", [(1, 5), (5, 1)])
    def test_needs_counts_of_two(self, counts):
        with pytest.raises(ValueError, match="at least 2"):
            class_balanced_batches(
                shuffled_labels(), *counts, 0, allow_fewer=True
            )


class TestEpisodes:
    def test_supports_come_before_queries(self):
        """The same draws as a batch of support + query instances per class."""
        labels = shuffled_labels()
        dataset = episodes(labels, 4, 2, 3, seed=9)
        assert dataset.element_spec == tf.TensorSpec((20,), tf.int32)
        for indices in take(dataset, 10):
            assert len(set(indices)) == 20
            rows = indices.reshape(4, 5)
            support, query = rows[:, :2], rows[:, 2:]
            assert (labels[support] == labels[rows[:, :1]]).all()
            assert (labels[query] == labels[rows[:, :1]]).all()

    def test_an_instance_is_as_often_support_as_chance_says(self):
        labels = np.arange(20) % 2
        counted = np.zeros(20)
        for indices in take(episodes(labels, 2, 3, 2, seed=0), 1000):
            counted[indices.reshape(2, 5)[:, :3].ravel()] += 1
        assert stats.chisquare(counted).pvalue > 1e-3

    def test_too_few_instances(self):
        with pytest.raises(
            ValueError,
            match=r"class 7 has 5 instances; expected at least 6 "
            r"\(num_support \+ num_query = 1 \+ 5\)",
        ):
            episodes(np.repeat([7, 8], [5, 6]), 2, 1, 5, seed=0)


class TestFactorBatches:
    def test_factors_take_turns(self):
        factors = two_factors()
        dataset = factor_batches(factors, 3, 4, seed=0)
        for step, (indices, factor) in enumerate(take(dataset, 20)):
            assert factor == step % 2
            assert factor.dtype == np.int32
            num_values = (2, 3)[factor]
            assert len(set(indices)) == len(indices) == 4 * num_values
            by_value = factors[indices, factor].reshape(num_values, 4)
            assert (by_value == by_value[:, :1]).all()
            assert len(set(by_value[:, 0])) == num_values

    def test_every_value_appears_in_every_epoch(self):
        factors = two_factors()
        batches = take(factor_batches(factors, 3, 4, seed=0), 16)
        values = [factors[indices, f] for indices, f in batches if f == 1]
        for epoch in range(4):
            both = np.concatenate(values[2 * epoch : 2 * epoch + 2])
            assert set(both) == set(range(5))

    def test_static_shape_where_lengths_agree(self):
        scalar = tf.TensorSpec((), tf.int32)
        for num_values, length in ((2, 8), (3, None)):
            dataset = factor_batches(two_factors(), num_values, 4, seed=0)
            assert dataset.element_spec == (
                tf.TensorSpec((length,), tf.int32),
                scalar,
            )

    def test_published_epoch_uses_each_instance_once_per_factor(self):
        factors = two_factors(120)
        # Factor 0: 60 of each of 2 values, 4 at a time: 15 passes of one batch.
        # Factor 1: 24 of each of 5 values: 6 passes of groups of 3 and 2.
        batches = take(
            factor_batches(factors, 3, 4, seed=0, allow_fewer=True), 2 * 27
        )
        for epoch in (batches[:27], batches[27:]):
            turns = [factor for _, factor in epoch]
            assert turns == [0, 1] * 12 + [0] * 3
            for factor in (0, 1):
                used = [i for i, f in epoch if f == factor]
                np.testing.assert_array_equal(
                    np.sort(np.concatenate(used)), np.arange(120)
                )

    def test_published_epoch_with_unequal_values(self):
        factors = np.stack([np.repeat([0, 1, 2], [7, 2, 1])] * 2, axis=1)
        dataset = factor_batches(factors, 12, 3, seed=0, allow_fewer=True)
        for indices, factor in take(dataset, 6):
            counts = np.bincount(factors[indices, factor])
            np.testing.assert_array_equal(counts, [3, 2])

    def test_errors(self):
        with pytest.raises(ValueError, match=r"shape \(120,\)"):
            factor_batches(two_factors()[:, 0], 2, 2, seed=0)
        with pytest.raises(ValueError, match="dtype float64"):
            factor_batches(two_factors() / 2, 2, 2, seed=0)
        with pytest.raises(ValueError, match=r"shape \(0, 2\)"):
            factor_batches(np.zeros((0, 2), int), 2, 2, seed=0)
        with pytest.raises(ValueError, match=r"\[:, 1\] has a single value, 3"):
            factor_batches([[0, 3], [1, 3]], 2, 1, seed=0)
        with pytest.raises(ValueError, match=r"\[:, 1\]: class 4 has 1 inst"):
            factor_batches([[0, 3], [0, 3], [1, 3], [1, 4]], 2, 2, seed=0)
        with pytest.raises(ValueError, match=r"\[:, 1\]: 1 classes"):
            factor_batches(
                [[0, 3], [0, 3], [1, 3], [1, 4]], 2, 2, 0, allow_fewer=True
            )


class TestErrors:
    def test_fewer_classes_than_asked(self):
        with pytest.raises(
            ValueError, match="num_classes=8, but labels hold 7 distinct"
        ):
            class_balanced_batches(shuffled_labels(), 8, 2, seed=0)

    def test_class_with_too_few_instances(self):
        with pytest.raises(
            ValueError,
            match=r"class 6 has 5 instances; expected at least 6 .*"
            r"2 of 7 classes have too few: .*allow_fewer=True",
        ):
            class_balanced_batches(shuffled_labels(), 3, 6, seed=0)

    @pytest.mark.parametrize(
        "labels, message",
        [
            ([], "labels are empty"),
            (np.eye(3, dtype=int), r"shape \(3, 3\).*argmax"),
            (3, r"shape \(\)"),
            ([0.0, 1.0], "dtype float64; expected integers"),
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
        with pytest.raises(ValueError, match=f"num_classes is {bad!r}"):
            class_balanced_batches(labels, bad, 2, seed=0)
        with pytest.raises(ValueError, match=f"num_per_class is {bad!r}"):
            class_balanced_batches(labels, 2, bad, seed=0)
        with pytest.raises(ValueError, match=f"num_classes is {bad!r}"):
            episodes(labels, bad, 1, 1, seed=0)
        with pytest.raises(ValueError, match=f"num_support is {bad!r}"):
            episodes(labels, 2, bad, 1, seed=0)
        with pytest.raises(ValueError, match=f"num_query is {bad!r}"):
            episodes(labels, 2, 1, bad, seed=0)
        with pytest.raises(ValueError, match=f"num_values is {bad!r}"):
            factor_batches(two_factors(), bad, 2, seed=0)
        with pytest.raises(ValueError, match=f"num_per_value is {bad!r}"):
            factor_batches(two_factors(), 2, bad, seed=0)

    @pytest.mark.parametrize("bad", [-1, 1.5, None])
    def test_start(self, bad):
        with pytest.raises(ValueError, match=f"start is {bad!r}"):
            class_balanced_batches(shuffled_labels(), 2, 2, 0, start=bad)

    @pytest.mark.parametrize("bad", [None, 0.5, "0"])
    def test_seed(self, bad):
        with pytest.raises(ValueError, match=f"seed is {bad!r}"):
            class_balanced_batches(shuffled_labels(), 2, 2, bad)


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
