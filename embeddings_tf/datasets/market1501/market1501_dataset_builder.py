"""TFDS builder of Market-1501."""

import dataclasses
import io
import pathlib
import re
import zipfile

import numpy as np
import tensorflow as tf
import tensorflow_datasets as tfds

from embeddings_tf.ops.reason_of_damage import reason_of_damage

_ARCHIVE = "Market-1501-v15.09.15.zip"
_FOLDER = "Market-1501-v15.09.15"
# Identity, camera, sequence, frame and box: 0002_c1s1_000451_03.jpg
_NAME = re.compile(r"(-1|\d{4})_c([1-6])s\d+_\d+_\d+\.jpg")
_IMAGE_SHAPE = (128, 64, 3)
# Far larger than any image; a damaged file may announce any size.
_MAX_IMAGE_BYTES = 2**20


@dataclasses.dataclass(eq=False, kw_only=True)
class Market1501Config(tfds.core.BuilderConfig):
    """The label of Market-1501.

    Args:
        label_camera: Whether the label is the identity and the camera, or the
            identity alone.
    """

    label_camera: bool


class Builder(tfds.core.GeneratorBasedBuilder):
    """Builder of Market-1501, from its original archive.

    The README says which splits form the folds over all identities. It also
    shows how to evaluate by the protocol of the data set: query, gallery, and
    the images that a query ignores.
    """

    VERSION = tfds.core.Version("1.0.0")
    RELEASE_NOTES = {"1.0.0": "First release."}
    BUILDER_CONFIGS = [
        Market1501Config(
            name="identity",
            description="The label is the identity.",
            label_camera=False,
        ),
        Market1501Config(
            name="identity_and_camera",
            description="The label is the identity and the camera.",
            label_camera=True,
        ),
    ]
    MANUAL_DOWNLOAD_INSTRUCTIONS = f"""\
    Get the original archive {_ARCHIVE} from the authors of Market-1501 and put
    it, as it is, into the subfolder `market1501` of manual_dir.
    """

    def _info(self):
        label_shape = (2,) if self.builder_config.label_camera else ()
        return self.dataset_info_from_configs(
            features=tfds.features.FeaturesDict(
                {
                    "image": tfds.features.Image(
                        shape=_IMAGE_SHAPE, encoding_format="jpeg"
                    ),
                    "label": tfds.features.Tensor(
                        shape=label_shape, dtype=np.int32
                    ),
                    "camera": tfds.features.Scalar(np.int32),
                }
            ),
            supervised_keys=("image", "label"),
            homepage="http://www.liangzheng.org/Project/project_reid.html",
            disable_shuffling=True,
        )

    def _split_generators(self, dl_manager):
        path = dl_manager.manual_dir / "market1501" / _ARCHIVE
        if not path.exists():
            raise FileNotFoundError(
                f"{path} does not exist; set EMBEDDINGS_TF_MANUAL or "
                "manual_dir to the folder whose subfolder contains it. "
                f"{' '.join(self.MANUAL_DOWNLOAD_INSTRUCTIONS.split())}"
            )
        return {
            split: self._generate_examples(path, members)
            for split, members in _find_images(path).items()
        }

    def _generate_examples(self, path, members):
        with path.open("rb") as file, zipfile.ZipFile(file) as archive:
            for key, (member, identity, camera) in enumerate(members):
                label = identity
                if self.builder_config.label_camera:
                    label = np.array([identity, camera], np.int32)
                yield (
                    key,
                    {
                        "image": io.BytesIO(_read_image(path, archive, member)),
                        "label": label,
                        "camera": camera,
                    },
                )


def _find_images(path):
    """Returns member, identity and camera of every image of every split."""
    with path.open("rb") as file:
        try:
            with zipfile.ZipFile(file) as archive:
                members = sorted(set(archive.namelist()))
        except Exception as error:  # zipfile raises errors of many types
            raise ValueError(
                f"{path} is not a complete zip archive "
                f"({reason_of_damage(error)}); fetch it again."
            ) from error
    splits = {"train": [], "test": [], "distractors": [], "query": []}
    split_of_folder = {
        f"{_FOLDER}/bounding_box_train": "train",
        f"{_FOLDER}/bounding_box_test": "test",
        f"{_FOLDER}/query": "query",
    }
    for member in members:
        parent, _, name = member.rpartition("/")
        split = split_of_folder.get(parent)
        # The original folders also contain files of Windows.
        if split is None or pathlib.PurePosixPath(name).suffix != ".jpg":
            continue
        match = _NAME.fullmatch(name)
        if match is None:
            raise ValueError(
                f"{path} contains {member}, whose name gives no identity and "
                "camera: expected a name like 0002_c1s1_000451_03.jpg. "
                "Is it the original archive?"
            )
        identity, camera = map(int, match.groups())
        if identity <= 0 and split == "test":
            split = "distractors"
        elif identity <= 0:
            raise ValueError(
                f"{path} contains {member}, which shows no person: expected "
                "identities 0 and -1 in bounding_box_test only. Is it the "
                "original archive?"
            )
        splits[split].append((member, identity, camera))
    for split, images in splits.items():
        if not images:
            raise ValueError(
                f"{path} has no images for the split {split}: expected the "
                f"folders {', '.join(split_of_folder)} with images of persons, "
                "and of distractors in bounding_box_test. Is it the original "
                "archive?"
            )
    return splits


def _read_image(path, archive, member):
    """Returns the bytes of a JPEG file after checking its size."""
    size = archive.getinfo(member).file_size
    if size > _MAX_IMAGE_BYTES:
        raise ValueError(
            f"{path} has an image {member} of {size} bytes, expected at most "
            f"{_MAX_IMAGE_BYTES}. Is it the original archive?"
        )
    try:
        content = archive.read(member)
        shape = tuple(tf.io.decode_jpeg(content).shape)
    except Exception as error:  # zipfile raises errors of many types
        raise ValueError(
            f"{path} has an image {member} that cannot be read "
            f"({reason_of_damage(error)}); fetch it again."
        ) from error
    if shape != _IMAGE_SHAPE:
        raise ValueError(
            f"{path} has an image {member} of shape {shape}, expected "
            f"{_IMAGE_SHAPE}. Is it the original archive?"
        )
    return content
