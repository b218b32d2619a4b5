"""Images that are not of a data set, to ask a model about."""

import numpy as np

NUM_IMAGES = 200


def foreign_inputs(images: np.ndarray) -> dict[str, np.ndarray]:
    """Returns images of 0 to 255 by what they are, `(n, h, w, c)` in float32.

    Args:
        images: Images of the data set, `(m, h, w, c)`; at most `NUM_IMAGES`
            are changed into others.
    """
    rng = np.random.default_rng(0)
    some = np.asarray(images[:NUM_IMAGES], np.float32)
    shape = (NUM_IMAGES, *some.shape[1:])
    shuffled = some.reshape(len(some), -1).copy()
    for row in shuffled:
        rng.shuffle(row)
    return {
        "uniform noise": rng.integers(0, 256, shape).astype(np.float32),
        "normal noise": np.clip(rng.normal(128, 40, shape), 0, 255).astype(
            np.float32
        ),
        "one grey": np.broadcast_to(
            rng.uniform(0, 255, (NUM_IMAGES, 1, 1, 1)), shape
        ).astype(np.float32),
        "inverted": 255 - some,
        "pixels shuffled": shuffled.reshape(some.shape),
        "halves swapped": np.roll(some, some.shape[1] // 2, axis=1),
        "upside down": some[:, ::-1],
    }
