import numpy as np
import pandas
import pytest
import tensorflow as tf

from embeddings_tf.datasets import Utterances
from embeddings_tf.datasets import batches

LENGTHS = [3, 10, 1, 5]


@pytest.fixture
def parts():
    rng = np.random.default_rng(0)
    return [rng.normal(size=(n, 2)).astype(np.float32) for n in LENGTHS]


@pytest.fixture
def x(parts):
    return Utterances(np.concatenate(parts), LENGTHS)


def test_one_by_one(x, parts):
    assert len(x) == 4 and x.lengths.tolist() == LENGTHS
    for i, part in enumerate(parts):
        np.testing.assert_array_equal(x[i], part)
        np.testing.assert_array_equal(x[i - 4], part)
    x[0][:] = 0  # changes only a copy
    np.testing.assert_array_equal(x[0], parts[0])
    assert sum(len(utterance) for utterance in x) == sum(LENGTHS)


def test_batches_are_repeated_or_cropped_in_the_middle(x, parts):
    batch = x.with_num_frames(5)[np.array([1, 0, 2, -1])]
    assert batch.dtype == np.float32
    np.testing.assert_array_equal(batch[0], parts[1][2:7])
    np.testing.assert_array_equal(batch[1], parts[0][[0, 1, 2, 0, 1]])
    np.testing.assert_array_equal(batch[2], parts[2][[0] * 5])
    np.testing.assert_array_equal(batch[3], parts[3])


def test_random_crops(x, parts):
    crops = x.with_num_frames(8, seed=1)
    starts = set()
    for other in range(4):
        for another in range(4):
            for third in range(4):
                index = np.array([1, other, another, third])
                batch = crops[index]
                np.testing.assert_array_equal(batch, crops[index])
                (start,) = [
                    s
                    for s in range(3)
                    if (parts[1][s : s + 8] == batch[0]).all()
                ]
                starts.add(start)
    # Each has probability 1/3 in each of 64 batches.
    assert starts == {0, 1, 2}
    index = np.array([1] * 50)
    assert (x.with_num_frames(8, seed=2)[index] != crops[index]).any()


def test_in_batches(x, parts):
    indices = tf.data.Dataset.from_tensors(np.array([3, 1], np.int32))
    dataset = batches(x.with_num_frames(5, seed=0), [0, 0, 1, 1], indices)
    assert dataset.element_spec[0].shape == (2, 5, 2)
    ((batch, labels),) = dataset
    assert labels.numpy().tolist() == [1, 0]
    np.testing.assert_array_equal(batch[0], parts[3])
    np.testing.assert_array_equal(
        batch, x.with_num_frames(5, seed=0)[np.array([3, 1])]
    )


def test_batches_without_a_length(x):
    indices = tf.data.Dataset.from_tensors(np.array([3, 1], np.int32))
    with pytest.raises(ValueError, match="x.with_num_frames"):
        batches(x, [0, 0, 1, 1], indices)


def test_take_and_map(x, parts):
    some = x.with_num_frames(4).take([3, 0])
    assert some.num_frames == 4 and some.lengths.tolist() == [5, 3]
    np.testing.assert_array_equal(some[1], parts[0])
    mask = np.array([False, True, False, True])
    np.testing.assert_array_equal(x.take(mask)[1], parts[3])
    assert len(x.take([])) == 0
    means = x.map(lambda frames: tf.reduce_mean(frames, axis=1))
    assert means.lengths.tolist() == LENGTHS
    np.testing.assert_allclose(means[1], parts[1].mean(axis=1), rtol=1e-6)


def test_waveforms():
    x = Utterances(np.arange(5, dtype=np.int16), [2, 3], num_frames=3)
    np.testing.assert_array_equal(x[np.array([0, 1])], [[0, 1, 0], [2, 3, 4]])


def test_the_sample_rate_is_kept():
    x = Utterances(np.arange(5), [2, 3], sample_rate=8000)
    assert x.sample_rate == 8000
    assert x.take([1]).sample_rate == 8000
    assert x.with_num_frames(2).sample_rate == 8000
    # The frames of computed features have no sample rate.
    assert x.map(lambda samples: samples[:1]).sample_rate is None


def test_map_names_the_utterance(x):
    def fail(utterance):
        raise ValueError(f"{len(utterance)} frames are bad")

    with pytest.raises(ValueError, match="Utterance 0: 3 frames are bad"):
        x.map(fail)


def test_errors_name_the_file():
    values = np.array([[1.0], [np.nan], [2.0], [3.0]], np.float32)
    x = Utterances(values, [2, 2], names=["a.wav", "b.wav"])
    with pytest.raises(ValueError, match=r"Utterance 0 \(a.wav\) contains NaN"):
        x[0]

    def fail(utterance):
        raise ValueError("is bad")

    for same in (x.take([1]), x.with_num_frames(1).take([1])):
        with pytest.raises(ValueError, match=r"Utterance 0 \(b.wav\): is bad"):
            same.map(fail)
    assert x.take([1]).map(lambda utterance: utterance).names == ["b.wav"]
    with pytest.raises(ValueError, match="one for each of 2 utterances; recei"):
        Utterances(values, [2, 2], names=["a.wav"])


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (np.zeros((3, 2), np.int16), r"b has int16 and \(2,\), Utterance 0"),
        (np.zeros((3, 1), np.float32), r"b has float32 and \(1,\)"),
    ],
)
def test_utterances_of_two_kinds_are_no_batch(other, message):
    """The first of a batch would decide; others would be cast."""
    values = [np.ones((3, 2), np.float32), other]
    x = Utterances(values.__getitem__, [3, 3], 3, names=["a", "b"])
    for index in ([0, 1], [1, 0]):
        with pytest.raises(ValueError, match="one dtype and one shape"):
            x[np.array(index)]
    with pytest.raises(
        ValueError, match=message.replace("b has", r"\(b\) has")
    ):
        x[np.array([0, 1])]


