import errno
import pathlib
import re
import zipfile

import numpy as np
import pytest
import tensorflow as tf
import tensorflow_datasets as tfds

from embeddings_tf.datasets import load
from embeddings_tf.datasets.market1501 import market1501_dataset_builder
from tests.datasets.example_folder import ExampleFolder
from tests.datasets.reid_files import MARKET1501
from tests.datasets.reid_files import jpeg
from tests.datasets.reid_files import write_market1501

README = pathlib.Path(market1501_dataset_builder.__file__).with_name(
    "README.md"
)


class Market1501Test(ExampleFolder, tfds.testing.DatasetBuilderTestCase):
    DATASET_CLASS = market1501_dataset_builder.Builder
    SPLITS = {"train": 3, "test": 4, "distractors": 3, "query": 3}
    write = staticmethod(write_market1501)


def expected(content, parts, wanted):
    """Decoded images and labels of some folders, in order of their names."""
    names = sorted(
        name
        for name in content
        if name.split("/")[0] in parts and wanted(label(name)[0])
    )
    images = [tf.io.decode_jpeg(content[name]).numpy() for name in names]
    return np.array(images), np.array([label(name) for name in names])


def label(name):
    """Identity and camera of `folder/0002_c1s1_000451_03.jpg`."""
    name = name.split("/")[1]
    return int(name.split("_")[0]), int(name.split("_c")[1][0])


@pytest.mark.parametrize(
    ("split", "part", "wanted"),
    [
        ("train", "bounding_box_train", lambda i: True),
        ("test", "bounding_box_test", lambda i: i > 0),
        ("distractors", "bounding_box_test", lambda i: i <= 0),
        ("query", "query", lambda i: True),
    ],
)
def test_splits(manual, split, part, wanted):
    content = write_market1501(manual)
    expected_x, expected_labels = expected(content, [part], wanted)
    x, labels = load("market1501/identity_and_camera", split)
    assert labels.dtype == np.int32 and x.dtype == np.uint8
    np.testing.assert_array_equal(x, expected_x)
    np.testing.assert_array_equal(labels, expected_labels)
    x, labels = load("market1501", split)
    np.testing.assert_array_equal(x, expected_x)
    np.testing.assert_array_equal(labels, expected_labels[:, 0])


def test_pool_of_all_identities(manual):
    content = write_market1501(manual)
    expected_x, expected_labels = expected(
        content, ["bounding_box_train", "bounding_box_test"], lambda i: i > 0
    )
    x, labels = load("market1501", "train+test")
    assert sorted(labels) == [1, 1, 2, 2, 3, 7, 1501]
    for image, identity in zip(x, labels, strict=True):
        same = (expected_x == image).all(axis=(1, 2, 3))
        assert expected_labels[same, 0] == identity


class Model:
    """Embeds an image as its mean colour."""

    def predict(self, x):
        return x.mean(axis=(1, 2))


def test_protocol_of_the_readme(manual):
    content = write_market1501(manual)
    (block,) = re.findall(r"```python\n(.*?)```", README.read_text(), re.S)
    namespace = {"model": Model()}
    exec(compile(block, str(README), "exec"), namespace)

    # Loops over queries and gallery images.
    gallery_x, gallery = expected(
        content, ["bounding_box_test"], lambda i: True
    )
    gallery_x = Model().predict(gallery_x)
    hits = {1: [], 5: [], 10: []}
    precisions = []
    query_x, query = expected(content, ["query"], lambda i: True)
    for x, (identity, camera) in zip(
        Model().predict(query_x), query, strict=True
    ):
        ranked = [
            other == identity
            for _, other, other_camera in sorted(
                (np.linalg.norm(x - other_x), *other)
                for other_x, other in zip(gallery_x, gallery, strict=True)
            )
            if other != -1
            and not (other == identity and other_camera == camera)
        ]
        # Junk and images of the person in the query's camera are removed.
        assert len(ranked) == 5 - (identity == 1)
        for k in hits:
            hits[k].append(any(ranked[:k]))
        # The area under precision over recall by the trapezoidal rule.
        area = []
        for found, rank in enumerate(np.flatnonzero(ranked) + 1, start=1):
            before = (found - 1) / (rank - 1) if rank > 1 else 1
            area.append((before + found / rank) / 2)
        precisions.append(np.mean(area))
    assert namespace["recall"] == {
        k: pytest.approx(np.mean(values)) for k, values in hits.items()
    }
    assert namespace["precision"] == pytest.approx(np.mean(precisions))


