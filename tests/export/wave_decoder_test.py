"""WAV files are limited by their headers, before they are decoded."""

import struct

import numpy as np
import pytest
import tensorflow as tf

from embeddings_tf.export import WaveDecoder


def wav(samples, before=b""):
    """A file of one channel and 16 bits, with chunks before the samples."""
    data = np.asarray(samples, "<i2").tobytes()
    chunks = b"fmt " + struct.pack("<IHHIIHH", 16, 1, 1, 8000, 16000, 2, 16)
    chunks += before + b"data" + struct.pack("<I", len(data)) + data
    return b"RIFF" + struct.pack("<I", 4 + len(chunks)) + b"WAVE" + chunks


NOTE = b"LIST" + struct.pack("<I", 6) + b"6bytes"


def test_limit_counts_padded_samples():
    """Chunks before the samples do not count."""
    files = tf.constant([wav([1, 2, 3]), wav([4, 5, 6, 7, 8], NOTE), wav([])])
    waveform, length = WaveDecoder(8000, max_samples=15)("x_bytes", files)
    np.testing.assert_array_equal(
        waveform, [[1, 2, 3, 0, 0], [4, 5, 6, 7, 8], [0, 0, 0, 0, 0]]
    )
    np.testing.assert_array_equal(length, [3, 5, 0])
    with pytest.raises(
        tf.errors.InvalidArgumentError,
        match=r"at most 14 padded samples in all: .* files and samples",
    ):
        WaveDecoder(8000, max_samples=14)("x_bytes", files)


def test_limit_before_decoding():
    """The last file could not be decoded, but no file is."""
    damaged = wav(np.arange(90), NOTE).replace(b"\x01\0\x01\0", b"\x07\0\x01\0")
    with pytest.raises(tf.errors.InvalidArgumentError, match="padded samples"):
        WaveDecoder(8000, max_samples=100)(
            "x_bytes", tf.constant([wav([1]), damaged])
        )
    with pytest.raises(tf.errors.InvalidArgumentError, match="damaged"):
        graph = tf.function(WaveDecoder(8000, max_samples=180))
        graph("x_bytes", tf.constant([wav([1]), damaged]))


def test_headers_that_lie():
    """Sizes beyond the file, and chunks without end, are errors."""
    content = wav(np.arange(9))
    for bad in (
        content[:40] + b"\xff\xff\xff\xff" + content[44:],
        content[:16] + b"\xff\xff\xff\xff" + content[20:],
        content[:36],
        content[:13],
        b"",
    ):
        with pytest.raises(tf.errors.InvalidArgumentError):
            WaveDecoder(8000)("x_bytes", tf.constant([bad]))
