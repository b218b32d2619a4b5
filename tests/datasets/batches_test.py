import gc
import sys
import threading
import time
import weakref

import keras
import numpy as np
import pandas
import pytest
import tensorflow as tf

from embeddings_tf import sampling
from embeddings_tf.datasets import batches
from embeddings_tf.datasets import corrupt
from tests import peak_memory

X = np.arange(6 * 4 * 8, dtype="float32").reshape(6, 4, 8, 1)
LABELS = np.array([7, 7, 8, 8, 9, 9])
INDEX = np.array([[0, 1, 4, 5], [3, 2, 1, 0], [5, 5, 0, 2]], "int32")


class LazyImages:
    """Like a file: examples exist only when they are read."""

    def __init__(self, x):
        self._x = x

    def __len__(self):
        return len(self._x)

    def __getitem__(self, indices):
        return self._x[indices]


def _memory_map(x, tmp_path):
    np.save(tmp_path / "x.npy", x)
    return np.load(tmp_path / "x.npy", mmap_mode="r")


def _index_dataset():
    return tf.data.Dataset.from_tensor_slices(INDEX)


def _assert_batches(dataset, x=X, labels=LABELS):
    elements = list(dataset)
    assert len(elements) == len(INDEX)
    for (batch, label), index in zip(elements, INDEX, strict=True):
        np.testing.assert_array_equal(batch, x[index])
        np.testing.assert_array_equal(label, labels[index])


@pytest.mark.parametrize(
    "make",
    [
        lambda x, _: x,
        lambda x, _: x.tolist(),
        lambda x, _: tf.constant(x),
        lambda x, _: tf.Variable(x),
        lambda x, _: LazyImages(x),
        _memory_map,
        lambda x, _: x.astype("uint8"),
        lambda x, _: x.astype(">f4"),
        lambda x, _: np.repeat(x, 2, axis=0)[::2],
    ],
    ids=[
        "array",
        "list",
        "tensor",
        "variable",
        "lazy",
        "memory_map",
        "uint8",
        "big_endian",
        "strided",
    ],
)
def test_fetches_examples(make, tmp_path):
    dataset = batches(make(X, tmp_path), LABELS, _index_dataset())
    x_spec, label_spec = dataset.element_spec
    assert x_spec.shape == (4, 4, 8, 1)
    assert label_spec.shape == (4,) and label_spec.dtype == tf.int32
    _assert_batches(dataset)


def test_examples_are_read_in_parallel_and_ahead():
    """Examples are read in parallel, and not by the calling thread."""
    running, most = 0, 0
    lock = threading.Lock()

    class SlowImages(LazyImages):
        def __getitem__(self, indices):
            nonlocal running, most
            with lock:
                running += 1
                most = max(most, running)
            time.sleep(0.05)
            with lock:
                running -= 1
            return super().__getitem__(indices)

    dataset = batches(SlowImages(X), LABELS, _index_dataset().repeat(8))
    assert len(list(dataset)) == 24
    assert most >= 2


def test_the_end_of_training_waits_for_no_thread():
    """TensorFlow's thread that tunes would keep `fit` for up to a minute."""
    made = batches(X, LABELS, _index_dataset())
    assert made.options().autotune.enabled is False
    mapped = made.map(lambda x, label: (x, label))
    assert mapped.options().autotune.enabled is False


def test_strings_for_a_preprocess_that_reads_files():
    names = np.array(["a", "bb", "c", "d", "e", "f"])
    dataset = batches(names, LABELS, _index_dataset(), tf.strings.length)
    assert next(iter(dataset))[0].numpy().tolist() == [1, 2, 1, 1]


def test_bfloat16():
    x = tf.cast(X, tf.bfloat16)
    batch, _ = next(iter(batches(x, LABELS, _index_dataset())))
    assert batch.dtype == tf.bfloat16
    np.testing.assert_array_equal(batch, x.numpy()[INDEX[0]])


def test_dynamic_batch_size():
    indices = tf.data.Dataset.from_generator(
        lambda: [[0, 1], [2, 3, 4]],
        output_signature=tf.TensorSpec((None,), tf.int64),
    )
    dataset = batches(X, LABELS, indices)
    assert dataset.element_spec[0].shape.as_list() == [None, 4, 8, 1]
    assert [len(label) for _, label in dataset] == [2, 3]


