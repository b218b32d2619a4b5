"""Invalid arguments of data functions: a documented error, never a hang."""

import functools

import numpy as np
import pytest
import tensorflow as tf

from embeddings_tf import datasets
from embeddings_tf import sampling

NAN = float("nan")
LABELS = np.repeat(np.arange(5), 6)
FACTORS = np.stack([np.arange(30) % 2, np.arange(30) % 3], axis=1)
X = np.ones((30, 4), np.float32)


def name_of(value) -> str:
    """Returns a short name of a case that is equal in every process."""
    text = " ".join(repr(value).split())
    return type(value).__name__ if " at 0x" in text else text[:40]


NO_LABELS = {
    "empty": [],
    "scalar": 3,
    "none": None,
    "text": ["a", "b", "a", "b"],
    "floats": [0.0, 1.0, 0.0, 1.0],
    "nan": [NAN, 1, 0, 1],
    "rank 3": np.zeros((2, 2, 2), int),
    "objects": np.array([0, None], object),
    "complex": np.array([1j, 0, 1j, 0]),
    "truths": [True, False, True, False],
    "ragged": tf.ragged.constant([[1], [1, 2]]),
    "sparse": tf.sparse.from_dense([1, 0, 1]),
    "dictionary": {0: 1},
    "too large": [2**70, 1],
    "no columns": np.zeros((6, 0), int),
    "no rows": np.zeros((0, 3), int),
}
# Not a number of classes or examples, and not a step.
NO_COUNT = [0, -1, 2.5, NAN, "2", None, True, 2**40, 2**70, [2], np.float32(2)]
# Not a seed of non-negative numbers.
NO_SEED = [1.5, NAN, "0", [1, 2, 3], np.array([0.5]), object()]


def first_batches(dataset):
    return list(dataset.take(2))


@functools.cache
def some_indices():
    return sampling.class_balanced_batches(LABELS, 2, 2, 0)


SAMPLERS = {
    "class_balanced_batches": lambda labels, count=2, **kwargs: (
        sampling.class_balanced_batches(labels, count, 2, 0, **kwargs)
    ),
    "instances": lambda labels, count=2, **kwargs: (
        sampling.class_balanced_batches(labels, 2, count, 0, **kwargs)
    ),
    "episodes": lambda labels, count=2: sampling.episodes(
        labels, count, 1, 1, 0
    ),
    "supports": lambda labels, count=2: sampling.episodes(
        labels, 2, count, 1, 0
    ),
    "queries": lambda labels, count=2: sampling.episodes(
        labels, 2, 1, count, 0
    ),
    "factor_batches": lambda labels, count=2, **kwargs: sampling.factor_batches(
        labels, count, 2, 0, **kwargs
    ),
    "instances of values": lambda labels, count=2, **kwargs: (
        sampling.factor_batches(labels, 2, count, 0, **kwargs)
    ),
}
WITH_FEWER = [name for name in SAMPLERS if "_" in name or "inst" in name]


@pytest.mark.parametrize("labels", NO_LABELS.values(), ids=NO_LABELS)
@pytest.mark.parametrize("sampler", SAMPLERS)
def test_samplers_refuse_invalid_labels(sampler, labels):
    with pytest.raises(ValueError, match="labels|factors"):
        first_batches(SAMPLERS[sampler](labels))


@pytest.mark.parametrize("count", NO_COUNT, ids=name_of)
@pytest.mark.parametrize("sampler", SAMPLERS)
def test_samplers_refuse_invalid_counts(sampler, count):
    labels = FACTORS if "value" in sampler or "factor" in sampler else LABELS
    with pytest.raises(ValueError):
        first_batches(SAMPLERS[sampler](labels, count))
    if sampler in WITH_FEWER:
        with pytest.raises(ValueError):
            first_batches(SAMPLERS[sampler](labels, count, allow_fewer=True))


