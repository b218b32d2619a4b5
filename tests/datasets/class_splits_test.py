"""Data sets of TFDS and their splits by class, with unchanged builders."""

import sys
import types

import numpy as np
import pytest
import tensorflow as tf

from embeddings_tf.datasets import Images
from embeddings_tf.datasets import batches
from embeddings_tf.datasets import load
from embeddings_tf.datasets.class_splits import CLASS_SPLITS
from tests.datasets import caltech_birds2011_files
from tests.datasets import photograph_files as files


def test_lists_of_cifar_fs():
    classes = CLASS_SPLITS["cifar100/cifar_fs"].classes
    assert [len(names) for names in classes.values()] == [64, 16, 20]
    assert len({name for names in classes.values() for name in names}) == 100
    # The first entry of each published list.
    first = [classes[split][0] for split in ("train", "validation", "test")]
    assert first == ["dolphin", "beaver", "whale"]


@pytest.mark.slow
def test_cifar_fs(manual, monkeypatch):
    names, written = files.write_cifar100(manual / "cifar100")
    files.accept_files(monkeypatch, "cifar100", manual / "cifar100")
    seen = 0
    for split, wanted in CLASS_SPLITS["cifar100/cifar_fs"].classes.items():
        x, labels = load("cifar100/cifar_fs", split)
        assert x.dtype == np.uint8 and labels.dtype == np.int32
        assert {names[label] for label in labels} == set(wanted)
        assert len(labels) == len(wanted) * sum(files.CIFAR.values())
        # Each image with its label, from both original parts.
        everything = {
            image.tobytes(): label
            for images, numbers in written.values()
            for image, label in zip(images, numbers, strict=True)
        }
        for image, label in zip(x, labels, strict=True):
            assert everything[image.tobytes()] == label
        seen += len({image.tobytes() for image in x})
    assert seen == 100 * sum(files.CIFAR.values())
    _, coarse = load("cifar100/cifar_fs", "test", label="coarse_label")
    np.testing.assert_array_equal(
        coarse, load("cifar100/cifar_fs", "test")[1] // 5
    )
    numbers = load("cifar100/cifar_fs", "test")[1]
    own_names = load("cifar100/cifar_fs", "test", label="class")[1]
    assert own_names.tolist() == [names[number] for number in numbers]
    # The data set's own split still works.
    assert len(load("cifar100", "test")[1]) == 100 * files.CIFAR["test"]
    for name, split in (("cifar_fs", "val"), ("few_shot", "train")):
        message = {"val": "train, validation, test", "train": "cifar_fs"}[split]
        with pytest.raises(ValueError, match=message) as error:
            load(f"cifar100/{name}", split)
        assert "\n" not in str(error.value)


def test_cifar10(manual, monkeypatch):
    written = files.write_cifar10(manual / "cifar10")
    files.accept_files(monkeypatch, "cifar10", manual / "cifar10")
    for split, (images, classes) in written.items():
        x, labels = load("cifar10", split)
        label_of = {
            image.tobytes(): label
            for image, label in zip(images, classes, strict=True)
        }
        assert len(x) == len(label_of)
        for image, label in zip(x, labels, strict=True):
            assert label_of.pop(image.tobytes()) == label
    # Held-out training images, and the rest.
    first, _ = load("cifar10", "train[:15]")
    rest, _ = load("cifar10", "train[15:]")
    every, _ = load("cifar10", "train")
    np.testing.assert_array_equal(np.concatenate([first, rest]), every)


def check_photographs(x, labels, expected):
    """Whether `x` has the expected `(label, JPEG)`, in any order."""
    assert isinstance(x, Images) and labels.dtype == np.int32
    found = sorted(
        (label, *image.shape, *image[0, 0])
        for label, image in zip(labels, x, strict=True)
    )
    expected = [(label, files.decoded(jpeg)) for label, jpeg in expected]
    expected = sorted(
        (label, *image.shape, *image[0, 0]) for label, image in expected
    )
    assert len(found) == len(expected)
    # Decoders of JPEG may differ by one step of 255.
    np.testing.assert_allclose(found, expected, atol=2)


