import contextlib
import pathlib
import random
import sys
from unittest import mock

import numpy as np
import pytest
import requests
from tensorflow_datasets.core import utils
from tensorflow_datasets.core.download import checksums
from tensorflow_datasets.core.download import downloader

from embeddings_tf.datasets import load
from embeddings_tf.datasets import n_digit_from_scikit_learn
from embeddings_tf.datasets.n_digit import n_digit_dataset_builder
from tests.datasets.n_digit_files import expected_images
from tests.datasets.n_digit_files import write_files


def _checksums_of(folder):
    """The real URLs with the checksums of the fabricated files."""
    url_infos = {}
    for url, info in n_digit_dataset_builder.Builder.url_infos.items():
        if (folder / info.filename).exists():
            found = checksums.compute_url_info(folder / info.filename)
            found.filename = info.filename
            info = found
        url_infos[url] = info
    return url_infos


@pytest.fixture
def no_network(monkeypatch):
    def send(self, request, **kwargs):
        raise requests.ConnectionError("no network", request=request)

    monkeypatch.setattr(requests.adapters.HTTPAdapter, "send", send)
    monkeypatch.delenv("EMBEDDINGS_TF_DATA", raising=False)
    monkeypatch.delenv("EMBEDDINGS_TF_MANUAL", raising=False)


@pytest.fixture
def files(tmp_path, no_network):
    """Folder of original files, and their contents."""
    folder = tmp_path / "manual"
    mnist, index = write_files(folder)
    with mock.patch.object(
        n_digit_dataset_builder.Builder, "url_infos", _checksums_of(folder)
    ):
        yield folder, mnist, index


def _load(files, name, split, tmp_path):
    return load(name, split, data_dir=tmp_path / "data", manual_dir=files[0])


def test_a_seeded_program_does_the_same_before_and_after_preparing(
    files, tmp_path
):
    numbers = []
    for _ in range(2):
        random.seed(0)
        np.random.seed(0)
        _load(files, "n_digit/2_number", "train", tmp_path)
        numbers.append((random.random(), np.random.random()))
    assert numbers[0] == numbers[1]


@pytest.mark.parametrize("gap", ["number", "instance"])
def test_reads_the_real_format(files, tmp_path, gap):
    _, mnist, index = files
    name = f"n_digit/2_{gap}"
    x, labels = _load(files, name, "train", tmp_path)
    assert x.dtype == np.uint8 and labels.dtype == np.int32
    assert x.shape == (3 * 21, 28, 56, 1) and labels.shape == (3 * 21,)
    assert x[np.array([5, 1])].shape == (2, 28, 56, 1)

    # Train and validation together are the standard train split.
    validation_x, validation_labels = _load(files, name, "validation", tmp_path)
    expected_x, expected_labels = expected_images(mnist, index, gap, "train")
    np.testing.assert_array_equal(
        np.concatenate(
            [
                x.reshape(3, 21, 28, 56, 1),
                validation_x.reshape(3, 2, 28, 56, 1),
            ],
            axis=1,
        ),
        expected_x,
    )
    np.testing.assert_array_equal(
        np.concatenate(
            [labels.reshape(3, 21), validation_labels.reshape(3, 2)], axis=1
        ),
        expected_labels,
    )
    parts = ("test_seen", "test_unseen") if gap == "number" else ("test",)
    for part in parts:
        x, labels = _load(files, name, part, tmp_path)
        expected_x, expected_labels = expected_images(mnist, index, gap, part)
        np.testing.assert_array_equal(x, expected_x.reshape(x.shape))
        np.testing.assert_array_equal(labels, expected_labels.ravel())


def test_two_seeded_processes_prepare_in_folders_of_their_own(files, tmp_path):
    """TFDS draws the name of the folder that it writes into."""
    names, original = [], utils.incomplete_dir

    @contextlib.contextmanager
    def incomplete_dir(*args, **kwargs):
        with original(*args, **kwargs) as folder:
            names.append(pathlib.Path(folder).name)
            yield folder

    for number in range(2):
        random.seed(0)
        np.random.seed(0)
        with mock.patch.object(utils, "incomplete_dir", incomplete_dir):
            _load(files, "n_digit/2_number", "train", tmp_path / f"{number}")
    assert len(names) == len({*names}) == 2


