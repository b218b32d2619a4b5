"""TFDS builder of the Sprites of Reed et al. (2015)."""

import dataclasses
import pathlib

import numpy as np
import tensorflow_datasets as tfds

from embeddings_tf.datasets.sprites import FACTORS
from embeddings_tf.datasets.sprites import characters

_ARCHIVE = "nips2015-analogy-data.tar.gz"
_URL = f"http://www-personal.umich.edu/~reedscot/files/{_ARCHIVE}"
_NUM_CHARACTERS = 672
# Thrusting a spear, four directions, and shooting with a bow, four directions.
_WEAPON_ANIMATIONS = (4, 5, 6, 7, 16, 17, 18, 19)


@dataclasses.dataclass(eq=False, kw_only=True)
class SpritesConfig(tfds.core.BuilderConfig):
    """The frames that are kept of every character.

    Args:
        animations: Animations to keep, of 0 to 20.
    """

    animations: tuple[int, ...]


class Builder(tfds.core.GeneratorBasedBuilder):
    """Builder of the Sprites of Reed et al. (2015), in the archive's order."""

    VERSION = tfds.core.Version("1.0.0")
    RELEASE_NOTES = {"1.0.0": "First release."}
    BUILDER_CONFIGS = [
        SpritesConfig(
            name="all_frames",
            description="All frames of all 21 animations.",
            animations=tuple(range(characters.NUM_ANIMATIONS)),
        ),
        SpritesConfig(
            name="weapon_visible",
            description="The frames that show the weapon.",
            animations=_WEAPON_ANIMATIONS,
        ),
    ]
    MANUAL_DOWNLOAD_INSTRUCTIONS = f"""\
    Fetch {_URL}
    and unpack it into the subfolder `sprites` of manual_dir, so that the
    subfolder or a folder below it contains `sprites_0.mat` to
    `sprites_{_NUM_CHARACTERS - 1}.mat` and `sprites_splits.mat`.
    """

    def _info(self):
        return self.dataset_info_from_configs(
            features=tfds.features.FeaturesDict(
                {
                    # Half the size of PNG, and faster to write and read.
                    "image": tfds.features.Tensor(
                        shape=characters.FRAME_SHAPE,
                        dtype=np.uint8,
                        encoding="zlib",
                    ),
                    "factors": tfds.features.Tensor(
                        shape=(len(FACTORS),), dtype=np.int32
                    ),
                    "character": tfds.features.ClassLabel(
                        num_classes=_NUM_CHARACTERS
                    ),
                    "animation": tfds.features.ClassLabel(
                        num_classes=characters.NUM_ANIMATIONS
                    ),
                    "frame": np.int32,
                }
            ),
            supervised_keys=("image", "factors"),
            homepage="http://www-personal.umich.edu/~reedscot",
            disable_shuffling=True,
        )

    def _split_generators(self, dl_manager):
        folder = pathlib.Path(dl_manager.manual_dir) / "sprites"
        splits = characters.read_splits(
            _find(folder, "sprites_splits.mat"), _NUM_CHARACTERS
        )
        first = _find(folder, "sprites_0.mat")
        paths = [
            first.with_name(f"sprites_{character}.mat")
            for character in range(_NUM_CHARACTERS)
        ]
        for path in paths:
            if not path.exists():
                raise FileNotFoundError(_missing(folder, path))
        return {
            split: self._generate_examples(paths, of_split)
            for split, of_split in splits.items()
        }

    def _generate_examples(self, paths, of_split):
        animations = self.builder_config.animations
        key = 0
        for character in of_split:
            factors, images = characters.read_character(
                paths[character], animations
            )
            for animation, of_animation in zip(animations, images, strict=True):
                for frame, image in enumerate(of_animation):
                    yield (
                        key,
                        {
                            "image": image,
                            "factors": factors,
                            "character": int(character),
                            "animation": animation,
                            "frame": frame,
                        },
                    )
                    key += 1


def _find(folder, name):
    """Finds a file of the unpacked archive in a folder or below it."""
    found = sorted(folder.rglob(name), key=lambda path: len(path.parts))
    if not found:
        raise FileNotFoundError(_missing(folder, name))
    return found[0]


def _missing(folder, file):
    return (
        f"Sprites needs {file}, which is not in {folder} or below it; get "
        f"{_URL}, unpack {_ARCHIVE} into {folder}, and set "
        f"EMBEDDINGS_TF_MANUAL or manual_dir to {folder.parent}."
    )
