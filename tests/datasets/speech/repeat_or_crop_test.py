import numpy as np
import pytest
import tensorflow as tf

from embeddings_tf.datasets.speech import repeat_or_crop


def frames(*shape):
    return np.random.default_rng(0).normal(size=shape).astype(np.float32)


def test_short_ones_are_repeated_from_the_start():
    features = frames(3, 2)
    np.testing.assert_array_equal(
        repeat_or_crop(features, 8), features[[0, 1, 2, 0, 1, 2, 0, 1]]
    )
    # The seed does not matter, because there is nothing to choose.
    for num_frames in (3, 8):
        np.testing.assert_array_equal(
            repeat_or_crop(features, num_frames, seed=(1, 2)),
            repeat_or_crop(features, num_frames),
        )


def test_long_ones_are_cropped():
    features = frames(10, 2)
    np.testing.assert_array_equal(repeat_or_crop(features, 4), features[3:7])
    starts = set()
    for seed in range(200):
        found = repeat_or_crop(features, 8, seed=(seed, 0)).numpy()
        (start,) = [s for s in range(3) if (features[s : s + 8] == found).all()]
        starts.add(start)
    # Each place has probability 1/3; 200 draws miss one with (2/3)^200.
    assert starts == {0, 1, 2}
    np.testing.assert_array_equal(
        repeat_or_crop(features, 4, seed=(5, 6)),
        repeat_or_crop(features, 4, seed=(5, 6)),
    )


def test_batch_without_its_padding():
    features = frames(2, 10, 3)
    found = repeat_or_crop(features, 6, seed=(1, 2), length=[10, 4]).numpy()
    assert any((features[0, s : s + 6] == found[0]).all() for s in range(5))
    np.testing.assert_array_equal(found[1], features[1, [0, 1, 2, 3, 0, 1]])


def test_number_of_frames_from_a_tensor():
    features = frames(10, 2)
    crop = tf.function(lambda n: repeat_or_crop(features, n))
    np.testing.assert_array_equal(crop(tf.constant(4)), features[3:7])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"num_frames": 0}, "`num_frames` must be an integer"),
        ({"num_frames": tf.constant(1.0)}, "num_frames must be an integer"),
        ({"num_frames": 2, "seed": 3}, "`seed` must be two integers"),
        ({"num_frames": 2, "length": 0}, "at least 1 frames"),
    ],
)
def test_bad_input(arguments, message):
    with pytest.raises(ValueError, match=message):
        repeat_or_crop(np.zeros((3, 1)), **arguments)


def test_no_frame_in_a_graph():
    graph = tf.function(repeat_or_crop).get_concrete_function(
        tf.TensorSpec([None, 2]), 5
    )
    with pytest.raises(tf.errors.InvalidArgumentError, match="at least 1"):
        graph(tf.zeros((0, 2)))
