import h5py
import numpy as np
import pytest
import tensorflow_datasets as tfds
from PIL import Image

from embeddings_tf.datasets import load
from embeddings_tf.datasets.cuhk03 import cuhk03_dataset_builder
from tests.datasets.example_folder import ExampleFolder
from tests.datasets.reid_files import NUM_PERSONS
from tests.datasets.reid_files import write_cuhk03


class Cuhk03Test(ExampleFolder, tfds.testing.DatasetBuilderTestCase):
    DATASET_CLASS = cuhk03_dataset_builder.Builder
    BUILDER_CONFIG_NAMES_TO_TEST = ["labeled"]

    @classmethod
    def write(cls, folder):
        written = write_cuhk03(folder)
        cls.SPLITS = {"train": sum(map(len, written["labeled"].values()))}


@pytest.mark.parametrize("config", ["labeled", "detected"])
def test_images_and_identities(manual, config):
    written = write_cuhk03(manual)[config]
    x, labels = load(f"cuhk03/{config}", "train")
    assert x.dtype == np.uint8 and labels.dtype == np.int32
    expected_labels = [
        pair * 10000 + person
        for (pair, person), images in written.items()
        for _ in images
    ]
    np.testing.assert_array_equal(labels, expected_labels)
    assert len(np.unique(labels)) == sum(NUM_PERSONS)
    assert labels.min() == 10001 and labels.max() == 50002
    images = [image for images in written.values() for image in images]
    assert x.shape == (len(images), 160, 60, 3)
    for image, original in zip(x, images, strict=True):
        # Pillow's bilinear filter also uses antialiasing, with rounded weights.
        expected = Image.fromarray(original).resize(
            (60, 160), Image.Resampling.BILINEAR
        )
        difference = image.astype(int) - np.asarray(expected).astype(int)
        assert np.abs(difference).max() <= 1


def test_default_is_labeled(manual):
    write_cuhk03(manual)
    np.testing.assert_array_equal(
        load("cuhk03", "train")[0], load("cuhk03/labeled", "train")[0]
    )


def test_images_of_the_right_size_stay(manual):
    image = np.random.default_rng(0).integers(
        0, 256, (160, 60, 3), dtype=np.uint8
    )

    def change(mat):
        first_cell = mat[mat["labeled"][0, 0]][0, 0]
        name = mat[first_cell].name
        del mat[name]
        mat[name] = image.T
        cells = mat[mat["labeled"][0, 0]]
        cells[0, 0] = mat[name].ref

    write_cuhk03(manual, change)
    x, _ = load("cuhk03", "train")
    np.testing.assert_array_equal(x[0], image)


def test_missing_file(manual):
    (manual / "cuhk03").mkdir(parents=True)
    with pytest.raises(FileNotFoundError) as error:
        load("cuhk03", "train")
    message = str(error.value)
    assert "EMBEDDINGS_TF_MANUAL" in message and "\n" not in message
    assert "cuhk03/cuhk03_release/cuhk-03.mat" in message


def test_truncated_file(manual):
    write_cuhk03(manual)
    path = manual / "cuhk03/cuhk03_release/cuhk-03.mat"
    content = path.read_bytes()
    for part in (content[:-1000], content[: len(content) // 2], b""):
        path.write_bytes(part)
        with pytest.raises(ValueError, match="or is incomplete") as error:
            load("cuhk03", "train")
        assert str(path) in str(error.value)
    # It works once the file is restored: nothing is left of the attempts.
    path.write_bytes(content)
    load("cuhk03", "train")


def _replace(mat, reference, **arguments):
    """Replaces the array of the first pair's first cell."""
    mat.create_dataset("other", **arguments)
    mat[reference][0, 0] = mat["other"].ref


def _no_variable(mat):
    del mat["labeled"]


def _linked_variable(mat):
    del mat["labeled"]
    mat["labeled"] = h5py.ExternalLink("cuhk-03.mat", "detected")


def _four_pairs(mat):
    pairs = mat["labeled"][:, :4]
    del mat["labeled"]
    mat["labeled"] = pairs


def _numbers(mat):
    del mat["labeled"]
    mat["labeled"] = np.ones((1, 5))


def _transposed_pair(mat):
    _replace(mat, mat["labeled"].ref, data=mat[mat["labeled"][0, 0]][()].T)


def _grey_image(mat):
    _replace(mat, mat["labeled"][0, 0], data=np.ones((60, 160), np.uint8))


def _floats(mat):
    _replace(mat, mat["labeled"][0, 0], data=np.ones((3, 60, 160)))


def _huge_image(mat):
    _replace(
        mat,
        mat["labeled"][0, 0],
        shape=(3, 10**5, 10**5),
        dtype=np.uint8,
        chunks=(1, 1000, 1000),
    )


def _external_image(mat):
    _replace(
        mat,
        mat["labeled"][0, 0],
        shape=(3, 60, 160),
        dtype=np.uint8,
        external=[("elsewhere", 0, 3 * 60 * 160)],
    )


def _no_reference(mat):
    mat[mat["labeled"][0, 0]][0, 0] = h5py.Reference()


def _reference_to_group(mat):
    mat[mat["labeled"][0, 0]][0, 0] = mat["#refs#"].ref


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_no_variable, "no variable labeled"),
        (_linked_variable, "no variable labeled"),
        (_four_pairs, "labeled has 4 cells, expected one for each of 5 pairs"),
        (_numbers, "labeled is not a cell array, but float64"),
        (_transposed_pair, r"labeled\{1\} is a cell array of shape \(10, 3\)"),
        (_grey_image, r"labeled\{1\}\{1, 1\} is uint8 of shape \(160, 60\)"),
        (_floats, r"labeled\{1\}\{1, 1\} is float64 of shape \(160, 60, 3\)"),
        (_huge_image, r"labeled\{1\}\{1, 1\} is not an array of at most"),
        (_external_image, r"labeled\{1\}\{1, 1\} is not an array of at most"),
        (_no_reference, "not the original cuhk-03.mat"),
        (
            _reference_to_group,
            r"labeled\{1\}\{1, 1\} is not an array of at most",
        ),
    ],
)
def test_odd_content(manual, change, message):
    write_cuhk03(manual, change)
    with pytest.raises(ValueError, match=message) as error:
        load("cuhk03/labeled", "train")
    assert str(manual / "cuhk03/cuhk03_release/cuhk-03.mat") in str(error.value)
    assert "\n" not in str(error.value)


def test_no_images(manual):
    def change(mat):
        for pair in mat["labeled"][0]:
            cells = mat[pair]
            empty = mat.create_dataset(cells.name + "e", data=np.zeros(2))
            cells[...] = np.full(cells.shape, empty.ref, h5py.ref_dtype)

    write_cuhk03(manual, change)
    with pytest.raises(ValueError, match="has no labeled images"):
        load("cuhk03", "train")
