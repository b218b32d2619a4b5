"""Small fabricated images of classes, as `datasets.load` returns them."""

import numpy as np


def images(num_classes, num_per_class, shape, seed=0):
    """uint8 images around one image per class; int32 labels."""
    rng = np.random.default_rng(seed)
    means = rng.integers(0, 256, (num_classes, *shape))
    labels = rng.permutation(np.repeat(np.arange(num_classes), num_per_class))
    x = means[labels] + rng.normal(0, 20, (len(labels), *shape))
    return np.clip(x, 0, 255).astype("uint8"), labels.astype("int32")
