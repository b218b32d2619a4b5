"""Reads image files when they are needed."""

import os
from collections.abc import Sequence

import tensorflow as tf

from embeddings_tf.datasets.images import Images

EXTENSIONS = (".jpg", ".jpeg", ".png")
# The first bytes of files; zlib and JPEG data are checked by their decoders.
PNG_START, JPEG_START = b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff"


def image_files(folder: str | os.PathLike, names: Sequence[str]) -> Images:
    """Returns JPEG and PNG files as `Images`; opens none of them.

    Every image becomes 8-bit RGB: grey is repeated, transparency is dropped,
    and the orientation in EXIF data is ignored.

    Args:
        folder: The folder in which the names start.
        names: Paths of the files.

    Raises:
        OSError: When an image is read, if its file cannot be read or is
            damaged.
    """

    def content(number):
        path = os.path.join(folder, names[number])
        try:
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
                return tf.io.decode_image(
                    data, channels=3, expand_animations=False
                ).numpy()
        except tf.errors.InvalidArgumentError as error:
            raise _damaged(path) from error

    return Images(read, len(names), names=names, content=content)


def _damaged(path: str) -> OSError:
    return OSError(
        f"{path} is not a complete JPEG or PNG image: it is empty, truncated, "
        "damaged or of another format. Replace or remove it."
    )
