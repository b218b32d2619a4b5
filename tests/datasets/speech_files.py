"""Small fabricated recordings, and matrices as Kaldi writes them."""

import wave

import numpy as np


def write_wav(path, samples, sample_rate=16000, channels=1):
    path.parent.mkdir(parents=True, exist_ok=True)
    with wave.open(str(path), "wb") as writer:
        writer.setnchannels(channels)
        writer.setsampwidth(2)
        writer.setframerate(sample_rate)
        writer.writeframes(samples.astype("<i2").tobytes())


def integer(value):
    """Encodes an integer like Kaldi: its number of bytes, then the integer."""
    return b"\4" + np.int32(value).tobytes()


def float_matrix(values, kind=b"FM"):
    """Encodes a plain matrix: `FM` with 4 bytes per value, `DM` with 8."""
    dtype = {b"FM": "<f4", b"DM": "<f8"}[kind]
    rows, columns = values.shape
    return (
        b"\0B%s " % kind
        + integer(rows)
        + integer(columns)
        + values.astype(dtype).tobytes()
    )


def compressed_matrix(kind, minimum, extent, codes, percentiles=None):
    """Encodes a compressed matrix from its codes.

    Args:
        kind: `b"CM"`, `b"CM2"` or `b"CM3"`.
        codes: `(rows, columns)`.
        percentiles: `(columns, 4)`, for `b"CM"`.
    """
    header = np.array([minimum, extent], "<f4").tobytes()
    header += np.array(codes.shape, "<i4").tobytes()
    if kind == b"CM":
        body = percentiles.astype("<u2").tobytes()
        body += codes.T.astype("u1").tobytes()  # column by column
    else:
        body = codes.astype({b"CM2": "<u2", b"CM3": "u1"}[kind]).tobytes()
    return b"\0B%s " % kind + header + body


def write_ark(path, matrices):
    """Writes an archive; returns the entries of its script file by name."""
    entries, content = {}, b""
    for name, matrix in matrices.items():
        content += name.encode() + b" "
        entries[name] = f"{path}:{len(content)}"
        content += matrix
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return entries


def write_table(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{name} {rest}\n" for name, rest in rows.items()))
