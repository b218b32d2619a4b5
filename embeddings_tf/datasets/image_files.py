"""Reads image files when they are needed."""

import os
from collections.abc import Sequence

import tensorflow as tf

from embeddings_tf.datasets.images import Images

EXTENSIONS = (".jpg", ".jpeg", ".png")


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
        try:
            with tf.device("CPU:0"):
                return tf.io.decode_image(
                    content(number), channels=3, expand_animations=False
                ).numpy()
        except tf.errors.InvalidArgumentError as error:
            path = os.path.join(folder, names[number])
            raise OSError(
                f"{path} is not a complete JPEG or PNG image: it is empty, "
                "truncated, damaged or of another format. Replace or remove it."
            ) from error

    return Images(read, len(names), names=names, content=content)
