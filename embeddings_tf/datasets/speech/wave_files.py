"""Reads recordings in WAV files, and parts of them."""

import os
import struct
import wave
from collections.abc import Sequence

import numpy as np

from embeddings_tf.ops.counted import counted
from embeddings_tf.ops.require_no_pipe import require_no_pipe

_BYTES = 2  # per sample
_HEADER_BYTES = 44  # at least
_HEADER = struct.Struct("<4sI4s4sIHHIIHH4sI")


def count_samples(path: str | os.PathLike) -> tuple[int, int]:
    """Returns length and sample rate of a WAV file; reads only its header.

    Raises:
        ValueError: If it is not a WAV file of one channel and 16 bits, or is
            truncated.
        OSError: If it cannot be read.
    """
    header, size = _start(path)
    found = _plain_header(header)
    if found is None:
        with _opened(path) as reader:
            found = reader.getnframes(), reader.getframerate()
    num_samples, rate = found
    if size < _HEADER_BYTES + _BYTES * num_samples or num_samples < 1:
        raise ValueError(
            f"{path} announces {num_samples} samples but has {size} bytes; "
            "it is empty or truncated, fetch it again or leave it out."
        )
    return num_samples, rate


def _start(path):
    """Returns the first bytes of a file, and its size.

    Calls of the operating system are faster than Python's file objects, which
    counts for folders of many files.
    """
    require_no_pipe(path)
    file = os.open(path, os.O_RDONLY)
    try:
        return os.read(file, _HEADER_BYTES), os.fstat(file).st_size
    except OSError as error:  # it has no name, for example of a folder
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        os.close(file)


def _plain_header(header):
    """Returns length and sample rate if the header is of the usual form.

    Faster than the module `wave`.
    """
    if len(header) < _HEADER_BYTES:
        return None
    riff, _, wave_, fmt, fmt_size, kind, channels, rate, _, _, bits, data, n = (
        _HEADER.unpack(header)
    )
    names = riff, wave_, fmt, data
    if names != (b"RIFF", b"WAVE", b"fmt ", b"data") or fmt_size != 16:
        return None
    if (kind, channels, bits) != (1, 1, 8 * _BYTES):
        return None
    return n // _BYTES, rate


def read_samples(
    path: str | os.PathLike, first: int, num_samples: int
) -> np.ndarray:
    """Reads samples of a WAV file as `int16`; errors as `count_samples`."""
    with _opened(path) as reader:
        reader.setpos(min(first, reader.getnframes()))
        samples = np.frombuffer(reader.readframes(num_samples), "<i2")
    if len(samples) != num_samples:
        raise ValueError(
            f"{path} has {len(samples)} samples from {first} on instead of "
            f"{num_samples}; it was cut or replaced, read the folder "
            "again."
        )
    return samples.astype(np.int16)


def common_rate(
    paths: Sequence, rates: Sequence[int], sample_rate: int | None
) -> int:
    """Returns the sample rate of all files; ValueError if they differ."""
    expected = rates[0] if sample_rate is None else sample_rate
    for path, rate in zip(paths, rates, strict=True):
        if rate != expected:
            raise ValueError(
                f"{path} has {rate} samples per second, expected {expected}"
                + (f", the rate of {paths[0]}" if sample_rate is None else "")
                + "; resample it, or read it separately."
            )
    return expected


def _opened(path):
    try:
        reader = wave.open(os.fspath(path), "rb")
    except (wave.Error, EOFError) as error:
        raise ValueError(
            f"{path} is damaged or not a WAV file of 16-bit samples "
            f"({str(error) or 'it ends too early'}); "
            "convert it, for instance by ffmpeg -i FILE -ac 1 -c:a pcm_s16le "
            "NEW.wav."
        ) from error
    if reader.getnchannels() != 1 or reader.getsampwidth() != _BYTES:
        channels, bits = reader.getnchannels(), 8 * reader.getsampwidth()
        reader.close()
        raise ValueError(
            f"{path} has {counted(channels, 'channel')} of {bits} bits, "
            "expected one channel of 16; convert it, for instance with ffmpeg "
            "or sox."
        )
    return reader
