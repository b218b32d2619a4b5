import numpy as np
import pytest

from embeddings_tf.datasets.speech import keep_frames


def test_equals_boolean_masks():
    rng = np.random.default_rng(0)
    features = rng.normal(size=(4, 9, 2)).astype(np.float32)
    keep = rng.random(size=(4, 9)) < 0.5
    keep[1], keep[2] = False, True
    kept, length = keep_frames(features, keep)
    assert length.numpy().tolist() == keep.sum(axis=1).tolist()
    for i in range(4):
        np.testing.assert_array_equal(
            kept[i, : length[i]], features[i, keep[i]]
        )
        assert not kept[i, length[i] :].numpy().any()
        alone, alone_length = keep_frames(features[i], keep[i])
        assert alone_length == length[i]
        np.testing.assert_array_equal(alone, kept[i])


@pytest.mark.parametrize("keep", [[True, False], [1.0, 0.0, 1.0]])
def test_bad_input(keep):
    with pytest.raises(ValueError, match="keep must be bool of the shape"):
        keep_frames(np.zeros((3, 1)), keep)
