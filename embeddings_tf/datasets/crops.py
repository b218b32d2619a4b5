"""Central and random crops of images, and resizing."""

import numpy as np
import tensorflow as tf

# Random crops: share of the image's area, aspect ratio, and attempts.
AREA = (0.08, 1.0)
ASPECT = (3 / 4, 4 / 3)
ATTEMPTS = 10


def middle_crop(image, size):
    if image.shape[:2] == (size, size):
        return image
    shape = np.array(image.shape[:2])
    sides = np.maximum(np.rint(shape * (size * 8 / 7) / shape.min()), size)
    image = resize(image, sides.astype(int))
    top, left = (np.array(image.shape[:2]) - size) // 2
    return image[top : top + size, left : left + size]


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
    with tf.device("CPU:0"):
        image = tf.image.resize(image, sides, antialias=True).numpy()
    return np.rint(image).clip(0, 255).astype(np.uint8)
