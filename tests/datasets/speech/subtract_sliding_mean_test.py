import numpy as np
import pytest

from embeddings_tf.datasets.speech import subtract_sliding_mean


def loop(features, window):
    """The window of Kaldi: centred, then moved inside, then cut."""
    rows = []
    num_frames = len(features)
    for t in range(num_frames):
        start = t - window // 2
        end = start + window
        if start < 0:
            end -= start
            start = 0
        if end > num_frames:
            start -= end - num_frames
            end = num_frames
            start = max(start, 0)
        rows.append(features[t] - features[start:end].mean(axis=0))
    return np.array(rows)


@pytest.mark.parametrize("window", [1, 4, 5, 20, 21, 300])
def test_equals_a_loop(window):
    features = np.random.default_rng(0).normal(50, 10, size=(20, 3))
    np.testing.assert_allclose(
        subtract_sliding_mean(features, window=window),
        loop(features, window),
        atol=1e-4,
    )


def test_padding_has_no_influence():
    features = np.random.default_rng(0).normal(size=(3, 12, 2))
    features[1, 7:] = np.nan
    features[2] = np.nan
    found = subtract_sliding_mean(features, [12, 7, 0], window=4).numpy()
    np.testing.assert_allclose(found[0], loop(features[0], 4), atol=1e-5)
    np.testing.assert_allclose(
        found[1, :7], loop(features[1, :7], 4), atol=1e-5
    )
    assert not found[1, 7:].any() and not found[2].any()


def test_long_recording_stays_exact():
    # float32 sums over so many frames would have larger errors.
    features = np.full((200_000, 1), 1000.1, np.float32)
    assert np.abs(subtract_sliding_mean(features)).max() < 1e-3


@pytest.mark.parametrize(
    ("features", "options", "message"),
    [
        (np.zeros(3), {}, "features must have shape"),
        ([[np.nan]], {}, "NaN or infinity"),
        (np.zeros((3, 1)), {"window": 0}, "`window` must be an integer"),
        (np.zeros((3, 1)), {"length": [4]}, "check `length`"),
    ],
)
def test_bad_input(features, options, message):
    with pytest.raises(ValueError, match=message):
        subtract_sliding_mean(features, **options)