def test_cars196(manual, monkeypatch):
    written = files.write_cars196(manual / "cars196")
    files.accept_files(monkeypatch, "cars196", manual / "cars196")
    for split, low, high in (("train", 0, 98), ("test", 98, 196)):
        x, labels = load("cars196/disjoint_classes", split)
        expected = [row for row in written.values() if low <= row[0] < high]
        assert 0 < len(expected) < len(written)
        check_photographs(x, labels, expected)
    x, labels = load("cars196", "train")
    expected = list(written.values())[: len(files.CARS["train"])]
    check_photographs(x, labels, expected)
    some, some_labels = load("cars196", "train[1:3]+test[:1]")
    assert len(some) == 3
    np.testing.assert_array_equal(some[1], x[2])
    assert some_labels[:2].tolist() == labels[1:3].tolist()


def test_caltech_birds2011(manual, monkeypatch):
    written = caltech_birds2011_files.write_files(manual / "caltech_birds2011")
    files.accept_files(
        monkeypatch, "caltech_birds2011", manual / "caltech_birds2011"
    )
    # TFDS decodes masks with OpenCV, which need not be installed here.
    monkeypatch.setitem(
        sys.modules,
        "cv2",
        types.SimpleNamespace(
            imdecode=lambda content, flags: tf.io.decode_png(
                content.tobytes(), channels=1
            ).numpy()[..., 0]
        ),
    )
    rows = [row for split in written.values() for row in split]
    for split, low, high in (("train", 0, 100), ("test", 100, 200)):
        x, labels = load("caltech_birds2011/disjoint_classes", split)
        expected = [row for row in rows if low <= row[1] < high]
        assert sorted(labels) == sorted(label for _, label in expected)
        found = sorted(image.mean((0, 1)).tolist() for image in x)
        expected = sorted(colour.tolist() for colour, _ in expected)
        np.testing.assert_allclose(found, expected, atol=3)


def test_stanford_online_products(manual, monkeypatch):
    folder = manual / "stanford_online_products"
    written = files.write_products(folder)
    files.accept_files(monkeypatch, "stanford_online_products", folder)
    for split, expected in written.items():
        x, labels = load("stanford_online_products", split)
        check_photographs(x, labels, expected)
    _, kinds = load(
        "stanford_online_products", "train", label="super_class_id/num"
    )
    assert kinds.tolist() == [0, 0, 0]


@pytest.fixture
def imagenet(manual):
    classes = {"n01440764": (3, 1, 2), "n15075141": (8, 30)}
    return files.write_imagenet(manual / "imagenet2012", classes)


def test_imagenet(imagenet):
    x, labels = load("imagenet2012", "train")
    check_photographs(
        x,
        labels,
        [
            (0 if name.startswith("n01440764") else 999, content)
            for name, content in imagenet.items()
        ],
    )
    _, names = load("imagenet2012", "train", label="file_name")
    assert sorted(names) == sorted(imagenet)
    for image, name in zip(x, names, strict=True):
        assert image.shape == files.decoded(imagenet[name]).shape
    # The first two classes in TFDS's own list, n01751748 and n09193705,
    # which are preceded by 65 and 970 in ImageNet's sorted list.
    x, validation = load("imagenet2012", "validation")
    check_photographs(
        x, validation, [(65, files.photograph(1)), (970, files.photograph(2))]
    )
    x, labels = load("imagenet2012", "train")
    # Batches read images only when they are indexed.
    indices = tf.data.Dataset.from_tensors(np.array([3, 1], np.int32))
    dataset = batches(x.with_size(24, seed=0), labels, indices)
    assert dataset.element_spec[0].shape == (2, 24, 24, 3)
    ((batch, label),) = dataset
    assert label.numpy().tolist() == labels[[3, 1]].tolist()
    for image, number in zip(batch, (3, 1), strict=True):
        colour = np.broadcast_to(x[number][0, 0], image.shape)
        np.testing.assert_allclose(image, colour, atol=2)


def test_damaged_photographs(imagenet, tmp_path):
    x, _ = load("imagenet2012", "train")
    (path,) = (tmp_path / "data").glob("imagenet2012/*/*-train.*")
    content = path.read_bytes()
    path.write_bytes(content[:-7])
    with pytest.raises(OSError, match="is damaged; delete that folder"):
        load("imagenet2012", "train")
    place = content.index(b"\xff\xd8\xff")
    path.write_bytes(content[:place] + bytes(4) + content[place + 4 :])
    with pytest.raises(OSError, match="Image 0 of imagenet2012"):
        x[0]


def test_missing_photographs(manual):
    with pytest.raises(FileNotFoundError, match="EMBEDDINGS_TF_MANUAL"):
        load("imagenet2012", "train")
