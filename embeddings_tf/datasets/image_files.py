"""Reads image files when they are needed."""

import os
from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from embeddings_tf.datasets.images import Images
from embeddings_tf.datasets.require_no_pipe import require_no_pipe

EXTENSIONS = (".jpg", ".jpeg", ".png")
# The first bytes of files; zlib and JPEG data are checked by their decoders.
PNG_START, JPEG_START = b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff"
# The byte of a PNG file that contains the bits of a value.
BIT_DEPTH = 24
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
            damaged, or has 16 bits and only small values.
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
            raise _damaged(path) from error
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


def _damaged(path: str) -> OSError:
    return OSError(
        f"{path} is not a complete JPEG or PNG image: it is empty, truncated, "
        "damaged or of another format. Replace or remove it."
    )
