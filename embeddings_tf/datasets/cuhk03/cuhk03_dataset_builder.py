"""TFDS builder of CUHK03."""

import h5py
import numpy as np
import tensorflow as tf
import tensorflow_datasets as tfds

_FILE = "cuhk03_release/cuhk-03.mat"
_NUM_PAIRS = 5
_IMAGES_PER_PERSON = 10
_IDENTITIES_PER_PAIR = 10_000
_IMAGE_SHAPE = (160, 60, 3)
# Far larger than any image; a damaged file may announce any size.
_MAX_SIZE = 2**22
# Errors of h5py for damaged files and for other formats.
_READ_ERRORS = (KeyError, OSError, RuntimeError, TypeError, ValueError)


class Builder(tfds.core.GeneratorBasedBuilder):
    """Builder of CUHK03, from its original file `cuhk-03.mat`."""

    VERSION = tfds.core.Version("1.0.0")
    RELEASE_NOTES = {"1.0.0": "First release."}
    BUILDER_CONFIGS = [
        tfds.core.BuilderConfig(
            name="labeled", description="Boxes drawn by hand."
        ),
        tfds.core.BuilderConfig(
            name="detected", description="Boxes of a pedestrian detector."
        ),
    ]
    MANUAL_DOWNLOAD_INSTRUCTIONS = f"""\
    Get the original archive cuhk03_release.zip from the authors of CUHK03 and
    unpack it in the subfolder `cuhk03` of manual_dir, so that manual_dir
    contains `cuhk03/{_FILE}`.
    """

    def _info(self):
        return self.dataset_info_from_configs(
            features=tfds.features.FeaturesDict(
                {
                    "image": tfds.features.Image(
                        shape=_IMAGE_SHAPE, encoding_format="png"
                    ),
                    "label": tfds.features.Scalar(np.int32),
                }
            ),
            supervised_keys=("image", "label"),
            homepage="http://www.ee.cuhk.edu.hk/~xgwang/CUHK_identification.html",
            disable_shuffling=True,
        )

    def _split_generators(self, dl_manager):
        path = dl_manager.manual_dir / "cuhk03" / _FILE
        if not path.exists():
            raise FileNotFoundError(
                f"{path} does not exist; set EMBEDDINGS_TF_MANUAL or "
                "manual_dir to the folder whose subfolder contains it. "
                f"{' '.join(self.MANUAL_DOWNLOAD_INSTRUCTIONS.split())}"
            )
        return {"train": self._generate_examples(path)}

    def _generate_examples(self, path):
        images = _read_images(path, self.builder_config.name)
        key = -1
        for key, (identity, image) in enumerate(images):
            yield key, {"image": _resize(image), "label": identity}
        if key < 0:
            raise ValueError(
                f"{path} has no {self.builder_config.name} images; fetch it "
                "again."
            )


def _resize(image):
    resized = tf.image.resize(
        image, _IMAGE_SHAPE[:2], method="bilinear", antialias=True
    )
    return tf.saturate_cast(tf.round(resized), tf.uint8).numpy()


def _read_images(path, variable):
    """Yields identity and image, `(height, width, 3)`, in file order."""
    try:
        with path.open("rb") as file, h5py.File(file, "r") as mat:
            yield from _walk(mat, variable)
    except _READ_ERRORS as error:
        raise ValueError(
            f"{path} is not the original cuhk-03.mat, or is incomplete "
            f"({' '.join(str(error).split())}); fetch it again."
        ) from error


def _walk(mat, variable):
    """Follows the references from a variable to the images.

    The file is MATLAB 7.3, that is HDF5: axes are in reverse order, and a cell
    array contains references. The variable is a cell array with one entry per
    pair of cameras. Each entry is a cell array of persons times images.
    """
    # A soft or external link could lead to another file.
    if not isinstance(mat.get(variable, getlink=True), h5py.HardLink):
        raise ValueError(f"it has no variable {variable}")
    pairs = _cells(mat[variable], variable)
    if pairs.size != _NUM_PAIRS:
        raise ValueError(
            f"{variable} has {pairs.size} cells, expected one for each of "
            f"{_NUM_PAIRS} pairs of cameras"
        )
    for pair, pair_reference in enumerate(pairs.ravel(), start=1):
        name = f"{variable}{{{pair}}}"
        persons = _cells(mat[pair_reference], name).T
        if (
            persons.ndim != 2
            or persons.shape[1] != _IMAGES_PER_PERSON
            or len(persons) >= _IDENTITIES_PER_PAIR
        ):
            raise ValueError(
                f"{name} is a cell array of shape {persons.shape}, expected "
                f"(persons, {_IMAGES_PER_PERSON})"
            )
        for person, references in enumerate(persons, start=1):
            for number, reference in enumerate(references, start=1):
                image = _image(mat[reference], f"{name}{{{person}, {number}}}")
                if image is not None:
                    yield _IDENTITIES_PER_PAIR * pair + person, image


def _cells(dataset, name):
    _check_is_in_file(dataset, name)
    if h5py.check_ref_dtype(dataset.dtype) is not h5py.Reference:
        raise ValueError(f"{name} is not a cell array, but {dataset.dtype}")
    return dataset[()]


def _image(dataset, name):
    _check_is_in_file(dataset, name)
    if dataset.ndim == 1:
        # MATLAB stores an empty array as the vector of its dimensions.
        return None
    if (
        dataset.dtype != np.uint8
        or dataset.ndim != 3
        or dataset.shape[0] != _IMAGE_SHAPE[-1]
        or not dataset.size
    ):
        raise ValueError(
            f"{name} is {dataset.dtype} of shape {dataset.shape[::-1]}, "
            "expected an image, uint8 of shape (height, width, 3)"
        )
    return dataset[()].T


def _check_is_in_file(dataset, name):
    if (
        not isinstance(dataset, h5py.Dataset)
        or dataset.is_virtual
        or dataset.external
        or dataset.size > _MAX_SIZE
    ):
        raise ValueError(
            f"{name} is not an array of at most {_MAX_SIZE} elements"
        )
