"""Central and random crops of images, and resizing."""

import numpy as np
import tensorflow as tf

# Random crops: share of the image's area, aspect ratio, and attempts.
AREA = (0.08, 1.0)
ASPECT = (3 / 4, 4 / 3)
ATTEMPTS = 10
# A scaled image is long if it has this many times the pixels of its square:
# if one side is 12 times the other.
LONG = 16
# Pixels of an intermediate image that may take memory, whatever the file is.
MANY = 2**22


def middle_crop(image, size):
    if image.shape[:2] == (size, size):
        return image
    shape = np.array(image.shape[:2])
    sides = np.maximum(np.rint(shape * (size * 8 / 7) / shape.min()), size)
    sides = sides.astype(int)
    if sides.prod() > LONG * size**2:
        return _middle_of_long(image, size, sides)
    image = resize(image, sides)
    top, left = (np.array(image.shape[:2]) - size) // 2
    return image[top : top + size, left : left + size]


def _middle_of_long(image, size, sides):
    """As `middle_crop`, but scales only the part that is seen in the square."""
    shape = np.array(image.shape[:2])
    start = (sides - size) // 2
    scale = sides / shape
    margin = np.maximum(1 / scale, 1) + 2
    first = np.maximum(start / scale - margin, 0).astype(int)
    end = (start / scale + size / scale + margin).astype(int)
    with tf.device("CPU:0"):
        found = tf.raw_ops.ScaleAndTranslate(
            images=image[None, first[0] : end[0], first[1] : end[1]],
            size=(size, size),
            scale=scale.astype(np.float32),
            translation=(first * scale - start).astype(np.float32),
            kernel_type="triangle",
            antialias=True,
        )
    return _whole_numbers(found[0].numpy())


def random_crop(image, size, rng):
    height, width = image.shape[:2]
    for _ in range(ATTEMPTS):
        area = height * width * rng.uniform(*AREA)
        aspect = np.exp(rng.uniform(*np.log(ASPECT)))
        sides = np.rint([np.sqrt(area / aspect), np.sqrt(area * aspect)])
        if 0 < sides[0] <= height and 0 < sides[1] <= width:
            top = rng.integers(height - int(sides[0]), endpoint=True)
            left = rng.integers(width - int(sides[1]), endpoint=True)
            break
    else:
        # The largest central rectangle with an allowed aspect ratio.
        sides = np.minimum(
            [height, width],
            np.ceil([width / ASPECT[0], height * ASPECT[1]]),
        )
        top, left = (
            int((height - sides[0]) // 2),
            int((width - sides[1]) // 2),
        )
    bottom, right = top + int(sides[0]), left + int(sides[1])
    image = resize(image[top:bottom, left:right], (size, size))
    return image[:, ::-1] if rng.uniform() < 0.5 else image


def resize(image, sides):
    if tuple(image.shape[:2]) == tuple(sides):
        return image
    (height, width), first = image.shape[:2], image
    with tf.device("CPU:0"):
        # TensorFlow resizes the height first. Where that takes much memory,
        # because the image is wide and low, the width is first here.
        if sides[0] * width > max(height * width, MANY):
            first = tf.image.resize(image, (height, sides[1]), antialias=True)
        image = tf.image.resize(first, sides, antialias=True).numpy()
    return _whole_numbers(image)


def _whole_numbers(image):
    return np.rint(image).clip(0, 255).astype(np.uint8)