def test_factors():
    factors = np.stack([LABELS, np.arange(6)], axis=1)
    whole = batches(X, factors, _index_dataset())
    assert whole.element_spec[1].shape == (4, 2)
    _assert_batches(whole, labels=factors)

    factor = np.array([1, 0, 1], "int32")
    indices = tf.data.Dataset.from_tensor_slices((INDEX, factor))
    for arguments in ({}, {"preprocess": lambda x, seed: x, "seed": 1}):
        dataset = batches(X, factors, indices, **arguments)
        assert dataset.element_spec[1].shape == (4,)
        for (x, label), index, column in zip(
            dataset, INDEX, factor, strict=True
        ):
            np.testing.assert_array_equal(x, X[index])
            np.testing.assert_array_equal(label, factors[index, column])


@pytest.mark.slow
def test_preprocess_with_and_without_seed():
    dataset = batches(X, LABELS, _index_dataset(), lambda x: x / 2)
    _assert_batches(dataset, x=X / 2)

    seeds = []

    def keep_seed(x, seed):
        assert seed.dtype == tf.int32 and seed.shape == (2,)
        return seed

    for seed in (0, 1, 2**40, -1, (1, 0), (0, 1), np.array([5, 6])):
        dataset = batches(X, LABELS, _index_dataset(), keep_seed, seed=seed)
        seeds.append([tuple(x.numpy()) for x, _ in dataset])
        assert seeds[-1] == [tuple(x.numpy()) for x, _ in dataset]
    # The integer 1 is read as the seed (1, 0).
    assert seeds[1] == seeds[4]
    del seeds[4]
    every_seed = [step for run in seeds for step in run]
    assert len(set(every_seed)) == len(every_seed)


@pytest.mark.slow
def test_resumes_at_any_step():
    def preprocess(x, seed):
        return corrupt(x, seed)

    whole = list(batches(X, LABELS, _index_dataset(), preprocess, seed=3))
    rest = batches(
        X, LABELS, _index_dataset().skip(1), preprocess, seed=3, start=1
    )
    for expected, found in zip(whole[1:], rest, strict=True):
        np.testing.assert_array_equal(expected[0], found[0])
        np.testing.assert_array_equal(expected[1], found[1])


@pytest.mark.parametrize("start", [-1, 2**62, True, 0.0])
def test_steps_that_cannot_be_counted(start):
    with pytest.raises(ValueError, match="`start` must be an integer from 0"):
        batches(X, LABELS, _index_dataset(), start=start)


@pytest.mark.slow
def test_seeds_beyond_the_integers_of_arrays():
    """As of the samplers."""
    first, again, other = (
        next(iter(batches(X, LABELS, _index_dataset(), corrupt, seed=seed)))[0]
        for seed in (2**70 + 5, 2**70 + 5, 2**70 + 6)
    )
    np.testing.assert_array_equal(first, again)
    assert np.any(first != other)


@pytest.mark.parametrize("make", [lambda x: x, LazyImages])
def test_iterator_can_be_checkpointed(make, tmp_path):
    dataset = batches(
        make(X), LABELS, _index_dataset().repeat(), corrupt, seed=3
    )
    iterator = iter(dataset)
    next(iterator)
    path = tf.train.Checkpoint(iterator=iterator).save(tmp_path / "checkpoint")
    expected = [next(iterator) for _ in range(4)]
    restored = iter(dataset)
    tf.train.Checkpoint(iterator=restored).restore(path)
    for x, label in expected:
        found_x, found_label = next(restored)
        np.testing.assert_array_equal(x, found_x)
        np.testing.assert_array_equal(label, found_label)


@pytest.mark.slow
def test_memory_holds_the_examples_once():
    x = np.ones((300_000, 28, 28), "uint8")
    labels = np.zeros(len(x), "int32")
    before = peak_memory.reset()
    dataset = batches(x, labels, _index_dataset(), lambda x: x / 255)
    for _ in dataset:
        pass
    assert (peak_memory.read() - before) * 1024 < x.nbytes / 2


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_not_finite_example_is_named(value, dtype):
    x = X.astype(dtype)
    x[4, 1, 2, 0] = value
    x[5] = value
    for data in (x, tf.constant(x)):
        with pytest.raises(ValueError, match=r"x\[4\] contains NaN"):
            batches(data, LABELS, _index_dataset())


