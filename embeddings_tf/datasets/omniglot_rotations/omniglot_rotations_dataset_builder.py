"""TFDS builder of Omniglot with every character in four rotations."""

import numpy as np
import tensorflow_datasets as tfds

from embeddings_tf.datasets.omniglot_rotations.rotated_characters import (
    QUARTER_TURNS,
)
from embeddings_tf.datasets.omniglot_rotations.rotated_characters import SIZE
from embeddings_tf.datasets.omniglot_rotations.rotated_characters import (
    class_name,
)
from embeddings_tf.datasets.omniglot_rotations.rotated_characters import (
    class_names,
)
from embeddings_tf.datasets.omniglot_rotations.rotated_characters import (
    light_on_dark,
)
from embeddings_tf.datasets.omniglot_rotations.rotated_characters import (
    split_of_characters,
)

_SPLITS = ("train", "validation", "test")
_BATCH = 500


class Builder(tfds.core.GeneratorBasedBuilder):
    """Builder of Omniglot in four rotations, class by class."""

    VERSION = tfds.core.Version("1.0.0")
    RELEASE_NOTES = {"1.0.0": "First release."}
    SOURCE = "omniglot"
    # TFDS accepts a manual_dir only if this text exists.
    MANUAL_DOWNLOAD_INSTRUCTIONS = """\
    With a network, nothing has to be done by hand. Without a network, put the
    four original archives `images_*.zip` of Omniglot into the subfolder
    `omniglot` of manual_dir.
    """

    def _info(self):
        alphabets = {name.split("/")[0] for name in class_names()}
        return self.dataset_info_from_configs(
            features=tfds.features.FeaturesDict(
                {
                    "image": tfds.features.Tensor(
                        shape=(SIZE, SIZE, 1), dtype=np.uint8, encoding="zlib"
                    ),
                    "label": tfds.features.ClassLabel(names=class_names()),
                    "alphabet": tfds.features.ClassLabel(
                        names=sorted(alphabets)
                    ),
                }
            ),
            supervised_keys=("image", "label"),
            homepage="https://github.com/brendenlake/omniglot",
            disable_shuffling=True,
        )

    def _split_generators(self, dl_manager):
        del dl_manager  # The source is prepared already.
        source = tfds.builder(self.SOURCE, data_dir=self.data_dir_root)
        return {
            split: self._generate_examples(source, split) for split in _SPLITS
        }

    def _generate_examples(self, source, split):
        label_of = {name: label for label, name in enumerate(class_names())}
        scans, characters = _scans(source, split)
        images, labels = [], []
        for first in range(0, len(scans), _BATCH):
            block = slice(first, first + _BATCH)
            for turns in QUARTER_TURNS:
                images.append(light_on_dark(scans[block], turns))
                labels += [
                    label_of[class_name(character, turns)]
                    for character in characters[block]
                ]
        images = np.concatenate(images)
        for key, row in enumerate(np.argsort(labels, kind="stable")):
            name = class_names()[labels[row]]
            yield (
                key,
                {
                    "image": images[row],
                    "label": name,
                    "alphabet": name.split("/")[0],
                },
            )


def _scans(source, split):
    """Scans `(n, size, size, 1)` of a split, and the names of characters."""
    names = source.info.features["label"].names
    split_of = split_of_characters()
    if set(names) != set(split_of):
        differ = sorted(set(names) ^ set(split_of))
        raise ValueError(
            f"{source.info.full_name} has other characters than the lists of "
            f"Snell et al.: {len(differ)} names are in one of them only, such "
            f"as {differ[0]!r}."
        )
    scans, characters = [], []
    for part in ("train", "test"):
        examples = source.as_dataset(
            split=part,
            shuffle_files=False,
            # Reads files one after another, to keep the order of the source.
            read_config=tfds.ReadConfig(
                interleave_cycle_length=1, try_autocache=False
            ),
            decoders=tfds.decode.PartialDecoding({"image", "label"}),
        )
        for example in examples.as_numpy_iterator():
            character = names[example["label"]]
            if split_of[character] == split:
                # The three channels are equal.
                scans.append(example["image"][..., :1])
                characters.append(character)
    return np.stack(scans), characters