def test_reads_prepared_data_without_the_files(files, tmp_path):
    first, _ = _load(files, "n_digit", "train", tmp_path)
    for file in files[0].glob("*/*"):
        file.unlink()
    second, _ = load("n_digit/2_number", "train", tmp_path / "data")
    np.testing.assert_array_equal(first, second)
    some, _ = load("n_digit", "train[:10]+test_seen[:2]", tmp_path / "data")
    np.testing.assert_array_equal(some[:10], first[:10])
    assert len(some) == 12


def test_folders_from_the_environment(files, tmp_path, monkeypatch):
    monkeypatch.setenv("EMBEDDINGS_TF_DATA", str(tmp_path / "environment"))
    monkeypatch.setenv("EMBEDDINGS_TF_MANUAL", str(files[0]))
    load("n_digit/2_number", "test_seen")
    assert (tmp_path / "environment/n_digit/2_number").is_dir()


def test_interrupted_preparation_is_not_read(files, tmp_path):
    # Interrupted in the last split, when the other splits are written.
    real = n_digit_dataset_builder.side_by_side

    def interrupted(images, image_ids):
        if len(image_ids) == 2 * 5:
            raise KeyboardInterrupt
        return real(images, image_ids)

    with mock.patch.object(
        n_digit_dataset_builder, "side_by_side", interrupted
    ):
        with pytest.raises(KeyboardInterrupt):
            _load(files, "n_digit/2_number", "train", tmp_path)
    assert not list((tmp_path / "data").glob("**/*.tfrecord*"))
    x, _ = _load(files, "n_digit/2_number", "train", tmp_path)
    assert len(x) == 63


def test_left_over_of_a_killed_preparation_is_ignored(files, tmp_path):
    folder = tmp_path / "data/n_digit/2_number/incomplete.ABCDEF_1.0.0"
    folder.mkdir(parents=True)
    (folder / "n_digit-train.tfrecord-00000-of-00001").write_bytes(b"half")
    x, _ = _load(files, "n_digit/2_number", "train", tmp_path)
    assert len(x) == 63


def _one_line(error):
    message = str(error.value)
    assert "\n" not in message
    return message


@pytest.mark.parametrize(
    "file",
    [
        "mnist/t10k-labels-idx1-ubyte.gz",
        "n_digit_mnist/dataset_mnist_2_number_train.npz",
    ],
)
def test_missing_file_fails_at_once(files, tmp_path, file):
    (files[0] / file).unlink()
    with pytest.raises(FileNotFoundError) as error:
        _load(files, "n_digit/2_number", "train", tmp_path)
    message = _one_line(error)
    for part in (file, str(files[0]), "EMBEDDINGS_TF_MANUAL", "network"):
        assert part in message
    assert downloader.MAX_RETRIES > 0


def test_no_folder_of_files(no_network, tmp_path):
    with pytest.raises(FileNotFoundError) as error:
        load("n_digit/2_number", "train", data_dir=tmp_path)
    message = _one_line(error)
    assert "neither EMBEDDINGS_TF_MANUAL nor manual_dir is set" in message
    with pytest.raises(FileNotFoundError, match="mnist/3") as error:
        load("mnist", "train", data_dir=tmp_path)
    _one_line(error)


@pytest.mark.parametrize(
    "file",
    [
        "mnist/train-images-idx3-ubyte.gz",
        "n_digit_mnist/dataset_mnist_2_number_test_seen.npz",
    ],
)
def test_truncated_file(files, tmp_path, file):
    path = files[0] / file
    content = path.read_bytes()
    path.write_bytes(content[:-100])
    with pytest.raises(ValueError, match="truncated or altered") as error:
        _load(files, "n_digit/2_number", "train", tmp_path)
    message = _one_line(error)
    for part in (str(path), f"{len(content)} bytes", f"{len(content) - 100} "):
        assert part in message
    # It works once the file is restored.
    path.write_bytes(content)
    _load(files, "n_digit/2_number", "train", tmp_path)