def test_not_finite_example_in_a_later_block(monkeypatch):
    module = sys.modules["embeddings_tf.datasets.fetcher"]
    monkeypatch.setattr(module, "_CHECK_BLOCK_BYTES", X[0].nbytes * 2)
    x = X.copy()
    x[5, 0, 0, 0] = np.nan
    with pytest.raises(ValueError, match=r"x\[5\] contains NaN"):
        batches(x, LABELS, _index_dataset())


def test_not_finite_example_of_a_lazy_object():
    x = X.copy()
    x[4, 1, 2, 0] = np.nan
    dataset = batches(LazyImages(x), LABELS, _index_dataset().skip(1).take(1))
    assert len(list(dataset)) == 1
    dataset = batches(LazyImages(x), LABELS, _index_dataset())
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=r"x\[4\] contains"
    ):
        next(iter(dataset))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"labels": LABELS[:5]}, r"len\(x\) = 6 and len\(labels\) = 5"),
        ({"x": LazyImages(X[:5])}, r"len\(x\) = 5 and len\(labels\) = 6"),
        ({"x": X[:0], "labels": LABELS[:0]}, "empty"),
        ({"x": LazyImages(X[:0]), "labels": []}, "empty"),
        ({"labels": LABELS / 2}, "must be integers; received dtype float64"),
        ({"labels": list("aabbcc")}, "must be integers"),
        ({"labels": LABELS + 2**31}, "must fit in int32"),
        ({"labels": LABELS[:, None, None]}, "received shape"),
        ({"x": tf.constant(1.0)}, "received a scalar"),
        ({"x": np.array(1.0)}, "received a scalar"),
        ({"x": 3}, "received int"),
        ({"x": [[1.0, 2.0], [3.0]]}, "differ in shape"),
        ({"x": {"a": X, "b": X}}, "a dictionary with 'a', 'b'. Join its arr"),
        ({"x": np.array([object()] * 6)}, "dtype object"),
        ({"indices": INDEX}, "must be a tf.data.Dataset"),
        (
            {"indices": tf.data.Dataset.from_tensor_slices(INDEX / 2)},
            "integer vectors",
        ),
        ({"indices": tf.data.Dataset.range(3)}, "integer vectors"),
        (
            {"indices": tf.data.Dataset.from_tensor_slices((INDEX, INDEX))},
            "integer vectors",
        ),
        (
            {"indices": tf.data.Dataset.from_tensor_slices((INDEX, [0, 1, 0]))},
            r"labels must have shape \(examples, factors\)",
        ),
        ({"preprocess": 255.0}, "preprocess must be a function"),
        ({"seed": 1}, "preprocess is None"),
        ({"seed": 1.5, "preprocess": corrupt}, "`seed` must be"),
        ({"seed": (1, 2, 3), "preprocess": corrupt}, "`seed` must be"),
        ({"start": -1}, "`start` must be"),
        ({"start": 0.5}, "`start` must be"),
    ],
)
def test_bad_input(change, message):
    arguments = {"x": X, "labels": LABELS, "indices": _index_dataset()}
    with pytest.raises(ValueError, match=message):
        batches(**{**arguments, **change})


@pytest.mark.slow
def test_symbolic_tensor_is_refused():
    @tf.function
    def in_a_graph(x):
        batches(x, LABELS, _index_dataset())

    with pytest.raises(ValueError, match="symbolic"):
        in_a_graph(tf.constant(X))


def test_index_out_of_range():
    indices = tf.data.Dataset.from_tensors([0, 6])
    with pytest.raises((tf.errors.OpError, IndexError)):
        list(batches(X, LABELS, indices))


def test_examples_of_different_shape():
    class Ragged(LazyImages):
        def __getitem__(self, indices):
            return X[indices][:, :, : 8 - indices.max()]

    with pytest.raises(tf.errors.InvalidArgumentError, match="of example 0"):
        list(batches(Ragged(X), LABELS, _index_dataset()))


def some_batches(x):
    """Endless batches of all of `x`, in order."""
    rows = np.arange(len(x), dtype="int32")[None]
    indices = tf.data.Dataset.from_tensor_slices(rows).repeat()
    return batches(x, np.arange(len(x)), indices)


