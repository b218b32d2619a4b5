"""Reader of the idx format, the format of the original MNIST files."""

import gzip
import math
import struct
import zlib

import numpy as np

_UNSIGNED_BYTE = 0x08


def read_idx(path, ndim: int) -> np.ndarray:
    """Reads a gzip-compressed idx file of unsigned bytes.

    The file must contain exactly what its header announces. A file that is too
    short, too long or of another kind is refused.

    Args:
        path: Path object of the `.gz` file.
        ndim: Number of dimensions the array must have: 3 for images, 1 for
            labels.

    Returns:
        Array of dtype `uint8`, for MNIST images of shape
        `(images, height, width)`.

    Raises:
        ValueError: If the file is not a complete gzip file with one idx array
            of unsigned bytes with `ndim` dimensions.

    Reference:

    - [LeCun et al., MNIST file format](http://yann.lecun.com/exdb/mnist/)
    """
    try:
        with path.open("rb") as file, gzip.GzipFile(fileobj=file) as stream:
            content = stream.read()
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(
            f"{path} is not a complete gzip file ({error}); fetch it again."
        ) from error
    header = 4 + 4 * ndim
    magic = bytes((0, 0, _UNSIGNED_BYTE, ndim))
    if content[:4] != magic or len(content) < header:
        raise ValueError(
            f"{path} is not an idx file of unsigned bytes with {ndim} "
            f"dimensions: it starts with {content[:4].hex()}, expected "
            f"{magic.hex()}."
        )
    shape = struct.unpack(f">{ndim}I", content[4:header])
    expected = header + math.prod(shape)
    if len(content) != expected:
        raise ValueError(
            f"{path} announces shape {shape} and should have {expected} bytes "
            f"uncompressed, but has {len(content)}; fetch it again."
        )
    return np.frombuffer(content, np.uint8, offset=header).reshape(shape)
