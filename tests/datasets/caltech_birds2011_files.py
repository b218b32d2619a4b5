"""Small fabricated files in the real format of CUB-200-2011."""

import io
import tarfile

import numpy as np
from PIL import Image

# Name, colour and size (width, height), and whether it is in the train split.
PHOTOGRAPHS = {
    "001.Black_footed_Albatross/Black_Footed_Albatross_0001_11.jpg": (
        (200, 30, 90),
        (299, 299),
        True,
    ),
    "001.Black_footed_Albatross/Black_Footed_Albatross_0002_55.jpg": (
        (10, 220, 40),
        (120, 80),
        False,
    ),
    "017.Cardinal/Cardinal_0003_17.jpg": ((90, 90, 250), (64, 299), True),
    "200.Common_Yellowthroat/Common_Yellowthroat_0004_19.jpg": (
        (128, 128, 128),
        (400, 300),
        False,
    ),
}
GREY = "200.Common_Yellowthroat/Common_Yellowthroat_0004_19.jpg"


def _image_bytes(image, **options):
    buffer = io.BytesIO()
    image.save(buffer, **options)
    return buffer.getvalue()


def _write_archive(path, files):
    with tarfile.open(path, "w:gz") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))


def write_files(folder):
    """Writes `CUB_200_2011.tgz` and `segmentations.tgz`.

    Returns:
        For every photograph of `"train"` and `"test"`: the mean colour `(3,)`
        in 0..255 after decoding the JPEG, and the label counted from 0.
    """
    folder.mkdir(parents=True)
    archive, masks = {}, {}
    names, in_train, boxes = [], [], []
    written = {"train": [], "test": []}
    for number, (name, (colour, size, is_train)) in enumerate(
        PHOTOGRAPHS.items(), start=1
    ):
        image = Image.new("RGB", size, colour)
        if name == GREY:  # a few of the real photographs are grey
            image = image.convert("L")
        jpeg = _image_bytes(image, format="JPEG", quality=100)
        archive[f"CUB_200_2011/images/{name}"] = jpeg
        masks[f"segmentations/{name[:-3]}png"] = _image_bytes(
            Image.new("L", size, 255), format="PNG"
        )
        names.append(f"{number} {name}")
        in_train.append(f"{number} {int(is_train)}")
        boxes.append(f"{number} 1.0 2.0 {size[0] - 4}.0 {size[1] - 4}.0")
        decoded = np.asarray(Image.open(io.BytesIO(jpeg)).convert("RGB"))
        written["train" if is_train else "test"].append(
            (decoded.mean((0, 1)), int(name[:3]) - 1)
        )
    for name, lines in (
        ("images", names),
        ("train_test_split", in_train),
        ("bounding_boxes", boxes),
    ):
        content = "\n".join([*lines, ""]).encode()
        archive[f"CUB_200_2011/{name}.txt"] = content
    _write_archive(folder / "CUB_200_2011.tgz", archive)
    _write_archive(folder / "segmentations.tgz", masks)
    return written
