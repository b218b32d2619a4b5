"""Reads matrices in binary archives of Kaldi."""

import os
from typing import BinaryIO
from typing import NamedTuple

import numpy as np

_FLOATS = {b"FM": "<f4", b"DM": "<f8"}
# Compressed formats: bytes before the values, and bytes per value.
_COMPRESSED = {b"CM": 1, b"CM2": 2, b"CM3": 1}


class MatrixPlace(NamedTuple):
    """The place of a matrix in an archive, its shape and its format."""

    kind: bytes
    first: int
    num_rows: int
    num_columns: int
    minimum: float = 0.0
    extent: float = 0.0


def find_matrix(file: BinaryIO, offset: int, name: str) -> MatrixPlace:
    """Reads the header of the matrix at `offset` of an archive.

    Args:
        file: The archive, open for reading bytes.
        offset: Start of the matrix, as given in the script file (`.scp`).
        name: Name of the matrix in errors.

    Raises:
        ValueError: If the matrix is not binary, is empty or is truncated.
    """
    size = os.fstat(file.fileno()).st_size
    file.seek(offset)
    content = file.read(32)
    kind = content[2:].partition(b" ")[0]
    start = 3 + len(kind)
    if content[:2] != b"\0B" or kind not in {*_FLOATS, *_COMPRESSED}:
        raise ValueError(
            f"{name} is not a binary matrix of Kaldi at byte {offset} of "
            f"{file.name}, of {size} bytes (there is {content[:8]!r}); write "
            "it with copy-feats ark:... ark,scp:..., or fetch it again."
        )
    if kind in _FLOATS:
        # Two integers, each after its number of bytes.
        header = content[start : start + 10]
        is_whole = header[0:1] == header[5:6] == b"\4" and len(header) == 10
        rows, columns = np.frombuffer(
            header[1:5] + header[6:10] if is_whole else bytes(8), "<i4"
        )
        place = MatrixPlace(kind, offset + start + 10, int(rows), int(columns))
        num_bytes = rows.item() * columns.item() * int(_FLOATS[kind][2:])
    else:
        header = content[start : start + 16]
        header = header if len(header) == 16 else bytes(16)
        minimum, extent = np.frombuffer(header[:8], "<f4").tolist()
        rows, columns = np.frombuffer(header[8:], "<i4").tolist()
        place = MatrixPlace(
            kind, offset + start + 16, rows, columns, minimum, extent
        )
        num_bytes = rows * columns * _COMPRESSED[kind]
        num_bytes += 8 * columns if kind == b"CM" else 0
    if min(rows, columns) < 1 or place.first + num_bytes > size:
        raise ValueError(
            f"{name} is empty or truncated: {rows} x {columns} values at byte "
            f"{offset} of {file.name}, which has {size} bytes; leave it out, "
            "or fetch the archive again."
        )
    return place


def read_matrix(file: BinaryIO, place: MatrixPlace, name: str) -> np.ndarray:
    """Returns the matrix, `float32` of shape `(rows, columns)`.

    Compressed matrices are decoded as Kaldi decodes them:

    ```
    CM2, CM3  minimum + range value / 65535, or / 255
    CM        four percentiles p_0, p_25, p_75, p_100 of each column, coded as
              in CM2; values 0..64, 64..192 and 192..255 lie evenly between
    ```

    Raises:
        ValueError: If values are missing, or are NaN or infinite.
    """
    shape = place.num_rows, place.num_columns
    count = place.num_rows * place.num_columns
    file.seek(place.first)
    if place.kind in _FLOATS:
        values = _values(file, _FLOATS[place.kind], count, name).reshape(shape)
    elif place.kind == b"CM":
        percentiles = _values(file, "<u2", 4 * shape[1], name).reshape(-1, 4)
        percentiles = place.minimum + place.extent / 65535 * percentiles
        columns = _values(file, "u1", count, name).reshape(shape[::-1])
        values = np.stack(
            [
                np.interp(column, (0, 64, 192, 255), points)
                for column, points in zip(columns, percentiles, strict=True)
            ],
            axis=1,
        )
    else:
        dtype, steps = {b"CM2": ("<u2", 65535), b"CM3": ("u1", 255)}[place.kind]
        values = _values(file, dtype, count, name).reshape(shape)
        values = place.minimum + place.extent / steps * values
    values = values.astype(np.float32)
    if not np.isfinite(values).all():
        raise ValueError(
            f"{name} in {file.name} contains NaN or infinity; compute it "
            "again, or leave it out."
        )
    return values


def _values(file, dtype, count, name):
    content = file.read(count * np.dtype(dtype).itemsize)
    if len(content) < count * np.dtype(dtype).itemsize:
        raise ValueError(
            f"{name} is truncated in {file.name}; fetch the archive again."
        )
    return np.frombuffer(content, dtype)
