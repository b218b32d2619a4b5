"""Data of one's own for recipes of goals."""

import numpy as np

from trainers.config import load_recipe
from trainers.goals import goal_recipe

RNG = np.random.default_rng(0)
# 10 classes of 12, and of the first class only 7.
LABELS = np.repeat(np.arange(10), 12)[5:]
FACTORS = np.stack([LABELS % 2, LABELS // 2], axis=1)


def arrays(folder, x, labels=LABELS) -> str:
    path = folder / "data.npz"
    np.savez(path, x=x, labels=labels)
    return f"arrays:{path}"


def rows(folder) -> str:
    """Features of ten classes."""
    return arrays(folder, RNG.normal(size=(len(LABELS), 6)).astype("f4"))


def write(dataset, goal, folder, method=None, split="classes", **more):
    planned = goal_recipe.plan_recipe(
        dataset, goal, method, split, folder, **more
    )
    return load_recipe(goal_recipe.write_recipe(planned))


def photos(folder, sides) -> str:
    """Six classes with an image of each side."""
    import tensorflow as tf

    for number in range(12):
        side = sides[number % 2]
        name = f"{folder}/photos/{number // 2}/{number}.png"
        image = tf.zeros((side, side, 3), tf.uint8)
        tf.io.write_file(name, tf.io.encode_png(image))
    return f"image_folder:{folder / 'photos'}"