@pytest.mark.parametrize("count", [31, 10**9, 2**31 - 1])
def test_counts_may_exceed_the_data_with_allow_fewer(count):
    """With allow_fewer, counts may exceed the data."""
    for indices in first_batches(
        sampling.class_balanced_batches(LABELS, 5, count, 0, allow_fewer=True)
    ):
        np.testing.assert_array_equal(np.sort(indices), np.arange(30))
    with pytest.raises(ValueError, match=f"num_per_class={count}"):
        sampling.class_balanced_batches(LABELS, 5, count, 0)
    with pytest.raises(ValueError, match=f"received {count}"):
        sampling.class_balanced_batches(LABELS, count, 2, 0)


@pytest.mark.parametrize("seed", NO_SEED, ids=name_of)
def test_seeds(seed):
    indices = some_indices()
    calls = {
        "sampler": lambda: sampling.class_balanced_batches(LABELS, 2, 2, seed),
        "batches": lambda: datasets.batches(
            X, LABELS, indices, lambda x, seed: x, seed=seed
        ),
        "images": lambda: datasets.Images(len, 3, seed=seed),
        "with_size": lambda: datasets.Images(len, 3).with_size(4, seed),
        "utterances": lambda: datasets.Utterances(X, [30], seed=seed),
        "with_num_frames": lambda: datasets.Utterances(X, [30]).with_num_frames(
            4, seed
        ),
        "corrupt": lambda: datasets.corrupt(X[:, :, None, None], seed),
        "mask": lambda: datasets.occlusion_mask(2, 3, 1, seed),
    }
    for name, call in calls.items():
        with pytest.raises(ValueError, match="seed"):
            call()
            pytest.fail(name)


@pytest.mark.parametrize(
    "labels",
    [value for name, value in NO_LABELS.items() if name != "no columns"],
    ids=[name for name in NO_LABELS if name != "no columns"],
)
def test_batches_refuse_invalid_labels(labels):
    indices = some_indices()
    with pytest.raises(ValueError):
        first_batches(datasets.batches(X, labels, indices))


class Answers:
    """30 examples that all return the same value."""

    def __init__(self, answer):
        self.answer = answer

    def __len__(self):
        return 30

    def __getitem__(self, index):
        return self.answer


@pytest.mark.parametrize(
    "x",
    [
        None,
        3,
        {},
        set(range(30)),
        [[1], [1, 2]] * 15,
        np.full((30, 2), NAN),
        np.full((30, 2), np.inf),
        np.array([object()] * 30),
        np.array(["2020-01-01"] * 30, "datetime64[D]"),
        np.zeros(30, [("a", int)]),
        np.zeros((0, 2)),
        X[:3],
        tf.data.Dataset.range(30),
        Answers("text"),
        Answers(None),
        Answers(np.zeros((2, 3))),
    ],
    ids=name_of,
)
def test_batches_refuse_invalid_examples(x):
    indices = some_indices()
    with pytest.raises(ValueError, match="x"):
        datasets.batches(x, LABELS, indices)


@pytest.mark.parametrize(
    "indices",
    [
        None,
        [[0, 1]],
        np.zeros((2, 2), int),
        tf.data.Dataset.from_tensor_slices(np.zeros((2, 2))),
        tf.data.Dataset.from_tensor_slices(np.zeros((2, 2, 2), int)),
        tf.data.Dataset.range(3),
        tf.data.Dataset.from_tensors({"a": [1]}),
        tf.data.Dataset.from_tensors(([1], [2], [3])),
    ],
    ids=name_of,
)
def test_batches_refuse_invalid_indices(indices):
    with pytest.raises(ValueError, match="indices"):
        datasets.batches(X, LABELS, indices)


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int64", "uint32"])
def test_indices_of_every_integer_type(dtype):
    given = np.array([[0, 7], [29, 12]], dtype)
    indices = tf.data.Dataset.from_tensor_slices(given)
    found = list(datasets.batches(np.arange(30), LABELS, indices))
    for row, (x, label) in zip(given, found, strict=True):
        np.testing.assert_array_equal(x, row)
        np.testing.assert_array_equal(label, LABELS[row])