def test_memory_mapped(tmp_path, parts):
    np.save(tmp_path / "values.npy", np.concatenate(parts))
    values = np.load(tmp_path / "values.npy", mmap_mode="r")
    x = Utterances(values, LENGTHS)
    np.testing.assert_array_equal(x[1], parts[1])


def test_values_are_read_by_a_function(x, parts):
    asked = []

    def read(number):
        asked.append(number)
        return parts[number]

    lazy = Utterances(read, LENGTHS)
    assert not asked and len(lazy) == 4
    np.testing.assert_array_equal(lazy[-1], parts[3])
    assert asked == [3]
    index = np.array([1, 0, -2])
    for seed in (None, 5):
        np.testing.assert_array_equal(
            lazy.with_num_frames(4, seed)[index],
            x.with_num_frames(4, seed)[index],
        )
    assert lazy.with_num_frames(4)[index[:0]].shape == (0, 4, 2)
    asked.clear()
    some = lazy.take([3, 0]).take(np.array([False, True]))
    assert not asked and some.lengths.tolist() == [3]
    np.testing.assert_array_equal(some[0], parts[0])
    means = lazy.map(lambda frames: frames.mean(axis=1))
    np.testing.assert_array_equal(means[1], parts[1].mean(axis=1))
    with pytest.raises(ValueError, match="must have 4 frames"):
        Utterances(read, [3, 4, 1, 5])[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"lengths": [3, 3]}, r"received 6 and values of shape \(5, 2\)"),
        ({"lengths": [5, 0]}, "utterance 1 has 0"),
        ({"lengths": [2.5, 2.5]}, "dtype float64"),
        ({"lengths": [[5]]}, r"shape \(1, 1\)"),
        ({"lengths": [5], "num_frames": 0}, "`num_frames` must be an integer"),
        ({"lengths": [5], "seed": -1}, "`seed` must be an integer from 0"),
        ({"lengths": [5], "sample_rate": 0}, "`sample_rate` must be an int"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        Utterances(np.zeros((5, 2)), **arguments)


def test_bad_indices(x):
    for index in (4, -5):
        with pytest.raises(IndexError, match=r"must be in 0..3; received"):
            x[index]
    with pytest.raises(IndexError, match="received 0 to 4"):
        x.with_num_frames(2)[np.array([0, 4])]
    for index in (slice(2), [True, False, True, True], 1.0, [[0]]):
        with pytest.raises(TypeError, match="integer"):
            x[index]
    with pytest.raises(ValueError, match="indices must be integers"):
        x.take([0.5])
    with pytest.raises(ValueError, match="frames of one shape"):
        x.map(lambda frames: frames.sum())


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_not_finite_is_named(parts, value):
    values = np.concatenate(parts)
    values[5, 1] = value  # in the second utterance
    held = Utterances(values, LENGTHS, num_frames=2)
    read = Utterances(lambda number: values[3:13], [10])
    np.testing.assert_array_equal(held[0], parts[0])
    with pytest.raises(ValueError, match="Utterance 1 contains NaN"):
        held[1]
    with pytest.raises(ValueError, match="Utterance 1 contains NaN"):
        held[np.array([0, 1])]
    with pytest.raises(ValueError, match="Utterance 0 contains NaN"):
        read[0]


def test_masked_values_are_refused(x):
    masked = np.ma.masked_equal(np.arange(4.0), 2)
    with pytest.raises(ValueError, match="`values` must have no masked"):
        Utterances(masked, [4])
    assert Utterances(masked[:2], [2])[0].tolist() == [0, 1]
    with pytest.raises(ValueError, match="result of `values` must have no"):
        Utterances(lambda number: masked, [4])[0]
    with pytest.raises(ValueError, match="Utterance 0: .*`function` must have"):
        x.map(lambda values: masked)
    rows = np.ma.masked_equal([0, 1], 1)
    for select in (x.take, x.with_num_frames(2).__getitem__):
        with pytest.raises(ValueError, match="`indices` must have no masked"):
            select(rows)


def test_ragged_results_are_named(x):
    with pytest.raises(ValueError, match="result of `values` must be an array"):
        Utterances(lambda number: [[0.0], [0.0, 1.0]], [2])[0]
    with pytest.raises(ValueError, match="result of `function` must be an arr"):
        x.map(lambda values: [[0.0], [0.0, 1.0]])


def test_pandas_is_read_by_place():
    frame = pandas.DataFrame({"a": np.arange(5.0), "b": np.arange(5.0) + 9})
    frame = frame.iloc[[4, 3, 2, 1, 0]]
    expected = [[4, 13], [3, 12], [4, 13]]
    x = Utterances(frame, [2, 3], num_frames=3)
    assert x[np.array([0])].tolist() == [expected]
    x = Utterances(frame["a"], [2, 3], num_frames=3)
    assert x[np.array([0])].tolist() == [[4, 3, 4]]
    with pytest.raises(ValueError, match="values must be numbers"):
        Utterances(frame.astype(str), [2, 3])


def test_an_empty_batch_of_no_utterances():
    none = np.zeros(0, np.int64)
    x = Utterances(np.zeros((0, 2), np.float32), none, num_frames=3)
    assert x[none].shape == (0, 3, 2) and x[none].dtype == np.float32
    x = Utterances(lambda number: np.zeros((1, 2)), none, num_frames=3)
    with pytest.raises(ValueError, match="there are no utterances"):
        x[none]