@pytest.mark.slow
def test_examples_are_freed_after_training():
    """TensorFlow keeps the functions of a data set that `fit` has used."""
    x = LazyImages(np.ones((4, 3), "float32"))
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
    model.compile("sgd", loss="mse")
    model.fit(some_batches(x), steps_per_epoch=2, shuffle=False, verbose=0)
    reference = weakref.ref(x)
    del x, model
    gc.collect()
    assert reference() is None


@pytest.mark.slow
@pytest.mark.parametrize(
    "made_of_it",
    [
        iter,
        lambda data: iter(data.take(3)),
        lambda data: iter(data.with_options(tf.data.Options())),
        lambda data: data.as_numpy_iterator(),
        lambda data: iter(
            data.map(lambda x, _: x).batch(1).unbatch().prefetch(1)
        ),
        lambda data: iter(
            tf.distribute.OneDeviceStrategy(
                "CPU:0"
            ).distribute_datasets_from_function(lambda _: data)
        ),
    ],
)
def test_examples_live_as_long_as_their_pipeline(made_of_it):
    iterator = made_of_it(some_batches(LazyImages(np.eye(4))))
    gc.collect()
    for _ in range(3):
        found = next(iterator)
        found = found[0] if isinstance(found, tuple) else found
        np.testing.assert_array_equal(found, np.eye(4))


def test_columns_of_pandas_are_read_by_position():
    frame = pandas.DataFrame({"text": list("abcd"), "label": [0, 0, 1, 1]})
    frame = frame.iloc[[3, 1, 0, 2]]  # the index is 3, 1, 0, 2
    indices = tf.data.Dataset.from_tensors(np.arange(4, dtype="int32"))
    found = batches(
        frame["text"], frame["label"], indices, preprocess=lambda x: x
    )
    ((x, labels),) = found.as_numpy_iterator()
    assert x.tolist() == [b"d", b"b", b"a", b"c"]
    assert labels.tolist() == [1, 0, 0, 1]


def test_data_that_needs_sorted_indices():
    """As of h5py: enough in order; a sampler's indices are in any order."""

    class Sorted:
        def __len__(self):
            return 4

        def __getitem__(self, index):
            if np.any(np.diff(index) <= 0):
                raise TypeError("Indexing elements must be in increasing order")
            return np.zeros((len(index), 2), "float32")

    for order, match in (([0, 2], None), ([2, 0], "Sorted.*mmap_mode")):
        indices = tf.data.Dataset.from_tensors(np.array(order, "int32"))
        found = batches(Sorted(), [0, 1, 0, 1], indices)
        if match is None:
            assert len(next(iter(found))[0]) == 2
            continue
        with pytest.raises(tf.errors.InvalidArgumentError, match=match):
            next(iter(found))


def test_masked_labels_are_refused():
    labels = np.ma.masked_equal([0, 0, 1, 1, -1, -1], -1)
    indices = tf.data.Dataset.from_tensors(np.arange(2, dtype="int32"))
    with pytest.raises(ValueError, match="`?labels`? must have no masked"):
        batches(np.zeros((6, 2)), labels, indices)
    with pytest.raises(ValueError, match="`?labels`? must have no masked"):
        sampling.class_balanced_batches(labels, 2, 2, seed=0)


def test_masked_values_are_refused():
    x = np.ma.masked_invalid([[1.0, 2.0], [np.nan, 3.0]])
    indices = tf.data.Dataset.from_tensors(np.arange(2, dtype="int32"))
    with pytest.raises(ValueError, match="x has 1 masked values"):
        batches(x, [0, 1], indices)
    whole = np.ma.masked_invalid([[1.0, 2.0]])
    ((found, _),) = batches(whole, [0], indices.map(lambda i: i[:1]))
    assert found.numpy().tolist() == [[1.0, 2.0]]


def test_masked_entries_are_refused():
    class Masked:
        def __len__(self):
            return 4

        def __getitem__(self, index):
            return np.ma.masked_equal(np.arange(4.0)[index], 2)

    indices = tf.data.Dataset.from_tensors(np.arange(4, dtype="int32"))
    seed = np.ma.masked_equal([1, 2], 2)
    with pytest.raises(ValueError, match="`seed` must have no masked entries"):
        batches(np.eye(4), np.arange(4), indices, lambda x, seed: x, seed=seed)
    with pytest.raises(tf.errors.InvalidArgumentError, match="no masked"):
        list(batches(Masked(), np.arange(4), indices))
