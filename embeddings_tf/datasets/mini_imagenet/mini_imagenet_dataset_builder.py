"""TFDS builder of mini-ImageNet."""

import pathlib

import numpy as np
import tensorflow as tf
import tensorflow_datasets as tfds

from embeddings_tf.datasets.mini_imagenet import image_lists

_SIZE = 84
_LISTS = {"train": "train.csv", "validation": "val.csv", "test": "test.csv"}
_ARCHIVE = "ILSVRC2012_img_train.tar"


class Builder(tfds.core.GeneratorBasedBuilder):
    """Builder of mini-ImageNet, from its lists and images of ImageNet."""

    VERSION = tfds.core.Version("1.0.0")
    RELEASE_NOTES = {"1.0.0": "First release."}
    MANUAL_DOWNLOAD_INSTRUCTIONS = f"""\
    Put the lists train.csv, val.csv and test.csv of Ravi & Larochelle into the
    subfolder `mini_imagenet` of manual_dir, and either the images that they
    name into its subfolder `images`, or the original archive {_ARCHIVE} into
    the subfolder `imagenet2012` of manual_dir.
    """

    def _info(self):
        return self.dataset_info_from_configs(
            features=tfds.features.FeaturesDict(
                {
                    "image": tfds.features.Image(
                        shape=(_SIZE, _SIZE, 3), encoding_format="png"
                    ),
                    "label": tfds.features.Scalar(np.int32),
                    "wnid": tfds.features.Text(),
                    "file_name": tfds.features.Text(),
                }
            ),
            supervised_keys=("image", "label"),
            homepage="https://openreview.net/forum?id=rJY0-Kcll",
            disable_shuffling=True,
        )

    def _split_generators(self, dl_manager):
        manual_dir = pathlib.Path(dl_manager.manual_dir)
        folder = manual_dir / "mini_imagenet"
        lists = {
            # Sorted by class, and within a class in the order of the list.
            split: sorted(
                image_lists.read_list(folder, name), key=lambda row: row[1]
            )
            for split, name in _LISTS.items()
        }
        label_of = {}
        for split, rows in lists.items():
            wnids = {wnid for _, wnid in rows}
            both = wnids & label_of.keys()
            if both:
                raise ValueError(
                    f"{folder} has the class {min(both)} in {_LISTS[split]} "
                    "and in another list: expected different classes. Are the "
                    "lists from one split?"
                )
            for wnid in sorted(wnids):
                label_of[wnid] = len(label_of)
        archive = manual_dir / "imagenet2012" / _ARCHIVE
        if (folder / "images").is_dir():
            find, place = image_lists.images_of_folder, folder / "images"
        elif archive.exists():
            find, place = image_lists.images_of_archive, archive
        else:
            raise FileNotFoundError(
                f"mini-ImageNet needs {folder / 'images'} or {archive}, and "
                "neither exists. "
                f"{' '.join(self.MANUAL_DOWNLOAD_INSTRUCTIONS.split())}"
            )
        return {
            split: self._generate_examples(find(place, rows), rows, label_of)
            for split, rows in lists.items()
        }

    def _generate_examples(self, images, rows, label_of):
        for key, (name, wnid) in enumerate(rows):
            yield (
                key,
                {
                    "image": _shrink(name, next(images)),
                    "label": label_of[wnid],
                    "wnid": wnid,
                    "file_name": name,
                },
            )


def _shrink(name, content):
    """Returns the whole image, resized to 84 x 84 pixels."""
    try:
        image = tf.io.decode_image(content, channels=3, expand_animations=False)
    except tf.errors.InvalidArgumentError as error:
        raise ValueError(
            f"{name} of mini-ImageNet cannot be read as an image "
            f"({' '.join(str(error).split())}); fetch it again."
        ) from error
    image = tf.image.resize(image, (_SIZE, _SIZE), method="area")
    return np.rint(image.numpy()).astype(np.uint8)
