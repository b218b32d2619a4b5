"""TFDS builder of small NORB with three factors."""

import numpy as np
import tensorflow_datasets as tfds

from embeddings_tf.datasets.small_norb import FACTORS

_NUM_INSTANCES = 10  # per category
_LOW_ELEVATIONS = 5  # of 9 elevations
_FRONT_AZIMUTHS = 9  # of 18 azimuths, 20 degrees apart


class Builder(tfds.core.GeneratorBasedBuilder):
    """Builder of small NORB, both cameras; toy, elevation and azimuth."""

    VERSION = tfds.core.Version("1.0.0")
    RELEASE_NOTES = {"1.0.0": "First release."}
    SOURCE = "smallnorb"
    # Optional instructions; with them, TFDS accepts manual_dir.
    MANUAL_DOWNLOAD_INSTRUCTIONS = """\
    With a network, nothing has to be done by hand. Without a network, put the
    six original files `smallnorb-5x*.mat.gz` into the subfolder `smallnorb` of
    manual_dir.
    """

    def _info(self):
        return self.dataset_info_from_configs(
            features=tfds.features.FeaturesDict(
                {
                    # Packed photographs read slower and save little space.
                    "image": tfds.features.Tensor(
                        shape=(96, 96, 1), dtype=np.uint8, encoding="bytes"
                    ),
                    "factors": tfds.features.Tensor(
                        shape=(len(FACTORS),), dtype=np.int32
                    ),
                    "camera": tfds.features.ClassLabel(names=["left", "right"]),
                    "elevation": tfds.features.ClassLabel(num_classes=9),
                    "azimuth": tfds.features.ClassLabel(num_classes=18),
                    "lighting": tfds.features.ClassLabel(num_classes=6),
                }
            ),
            supervised_keys=("image", "factors"),
            homepage="https://cs.nyu.edu/~ylclab/data/norb-v1.0-small/",
            disable_shuffling=True,
        )

    def _split_generators(self, dl_manager):
        del dl_manager  # The source is already prepared.
        source = tfds.builder(self.SOURCE, data_dir=self.data_dir_root)
        return {
            split: self._generate_examples(source, split)
            for split in ("train", "test")
        }

    def _generate_examples(self, source, split):
        pairs = source.as_dataset(
            split=split,
            shuffle_files=False,
            # Files are read one by one, to keep the order of the source.
            read_config=tfds.ReadConfig(
                interleave_cycle_length=1, try_autocache=False
            ),
        )
        for position, pair in enumerate(pairs.as_numpy_iterator()):
            toy = pair["label_category"] * _NUM_INSTANCES + pair["instance"]
            elevation, azimuth = pair["label_elevation"], pair["label_azimuth"]
            factors = np.array(
                [
                    toy,
                    elevation >= _LOW_ELEVATIONS,
                    azimuth >= _FRONT_AZIMUTHS,
                ],
                np.int32,
            )
            for camera, key in enumerate(("image", "image2")):
                yield (
                    2 * position + camera,
                    {
                        "image": pair[key],
                        "factors": factors,
                        "camera": camera,
                        "elevation": int(elevation),
                        "azimuth": int(azimuth),
                        "lighting": int(pair["label_lighting"]),
                    },
                )
