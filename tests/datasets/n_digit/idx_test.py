import gzip

import numpy as np
import pytest

from embeddings_tf.datasets.n_digit.idx import read_idx
from tests.datasets.n_digit_files import write_idx


def test_reads_what_was_written(tmp_path):
    images = np.arange(2 * 3 * 4, dtype=np.uint8).reshape(2, 3, 4)
    write_idx(tmp_path / "images.gz", images)
    np.testing.assert_array_equal(
        read_idx(tmp_path / "images.gz", ndim=3), images
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\0\0\x08\x01\0\0\0\x02ab", None),
        (b"\0\0\x08\x01\0\0\0\x02a", "announces shape"),
        (b"\0\0\x08\x01\0\0\0\x02abc", "announces shape"),
        (b"\0\0\x08\x03\0\0\0\x02ab", "starts with 00000803"),
        (b"\0\0\x0d\x01\0\0\0\x02ab", "starts with 00000d01"),
        (b"\0\0\x08\x01\0", "not an idx file"),
        (b"", "not an idx file"),
    ],
)
def test_is_strict(tmp_path, content, message):
    path = tmp_path / "labels.gz"
    path.write_bytes(gzip.compress(content))
    if message is None:
        assert read_idx(path, ndim=1).tolist() == [97, 98]
    else:
        with pytest.raises(ValueError, match=message) as error:
            read_idx(path, ndim=1)
        assert str(path) in str(error.value)


@pytest.mark.parametrize("cut", [0, 5, 20])
def test_incomplete_gzip_file(tmp_path, cut):
    path = tmp_path / "labels.gz"
    write_idx(path, np.arange(100, dtype=np.uint8))
    path.write_bytes(b"x" + path.read_bytes() if not cut else b"")
    if cut:
        write_idx(path, np.arange(100, dtype=np.uint8))
        path.write_bytes(path.read_bytes()[:-cut])
    with pytest.raises(ValueError, match="not a complete gzip file"):
        read_idx(path, ndim=1)
