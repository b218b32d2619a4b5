"""Writes small folders of images for the tests."""

import struct
import zlib

import numpy as np
from PIL import Image


def write_image(path, image):
    """Writes an array `(height, width)` or `(height, width, channels)`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.asarray(image, np.uint8)).save(path)
    return path


def write_classes(folder, names, num_images=2, shape=(4, 5, 3)):
    """Writes `class/0.png`, ... of random colours; returns path to array."""
    rng = np.random.default_rng(0)
    written = {}
    for name in names:
        for number in range(num_images):
            image = np.broadcast_to(rng.integers(0, 256, shape[2:]), shape)
            path = write_image(folder / name / f"{number}.png", image)
            written[path.relative_to(folder).as_posix()] = np.asarray(
                image, np.uint8
            )
    return written


def write_digits(folder):
    """Writes scikit-learn's 1,797 handwritten digits as 8 x 8 grey PNGs."""
    from sklearn.datasets import load_digits

    digits = load_digits()
    images = np.rint(digits.images * 255 / 16)
    for number, image in enumerate(images):
        label = digits.target[number]
        write_image(folder / str(label) / f"{number:04}.png", image)
    return folder


def with_sides(content: bytes, width: int, height: int) -> bytes:
    """Returns a JPEG or PNG file whose header has other sides."""
    if content.startswith(b"\x89PNG"):
        header = content[12:16] + struct.pack(">II", width, height)
        header += content[24:29]
        checksum = struct.pack(">I", zlib.crc32(header))
        return content[:12] + header + checksum + content[33:]
    place = content.index(b"\xff\xc0") + 5
    sides = struct.pack(">HH", height, width)
    return content[:place] + sides + content[place + 4 :]
