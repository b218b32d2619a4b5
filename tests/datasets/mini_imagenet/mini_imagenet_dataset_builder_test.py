import gzip
import io

import numpy as np
import pytest
from PIL import Image

from embeddings_tf.datasets import load
from tests.datasets.photograph_files import colour_of
from tests.datasets.photograph_files import photograph
from tests.datasets.photograph_files import write_imagenet
from tests.datasets.photograph_files import write_tar

# Classes of ImageNet and the numbers of their images, unsorted.
IMAGENET = {
    "n01532829": (30, 4, 100),
    "n01930112": (7, 2, 3),
    "n03535780": (11, 12),
    "n04251144": (1, 2),
}
# Counted from 1 in the order of the numbers, or with ImageNet's own name.
LISTS = {
    "train.csv": (
        "n0425114400000002.jpg,n04251144",
        "n0153282900000003.jpg,n01532829",
        "n0153282900000001.jpg,n01532829",
    ),
    "val.csv": ("n0353578000000001.jpg,n03535780",),
    "test.csv": ("n01930112_7.JPEG,n01930112", "n01930112_2.JPEG,n01930112"),
}
# Colour and class of each image of a split, sorted by class.
EXPECTED = {
    "train": (
        [(100 % 9, "n01532829"), (4, "n01532829"), (2, "n04251144")],
        [0, 0, 1],
    ),
    "validation": ([(11 % 9, "n03535780")], [2]),
    "test": ([(7, "n01930112"), (2, "n01930112")], [3, 3]),
}


@pytest.fixture
def manual(manual):
    (manual / "mini_imagenet").mkdir(parents=True)
    for name in LISTS:
        write_list(manual, name)
    return manual


def write_list(manual, name, lines=None):
    lines = ["filename,label", *(LISTS[name] if lines is None else lines), ""]
    (manual / "mini_imagenet" / name).write_text("\r\n".join(lines))


@pytest.fixture
def archive(manual):
    write_imagenet(manual / "imagenet2012", IMAGENET)
    return manual / "imagenet2012/ILSVRC2012_img_train.tar"


def check(split):
    x, labels = load("mini_imagenet", split)
    images, expected_labels = EXPECTED[split]
    assert x.dtype == np.uint8 and x.shape == (len(images), 84, 84, 3)
    assert labels.tolist() == expected_labels and labels.dtype == np.int32
    _, wnids = load("mini_imagenet", split, label="wnid")
    assert wnids.tolist() == [wnid for _, wnid in images]
    for image, (number, _) in zip(x, images, strict=True):
        # Decoders of JPEG may differ by one step of 255.
        colour = np.broadcast_to(colour_of(number), image.shape)
        np.testing.assert_allclose(image, colour, atol=2)


def test_from_the_original_archive(archive):
    for split in EXPECTED:
        check(split)
    _, names = load("mini_imagenet", "train", label="file_name")
    assert names[0] == "n0153282900000003.jpg"


def test_from_a_folder_of_images(manual):
    (manual / "mini_imagenet/images").mkdir()
    content = {
        "n0425114400000002.jpg": 2,
        "n0153282900000003.jpg": 100 % 9,
        "n0153282900000001.jpg": 4,
        "n0353578000000001.jpg": 11 % 9,
        "n01930112_7.JPEG": 7,
        "n01930112_2.JPEG": 2,
    }
    for name, number in content.items():
        path = manual / "mini_imagenet/images" / name
        path.write_bytes(photograph(number))
    # Lists may be compressed.
    for name in LISTS:
        path = manual / "mini_imagenet" / name
        path.with_name(f"{name}.gz").write_bytes(
            gzip.compress(path.read_bytes())
        )
        path.unlink()
    for split in EXPECTED:
        check(split)


def test_pixels_are_means(manual):
    (manual / "mini_imagenet/images").mkdir()
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (168, 252, 3), dtype=np.uint8)
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "png")
    for lines in LISTS.values():
        for line in lines:
            path = manual / "mini_imagenet/images" / line.split(",")[0]
            path.write_bytes(file.getvalue())
    x, _ = load("mini_imagenet", "validation")
    means = pixels.reshape(84, 2, 84, 3, 3).mean(axis=(1, 3))
    np.testing.assert_allclose(x[0], means, atol=0.51)


def test_missing_files(manual):
    with pytest.raises(FileNotFoundError, match="images or .* neither"):
        load("mini_imagenet", "train")
    (manual / "mini_imagenet/images").mkdir()
    with pytest.raises(FileNotFoundError, match="has no n0153282900000003.jpg"):
        load("mini_imagenet", "train")
    (manual / "mini_imagenet/val.csv").unlink()
    with pytest.raises(FileNotFoundError, match="val.csv, which does not"):
        load("mini_imagenet", "train")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([], "is empty or names an image twice"),
        (["a.jpg,n03535780"] * 2, "is empty or names an image twice"),
        (["a.jpg"], "line 2, is 'a.jpg'"),
        (["a.jpg,bird"], "line 2, is 'a.jpg,bird'"),
        (["../a.jpg,n03535780"], "line 2, is '../a.jpg"),
        (["a.jpg,n01532829"], "class n01532829 in val.csv and in another"),
        (["a.jpg,n03535780"], "n03535780.tar .* has 2 images and none for"),
        (["n0353578000000003.jpg,n03535780"], "has 2 images and none for"),
        (["n0353578000000000.jpg,n03535780"], "has 2 images and none for"),
        (["n0153282900000001.jpg,n03535780"], "has 2 images and none for"),
        (["a.jpg,n99999999"], "has no n99999999.tar"),
    ],
)
def test_bad_lists(archive, lines, message):
    manual = archive.parents[1]
    write_list(manual, "val.csv", lines)
    with pytest.raises(ValueError, match=message) as error:
        load("mini_imagenet", "train")
    assert "\n" not in str(error.value)


def test_damaged_lists(archive):
    path = archive.parents[1] / "mini_imagenet/val.csv"
    whole = gzip.compress(path.read_bytes())
    path.unlink()
    path.with_name("val.csv.gz").write_bytes(whole[:-9])
    with pytest.raises(ValueError, match="damaged or not a list"):
        load("mini_imagenet", "train")


def test_damaged_archives(archive):
    content = archive.read_bytes()
    archive.write_bytes(content[:9000])
    with pytest.raises(ValueError, match="cannot be read as|has no n0"):
        load("mini_imagenet", "train")
    archive.write_bytes(b"no archive" * 999)
    with pytest.raises(ValueError, match="cannot be read as"):
        load("mini_imagenet", "train")
    write_tar(archive, {"n01532829.tar": b"no archive" * 999}, "w")
    with pytest.raises(ValueError, match="cannot be read as"):
        load("mini_imagenet", "train")
    archive.write_bytes(content.replace(b"\xff\xd8\xff", b"\xff\xd8\0"))
    with pytest.raises(ValueError, match="cannot be read as an image"):
        load("mini_imagenet", "train")
    # It works once the files are restored: nothing is left of the attempts.
    archive.write_bytes(content)
    check("validation")