def test_missing_archive(manual):
    manual.mkdir()
    for _ in range(2):  # without a folder, then with another file in it
        with pytest.raises(FileNotFoundError) as error:
            load("market1501", "train")
        message = str(error.value)
        assert "EMBEDDINGS_TF_MANUAL" in message and "\n" not in message
        assert "Market-1501-v15.09.15.zip" in message
        (manual / "something").touch()


@pytest.mark.parametrize(
    ("altered", "message"),
    [
        (
            {"query/person_2.jpg": b""},
            r"query/person_2\.jpg, whose name gives no identity",
        ),
        (
            {"bounding_box_test/0001_c7s1_000451_03.jpg": b""},
            r"0001_c7s1_000451_03\.jpg, whose name gives no identity",
        ),
        (
            {"query/-1_c1s1_000451_03.jpg": b""},
            r"query/-1_c1s1_000451_03\.jpg, which shows no person",
        ),
        (
            {"query/0001_c1s1_000000_01.jpg": b"no image"},
            r"query/0001_c1s1_000000_01\.jpg that cannot be read",
        ),
        (
            {
                "query/0001_c1s1_000000_01.jpg": jpeg(
                    np.random.default_rng(0), (64, 128, 3)
                )
            },
            r"000000_01\.jpg of shape \(64, 128, 3\), expected \(128, 64, 3\)",
        ),
        (
            {
                "query/0001_c1s1_000000_01.jpg": jpeg(
                    np.random.default_rng(0), (128, 64)
                )
            },
            r"of shape \(128, 64, 1\)",
        ),
        (
            {
                "query/0001_c1s1_000000_01.jpg": jpeg(np.random.default_rng(0))[
                    :-200
                ]
            },
            r"query/0001_c1s1_000000_01\.jpg that cannot be read",
        ),
        (
            {"query/0001_c1s1_000000_01.jpg": bytes(2**20 + 1)},
            "of 1048577 bytes, expected at most 1048576",
        ),
        (
            {
                f"query/{identity}_c{camera}s1_{frame:06}_01.jpg": None
                for frame, (identity, camera) in enumerate(MARKET1501["query"])
            },
            "no images for the split query",
        ),
    ],
)
def test_odd_content(manual, altered, message):
    write_market1501(manual, altered)
    with pytest.raises(ValueError, match=message) as error:
        load("market1501", "train")
    assert "Market-1501-v15.09.15.zip" in str(error.value)
    assert "\n" not in str(error.value)
    # It works once the file is restored: nothing is left of the attempt.
    write_market1501(manual)
    assert len(load("market1501", "train")[0]) == 3


def test_truncated_or_altered_archive(manual):
    write_market1501(manual)
    path = manual / "market1501/Market-1501-v15.09.15.zip"
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(ValueError, match="not a complete zip archive"):
        load("market1501", "train")
    # One byte of an image.
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("other", b"")
    with pytest.raises(ValueError, match="no images for the split train"):
        load("market1501", "train")
    place = content.index(b"bounding_box_train/0002_c1") + 2000
    path.write_bytes(
        content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]
    )
    with pytest.raises(ValueError, match=r"0002_c1\S+ that cannot be read"):
        load("market1501", "train")


@pytest.mark.parametrize("method", ["namelist", "read"])
def test_a_fault_of_the_machine_is_no_damage(manual, monkeypatch, method):
    write_market1501(manual)
    for fault in (OSError(errno.EIO, "Input/output error"), MemoryError()):

        def fail(*args, error=fault):
            raise error

        monkeypatch.setattr(zipfile.ZipFile, method, fail)
        with pytest.raises(type(fault)):
            load("market1501", "train")