def test_damaged_prepared_data(files, tmp_path):
    _load(files, "n_digit/2_number", "train", tmp_path)
    (path,) = (tmp_path / "data").glob("**/n_digit-train.tfrecord*")
    path.write_bytes(path.read_bytes()[:-1000])
    with pytest.raises(OSError, match="is damaged; delete that folder"):
        _load(files, "n_digit/2_number", "train", tmp_path)


def test_data_dir_that_cannot_be_written(files, tmp_path):
    (tmp_path / "data").write_text("a file where a folder should be")
    with pytest.raises(OSError, match="EMBEDDINGS_TF_DATA") as error:
        _load(files, "n_digit/2_number", "train", tmp_path)
    _one_line(error)


@pytest.mark.parametrize(
    ("name", "split", "message"),
    [
        ("n_digits/2_number", "train", "Unknown data set 'n_digits'.*n_digit"),
        ("mnst", "train", "did you mean mnist"),
        ("n_digit/4_number", "train", "2_instance.*digits_3_number"),
        ("mnist/large", "train", "no config at all"),
        ("n_digit/digits_2_number", "test", "train, validation, test_seen"),
        ("n_digit/2_number", "test", "train, validation, test_seen"),
        ("n_digit/2_number", "train[:x", "train, validation, test_seen"),
    ],
)
def test_unknown_names(files, tmp_path, name, split, message):
    with pytest.raises(ValueError, match=message) as error:
        _load(files, name, split, tmp_path)
    _one_line(error)


@pytest.mark.parametrize(
    ("path", "remedy"),
    [
        ("photos/", "write image_folder:photos for images, or audio_folder"),
        ("table.csv", "write csv:table.csv"),
        ("mine.npz", "write arrays:mine.npz"),
        ("data.py", "write data.py:FUNCTION"),
        ("table.parquet", "data of your own are image_folder:PATH, .*csv:FILE"),
    ],
)
def test_a_path_instead_of_a_name(monkeypatch, tmp_path, path, remedy):
    monkeypatch.chdir(tmp_path)
    pathlib.Path("photos").mkdir()
    if not path.endswith("/"):
        pathlib.Path(path).touch()
    with pytest.raises(ValueError, match=f"is a path, .*{remedy}") as error:
        load(path.rstrip("/"), "train", tmp_path)
    _one_line(error)


@pytest.mark.parametrize("label", [["class"], 3, np.array(["class"])])
def test_a_label_that_is_no_name(label, tmp_path):
    path = tmp_path / "data.npz"
    np.savez(path, x=np.eye(4), labels=list("aabb"))
    for name in (f"arrays:{path}", "n_digit/digits_3_number"):
        with pytest.raises(ValueError, match="label must be the name of a fea"):
            load(name, "all", label=label)


def test_sets_in_memory_need_nothing(no_network, tmp_path):
    x, labels = load("n_digit/digits_3_number", "test_unseen", tmp_path)
    expected_x, expected_labels = n_digit_from_scikit_learn(
        3, "number", "test_unseen"
    )
    np.testing.assert_array_equal(x, expected_x)
    np.testing.assert_array_equal(labels, expected_labels)
    names = load("n_digit/digits_3_number", "test_unseen", label="class")[1]
    assert names.tolist() == [str(number) for number in expected_labels]
    with pytest.raises(ValueError, match="has splits of its own; divide and"):
        load("n_digit/digits_3_number", "train", divide="examples")
    assert not list(tmp_path.iterdir())


def test_sets_of_tensorflow_datasets(files, tmp_path):
    # Their own checksums still apply.
    with pytest.raises(ValueError, match="truncated or altered"):
        _load(files, "mnist", "train", tmp_path)


def test_the_module_load_can_still_be_imported():
    # The function `load` hides the module of the same name in the package.
    assert sys.modules["embeddings_tf.datasets.load"].load is load
