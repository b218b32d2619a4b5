import numpy as np
import pytest
import tensorflow_datasets as tfds

from embeddings_tf.datasets.n_digit import n_digit_dataset_builder
from tests.broken_headers import break_headers
from tests.datasets.example_folder import ExampleFolder
from tests.datasets.n_digit_files import write_files


class NDigitTest(ExampleFolder, tfds.testing.DatasetBuilderTestCase):
    DATASET_CLASS = n_digit_dataset_builder.Builder
    BUILDER_CONFIG_NAMES_TO_TEST = ["2_number"]
    # 3 numbers of 23 instances, a tenth of them for validation.
    SPLITS = {
        "train": 3 * 21,
        "validation": 3 * 2,
        "test_seen": 2 * 4,
        "test_unseen": 2 * 5,
    }
    DL_DOWNLOAD_RESULT = {
        "train_images": "mnist/train-images-idx3-ubyte.gz",
        "train_labels": "mnist/train-labels-idx1-ubyte.gz",
        "test_images": "mnist/t10k-images-idx3-ubyte.gz",
        "test_labels": "mnist/t10k-labels-idx1-ubyte.gz",
        "train": "n_digit_mnist/dataset_mnist_2_number_train.npz",
        "test_seen": "n_digit_mnist/dataset_mnist_2_number_test_seen.npz",
        "test_unseen": "n_digit_mnist/dataset_mnist_2_number_test_unseen.npz",
    }
    write = staticmethod(write_files)


def test_checksums_cover_every_config():
    builder_cls = n_digit_dataset_builder.Builder
    names = {info.filename for info in builder_cls.url_infos.values()}
    assert len(names) == 14
    for config in builder_cls.BUILDER_CONFIGS:
        parts = n_digit_dataset_builder._INDEX_PARTS[config.gap]
        for part in parts:
            file = f"dataset_mnist_{config.num_digits}_{config.gap}_{part}.npz"
            assert f"n_digit_mnist/{file}" in names


@pytest.fixture
def index_file(tmp_path):
    mnist, _ = write_files(tmp_path)
    path = tmp_path / "n_digit_mnist/dataset_mnist_2_number_train.npz"
    return path, dict(np.load(path)), mnist["train"][1]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"image_ids": None}, "not an index array"),
        ({"sample_per_number": 7}, "image_ids of shape"),
        ({"chosen_numbers": np.array([3, 42, 96])}, "does not fit the MNIST"),
        ({"chosen_numbers": np.array([3, 42])}, "image_ids of shape"),
        ({"image_ids": np.full((3, 23, 2), 300)}, "but MNIST has 300 images"),
        ({"image_ids": np.full((3, 23, 2), -1)}, "image_ids from -1"),
        ({"image_ids": np.full((3, 23, 2), None)}, "not an index array"),
    ],
)
def test_index_array_is_checked(index_file, change, message):
    path, arrays, labels = index_file
    arrays.update(change)
    np.savez(path, **{k: v for k, v in arrays.items() if v is not None})
    with pytest.raises(ValueError, match=message) as error:
        n_digit_dataset_builder._read_index(path, 2, labels)
    assert str(path) in str(error.value)


def test_damaged_index_array(index_file):
    path, _, labels = index_file
    whole = path.read_bytes()
    entry = whole.rindex(b"PK\x01\x02")

    def put(place, value):
        path.write_bytes(whole[:place] + bytes([value]) + whole[place + 1 :])

    for damage in (
        lambda: path.write_bytes(whole[:-50]),
        lambda: put(entry + 8, 1),  # encrypted
        lambda: put(entry + 10, 99),  # an unknown method of compression
        lambda: (path.write_bytes(whole), break_headers(path)),
    ):
        damage()
        with pytest.raises(ValueError, match="not an index array") as error:
            n_digit_dataset_builder._read_index(path, 2, labels)
        assert str(path) in str(error.value)
