"""Reads image files when they are needed."""

import os
import struct
import zlib
from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from embeddings_tf.datasets.images import Images
from embeddings_tf.ops.require_no_pipe import require_no_pipe

EXTENSIONS = (".jpg", ".jpeg", ".png")
# The first bytes of files; zlib and JPEG data are checked by their decoders.
PNG_START, JPEG_START = b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff"
# The byte of a PNG file that contains the bits of a value.
BIT_DEPTH = 24
# TensorFlow decodes PNG files of fewer pixels and JPEG files of fewer values,
# and no PNG file with a longer side.
TOO_MANY, LONGEST_SIDE = 2**29, 10**6
# A 16-bit image whose values are all lower has another range than 0 to 65535.
LEAST_LIGHT = 16


def image_files(folder: str | os.PathLike, names: Sequence[str]) -> Images:
    """Returns JPEG and PNG files as `Images`; opens none of them.

    Every image becomes 8-bit RGB: of 16 bits, the upper 8 are kept; grey is
    repeated, transparency is dropped, and the orientation in EXIF data is
    ignored. An image of 16 bits that would become almost black is refused,
    such as depths of 0 to 4080.

    Args:
        folder: The folder in which the names start.
        names: Paths of the files.

    Raises:
        OSError: When an image is read, if its file cannot be read, is
            damaged, is too large for TensorFlow (2^29 pixels of PNG, 2^29
            values of JPEG), or has 16 bits and only small values.
    """

    def content(number):
        path = os.path.join(folder, names[number])
        try:
            require_no_pipe(path)
            with open(path, "rb") as file:
                return file.read()
        except OSError as error:
            raise OSError(
                f"{path} cannot be read ({error.strerror}); restore the file, "
                "or start again without it."
            ) from error

    def read(number):
        data, path = content(number), os.path.join(folder, names[number])
        if not data.startswith((PNG_START, JPEG_START)):  # such as a GIF
            raise _damaged(path)
        try:
            with tf.device("CPU:0"):
                image = tf.io.decode_image(
                    data, channels=3, expand_animations=False
                ).numpy()
        except tf.errors.InvalidArgumentError as error:
            raise _too_large(path, data) or _damaged(path) from error
        if data.startswith(PNG_START) and data[BIT_DEPTH] == 16:
            _require_light(path, data, image)
        return image

    return Images(read, len(names), names=names, content=content)


def _require_light(path: str, data: bytes, image: np.ndarray) -> None:
    """Raises if the upper 8 of 16 bits lose the values of an image."""
    if image.max() >= LEAST_LIGHT:
        return
    with tf.device("CPU:0"):
        values = tf.io.decode_png(data, channels=3, dtype=tf.uint16).numpy()
    if values.min() < values.max():
        raise OSError(
            f"{path} has 16 bits, of which the upper 8 are kept, and they are "
            f"all below {LEAST_LIGHT}; scale it to 8 bits."
        )


def _too_large(path: str, data: bytes) -> OSError | None:
    """Returns the error of an image that TensorFlow refuses for its size."""
    width, height, is_too_large = 0, 0, False
    if data.startswith(JPEG_START):
        try:
            shape = tf.io.extract_jpeg_shape(data).numpy().tolist()
        except tf.errors.InvalidArgumentError:
            return None
        height, width, channels = shape
        is_too_large = height * width * channels >= TOO_MANY
    elif data[29:33] == struct.pack(">I", zlib.crc32(data[12:29])):
        width, height = struct.unpack(">II", data[16:24])
        is_too_large = max(width, height) > LONGEST_SIDE
        is_too_large |= width * height >= TOO_MANY
    if not is_too_large:
        return None
    return OSError(
        f"{path} has {width} x {height} pixels, more than TensorFlow decodes; "
        "make it smaller."
    )


def _damaged(path: str) -> OSError:
    return OSError(
        f"{path} is not a complete JPEG or PNG image: it is empty, truncated, "
        "damaged or of another format. Replace or remove it."
    )
