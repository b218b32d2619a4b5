import pytest

from embeddings_tf.datasets.speech import count_frames


@pytest.mark.parametrize(
    ("length", "options", "expected"),
    [
        # A frame for each centre 80 + 160 k before the end.
        ([0, 79, 80, 239, 240, 16000], {}, [0, 0, 1, 1, 2, 100]),
        ([40, 119, 120], {"sample_rate": 8000}, [1, 1, 2]),
        # Windows of 400 samples inside the recording.
        ([0, 399, 400, 559, 560], {"snip_edges": True}, [0, 0, 1, 1, 2]),
    ],
)
def test_counts(length, options, expected):
    assert count_frames(length, **options).numpy().tolist() == expected


def test_bad_input():
    with pytest.raises(ValueError, match="dtype float32"):
        count_frames(1.5)
    with pytest.raises(ValueError, match="`sample_rate` must be an integer"):
        count_frames(5, sample_rate=8000.5)
