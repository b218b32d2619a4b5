"""TFDS builder of the standard n-digit MNIST sets."""

import dataclasses

import numpy as np
import tensorflow_datasets as tfds

from embeddings_tf.datasets.n_digit.composition import digits_of
from embeddings_tf.datasets.n_digit.composition import side_by_side
from embeddings_tf.datasets.n_digit.idx import read_idx
from embeddings_tf.ops.read_npz import read_npz

_MNIST_URL = "https://storage.googleapis.com/cvdf-datasets/mnist/"
_MNIST_FILES = {
    "train_images": "train-images-idx3-ubyte.gz",
    "train_labels": "train-labels-idx1-ubyte.gz",
    "test_images": "t10k-images-idx3-ubyte.gz",
    "test_labels": "t10k-labels-idx1-ubyte.gz",
}
_INDEX_URL = (
    "https://raw.githubusercontent.com/google/n-digit-mnist/"
    "830a36d6614482595145bfb6f6c8ef688d2b418c/standard_datasets/"
)
_INDEX_PARTS = {
    "number": ("train", "test_seen", "test_unseen"),
    "instance": ("train", "test"),
}
_DIGIT_SIZE = 28
_VALIDATION_DIVISOR = 10  # a tenth
_IMAGES_PER_BLOCK = 1000


@dataclasses.dataclass(eq=False, kw_only=True)
class NDigitConfig(tfds.core.BuilderConfig):
    """A standard n-digit set: digits per number, and the gap to the test.

    Args:
        num_digits: Digits per number, 2 or 3.
        gap: `"number"` if some classes occur only in the test, `"instance"` if
            train and test have the same classes.
    """

    num_digits: int
    gap: str


def _config(num_digits, gap):
    return NDigitConfig(
        name=f"{num_digits}_{gap}",
        description=f"{num_digits} digits, {gap} gap.",
        num_digits=num_digits,
        gap=gap,
    )


class Builder(tfds.core.GeneratorBasedBuilder):
    """Builder of the standard n-digit MNIST sets, in their standard order."""

    VERSION = tfds.core.Version("1.0.0")
    RELEASE_NOTES = {"1.0.0": "First release."}
    BUILDER_CONFIGS = [
        _config(2, "number"),
        _config(2, "instance"),
        _config(3, "number"),
        _config(3, "instance"),
    ]
    # Optional instructions; with them, TFDS accepts manual_dir.
    MANUAL_DOWNLOAD_INSTRUCTIONS = """\
    With a network, nothing has to be done by hand. Without a network, put the
    four original MNIST files into the subfolder `mnist` of manual_dir, and the
    index arrays of google/n-digit-mnist (`standard_datasets/*.npz`) into its
    subfolder `n_digit_mnist`.
    """

    def _info(self):
        num_digits = self.builder_config.num_digits
        return self.dataset_info_from_configs(
            features=tfds.features.FeaturesDict(
                {
                    "image": tfds.features.Image(
                        shape=(_DIGIT_SIZE, _DIGIT_SIZE * num_digits, 1),
                        encoding_format="png",
                    ),
                    "label": tfds.features.ClassLabel(
                        num_classes=10**num_digits
                    ),
                }
            ),
            supervised_keys=("image", "label"),
            homepage="https://github.com/google/n-digit-mnist",
            disable_shuffling=True,
        )

    def _split_generators(self, dl_manager):
        config = self.builder_config
        urls = {key: _MNIST_URL + name for key, name in _MNIST_FILES.items()}
        for part in _INDEX_PARTS[config.gap]:
            name = f"dataset_mnist_{config.num_digits}_{config.gap}_{part}.npz"
            urls[part] = _INDEX_URL + name
        paths = dl_manager.download(urls)

        mnist = {
            half: _read_mnist(paths[f"{half}_images"], paths[f"{half}_labels"])
            for half in ("train", "test")
        }
        splits = {}
        for part in _INDEX_PARTS[config.gap]:
            images, labels = mnist["train" if part == "train" else "test"]
            numbers, image_ids = _read_index(
                paths[part], config.num_digits, labels
            )
            if part == "train":
                per_number = image_ids.shape[1]
                num_train = per_number - per_number // _VALIDATION_DIVISOR
                splits["train"] = self._generate_examples(
                    images, numbers, image_ids[:, :num_train]
                )
                splits["validation"] = self._generate_examples(
                    images, numbers, image_ids[:, num_train:]
                )
            else:
                splits[part] = self._generate_examples(
                    images, numbers, image_ids
                )
        return splits

    def _generate_examples(self, digit_images, numbers, image_ids):
        _, per_number, num_digits = image_ids.shape
        image_ids = image_ids.reshape(-1, num_digits)
        labels = np.repeat(numbers, per_number)
        for first in range(0, len(labels), _IMAGES_PER_BLOCK):
            block = slice(first, first + _IMAGES_PER_BLOCK)
            images = side_by_side(digit_images, image_ids[block])
            for offset, image in enumerate(images):
                key = first + offset
                yield key, {"image": image, "label": int(labels[key])}


def _read_mnist(images_path, labels_path):
    images = read_idx(images_path, ndim=3)
    labels = read_idx(labels_path, ndim=1)
    if images.shape[1:] != (_DIGIT_SIZE, _DIGIT_SIZE):
        raise ValueError(
            f"{images_path} must have images of {_DIGIT_SIZE} x {_DIGIT_SIZE} "
            f"pixels; received shape {images.shape}."
        )
    if len(images) != len(labels):
        raise ValueError(
            f"{images_path} has {len(images)} images, but {labels_path} has "
            f"{len(labels)} labels."
        )
    return images, labels


def _read_index(path, num_digits, mnist_labels):
    """Reads an index array and checks that it points at the right digits.

    Returns:
        Numbers of shape `(classes,)` and indices into the MNIST images of shape
        `(classes, instances, num_digits)`.
    """
    try:
        with path.open("rb") as file:
            arrays = read_npz(file)
        numbers, image_ids = arrays["chosen_numbers"], arrays["image_ids"]
        per_number = int(arrays["sample_per_number"])
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(
            f"{path} is not an index array of google/n-digit-mnist "
            f"({error}); fetch it again."
        ) from error
    expected_shape = (len(numbers), per_number, num_digits)
    if image_ids.shape != expected_shape:
        raise ValueError(
            f"{path} has image_ids of shape {image_ids.shape}, expected "
            f"{expected_shape}."
        )
    if image_ids.min() < 0 or image_ids.max() >= len(mnist_labels):
        raise ValueError(
            f"{path} has image_ids from {image_ids.min()} to "
            f"{image_ids.max()}, but MNIST has {len(mnist_labels)} images."
        )
    digits = digits_of(numbers, num_digits)
    if (mnist_labels[image_ids] != digits[:, np.newaxis, :]).any():
        raise ValueError(
            f"{path} does not fit the MNIST labels: its image_ids point at "
            "digits that its numbers do not have. Are the MNIST files the "
            "original ones, in their original order?"
        )
    return numbers, image_ids
