"""A run whose embedding is the mean colour, on images of plain colours.

Nothing is trained, so answers can be computed by hand.
"""

import pathlib

import keras
import numpy as np

from tests.datasets.image_folders import write_image
from trainers.config import load_recipe
from trainers.training.model import build_model
from trainers.workdirs.workdir import claim

HERE = pathlib.Path(__file__)
NUM_IMAGES = 6


def identity():
    """An encoder of points in the plane."""
    return keras.Sequential([keras.Input((2,)), keras.layers.Identity()])


def mean_colour(image_shape=(4, 5, 3)):
    """An encoder; its weights are not used."""
    image = keras.Input(image_shape, name="image")
    colour = keras.layers.GlobalAveragePooling2D()(image)
    return keras.Model(image, keras.layers.Rescaling(0.2)(colour))


def half_colour(image_shape=(4, 5, 3)):
    """As `mean_colour`, with other embeddings."""
    image = keras.Input(image_shape, name="image")
    colour = keras.layers.GlobalAveragePooling2D()(image)
    return keras.Model(image, keras.layers.Rescaling(0.1)(colour))


def colour_of(name: str, number: int) -> np.ndarray:
    """The colour of an image: near the colour of its class."""
    centre = np.random.default_rng(int(name[1:])).integers(10, 245, 3)
    noise = np.random.default_rng(number).integers(-6, 7, 3)
    return centre + noise


def write_colours(
    folder: pathlib.Path, num_classes: int = 40, first: int = 0
) -> pathlib.Path:
    """Writes `c00/0.png`, ...: classes of images of nearly one colour."""
    numbers = range(first, first + num_classes)
    for name in (f"c{number:02}" for number in numbers):
        for number in range(NUM_IMAGES):
            colour = colour_of(name, number)
            image = np.broadcast_to(colour, (4, 5, 3))
            write_image(folder / name / f"{number}.png", image)
    return folder


def write_run(
    workdir: pathlib.Path,
    folder: pathlib.Path,
    *overrides,
    encoder: str = "mean_colour",
):
    """Writes a workdir as after a training on the folder.

    Its config names an encoder of the library, because a run with code of its
    own needs --workdir in every command.
    """
    recipe = "omniglot_retrieval_triplet"
    overrides = [
        f"dataset=image_folder:{folder}",
        "folds.num_folds=0",
        "images.size=0",
        *overrides,
    ]
    (workdir / "checkpoints").mkdir(parents=True)
    claim(workdir, recipe, load_recipe(recipe, overrides))
    run = load_recipe(recipe, [*overrides, f"encoder.name={HERE}:{encoder}"])
    build_model(run).save(workdir / "checkpoints" / "best.keras")
    return workdir


def write_plane(workdir: pathlib.Path, file: pathlib.Path) -> int:
    """Writes points (0, 0), (1, 0), ... and a run with them as embeddings.

    Returns:
        The number of points; each class has two.
    """
    x = np.stack([np.arange(40.0), np.zeros(40)], axis=1).astype("float32")
    np.savez(file, x=x, labels=np.repeat(np.arange(20), 2))
    write_run(workdir, file, f"dataset=arrays:{file}", encoder="identity")
    return len(x)