@pytest.mark.parametrize("index", [30, -1, 2**31 - 1])
def test_an_index_out_of_range(index):
    indices = tf.data.Dataset.from_tensors(np.array([0, index], np.int32))
    with pytest.raises(tf.errors.InvalidArgumentError):
        first_batches(datasets.batches(X, LABELS, indices))


@pytest.mark.parametrize(
    ("preprocess", "seed"),
    [
        (3, None),
        (lambda: 0, None),
        (lambda x, seed: x, None),
        (lambda x: x, 0),
        (lambda x, seed, more: x, 0),
    ],
)
def test_a_preprocess_that_cannot_be_called(preprocess, seed):
    indices = some_indices()
    with pytest.raises(ValueError, match="preprocess"):
        datasets.batches(X, LABELS, indices, preprocess, seed=seed)


@pytest.mark.parametrize("value", [0, -1, 2.5, NAN, "2", True, [2], object()])
def test_sizes_of_images_utterances_and_masks(value):
    images = datasets.Images(lambda _: np.zeros((4, 5, 3), np.uint8), 3)
    utterances = datasets.Utterances(X, [30])
    cells = np.ones((2, 4, 6, 1))
    calls = {
        "with_size": lambda: images.with_size(value),
        "with_num_frames": lambda: utterances.with_num_frames(value),
        "sample_rate": lambda: datasets.Utterances(X, [30], sample_rate=value),
        "num_digits": lambda: datasets.corrupt(cells, (1, 2), num_digits=value),
        "size": lambda: datasets.occlusion_mask(2, value, 1, (1, 2)),
        "digits": lambda: datasets.n_digit_from_scikit_learn(
            value, "number", "train"
        ),
    }
    for name, call in calls.items():
        with pytest.raises(ValueError):
            call()
            pytest.fail(name)


@pytest.mark.parametrize("value", [-1, 2.5, NAN, "2", None, [2], tf.ones(2)])
def test_a_mask_for_no_number_of_images(value):
    with pytest.raises(ValueError, match="batch"):
        datasets.occlusion_mask(value, 3, 1, (1, 2))


@pytest.mark.parametrize("value", [-0.1, 1.1, NAN, "1", None, [0.5], object()])
def test_no_probability(value):
    with pytest.raises(ValueError, match="probability"):
        datasets.corrupt(np.ones((2, 4, 6, 1)), (1, 2), value)


@pytest.mark.parametrize(
    ("values", "lengths"),
    [
        (tf.constant(1), [1]),
        (3, [1]),
        (None, [1]),
        (X, []),
        (X, [29]),
        (X, [31, -1]),
        (X, [30.0]),
        (X, [[30]]),
        (X, "30"),
        (X, None),
    ],
    ids=name_of,
)
def test_no_utterances(values, lengths):
    with pytest.raises(ValueError):
        datasets.Utterances(values, lengths)


def test_nothing_to_map():
    with pytest.raises(ValueError, match="function"):
        datasets.Utterances(X, [30]).map(3)


@pytest.mark.parametrize("value", [None, 3, ["mnist"], object(), b"train"])
def test_load_refuses_names_that_are_not_text(value):
    with pytest.raises(ValueError, match="name must be a string"):
        datasets.load(value, "train")
    with pytest.raises(ValueError, match="split must be a string"):
        datasets.load("n_digit/digits_2_number", value)
    if value is not None:
        with pytest.raises(ValueError, match="must be a path"):
            datasets.load("kaldi", "train", manual_dir=[value])


@pytest.mark.parametrize(
    "name", ["", "/", "..", "a\0b", "mnist/zzz", "a" * 5000, "é", "x+y", "a b"]
)
def test_load_of_an_unknown_set(name, tmp_path):
    with pytest.raises(ValueError, match="[Uu]nknown|is a path, not the name"):
        datasets.load(name, "train", data_dir=tmp_path)
    with pytest.raises(ValueError, match="Unknown split"):
        datasets.load("n_digit/digits_2_number", name)
