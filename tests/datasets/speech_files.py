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
    """An integer as Kaldi writes it: its number of bytes, then itself."""
    return b"\4" + np.int32(value).tobytes()


def float_matrix(values, kind=b"FM"):
    """A plain matrix: `FM` of 4 bytes a value, `DM` of 8."""
    dtype = {b"FM": "<f4", b"DM": "<f8"}[kind]
    rows, columns = values.shape
    return (
        b"\0B%s " % kind
        + integer(rows)
        + integer(columns)
        + values.astype(dtype).tobytes()
    )


def compressed_matrix(kind, minimum, extent, codes, percentiles=None):
    """A compressed matrix, given its codes.

    Args:
        kind: `b"CM"`, `b"CM2"` or `b"CM3"`.
        codes: `(rows, columns)`.
        percentiles: `(columns, 4)`, of `b"CM"`.
    """
    header = np.array([minimum, extent], "<f4").tobytes()
    header += np.array(codes.shape, "<i4").tobytes()
    if kind == b"CM":
        body = percentiles.astype("<u2").tobytes()
        body += codes.T.astype("u1").tobytes()  # column after column
    else:
        body = codes.astype({b"CM2": "<u2", b"CM3": "u1"}[kind]).tobytes()
    return b"\0B%s " % kind + header + body


def write_ark(path, matrices):
    """Writes an archive; the entries of its file of scripts by name."""
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
