"""Small fabricated files in the formats that builders of TFDS read."""

import io
import tarfile
import zipfile

import numpy as np
import scipy.io
import tensorflow_datasets as tfds
from PIL import Image
from tensorflow_datasets.core.download import checksums

from embeddings_tf.datasets.class_splits import CLASS_SPLITS

CIFAR = {"train": 3, "test": 2}  # images per class
CARS = {"train": (1, 98, 99, 196, 1), "test": (99, 2, 98)}  # from 1
PRODUCTS = {"train": (1, 1, 11318), "test": (11319, 22634, 22634)}


def colour_of(number):
    """The colour of the n-th photograph, far from its neighbours' colours."""
    return 10 + 37 * number % 200, 20 + 61 * number % 200, 30 + 11 * number


def photograph(number, size=None):
    """Returns a JPEG file of one colour; sizes differ."""
    size = size or (40 + 7 * number, 90 - 5 * number)
    file = io.BytesIO()
    Image.new("RGB", size, colour_of(number)).save(file, "jpeg", quality=100)
    return file.getvalue()


def decoded(content):
    return np.asarray(Image.open(io.BytesIO(content)).convert("RGB"))


def write_tar(path, files, mode="w:gz"):
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, mode) as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))


def accept_files(monkeypatch, name, folder):
    """Gives TFDS the checksums of fabricated files instead of the real ones."""
    builder = tfds.builder_cls(name)
    url_infos = {}
    for url, info in builder.url_infos.items():
        found = checksums.compute_url_info(folder / info.filename)
        found.filename = info.filename
        url_infos[url] = found
    monkeypatch.setattr(builder, "url_infos", url_infos)


def write_cifar10(folder):
    """Writes `cifar-10-binary.tar.gz`; returns images and classes by split."""
    rng = np.random.default_rng(0)
    files = {"batches.meta.txt": "\n".join(f"class_{n}" for n in range(10))}
    files = {name: text.encode() for name, text in files.items()}
    written = {}
    parts = {"train": [f"data_batch_{n}" for n in range(1, 6)]}
    for split, names in (parts | {"test": ["test_batch"]}).items():
        x = rng.integers(0, 256, (len(names), 4, 32, 32, 3), dtype=np.uint8)
        labels = rng.integers(0, 10, (len(names), 4))
        for name, images, classes in zip(names, x, labels, strict=True):
            files[f"{name}.bin"] = b"".join(
                bytes([label]) + image.transpose(2, 0, 1).tobytes()
                for image, label in zip(images, classes, strict=True)
            )
        written[split] = x.reshape(-1, 32, 32, 3), labels.ravel()
    write_tar(
        folder / "cifar-10-binary.tar.gz",
        {f"cifar-10-batches-bin/{name}": text for name, text in files.items()},
    )
    return written


def write_cifar100(folder):
    """Writes `cifar-100-binary.tar.gz`; returns images and classes by split."""
    rng = np.random.default_rng(0)
    names = sorted(
        name
        for split in ("train", "validation", "test")
        for name in CLASS_SPLITS["cifar100/cifar_fs"].classes[split]
    )
    files = {
        "coarse_label_names.txt": "\n".join(f"coarse_{n}" for n in range(20)),
        "fine_label_names.txt": "\n".join(names),
    }
    files = {name: text.encode() for name, text in files.items()}
    written = {}
    for split, count in CIFAR.items():
        labels = rng.permutation(np.repeat(np.arange(100), count))
        x = rng.integers(0, 256, (len(labels), 32, 32, 3), dtype=np.uint8)
        files[f"{split}.bin"] = b"".join(
            bytes([label // 5, label]) + image.transpose(2, 0, 1).tobytes()
            for image, label in zip(x, labels, strict=True)
        )
        written[split] = x, labels
    write_tar(
        folder / "cifar-100-binary.tar.gz",
        {f"cifar-100-binary/{name}": text for name, text in files.items()},
    )
    return names, written


def write_cars196(folder):
    """Writes the four files of Cars196; returns label and image by number."""
    fields = ("bbox_x1", "bbox_y1", "bbox_x2", "bbox_y2", "class", "fname")
    written, number = {}, 0
    devkit = {}
    for split, labels in CARS.items():
        images, rows = {}, []
        for label in labels:
            name = f"{number:05}.jpg"
            images[f"cars_{split}/{name}"] = photograph(number)
            rows.append((1, 2, 30, 40, label, name))
            written[number] = label - 1, photograph(number)
            number += 1
        write_tar(folder / f"cars_{split}.tgz", images)
        annotations = np.array([rows], [(field, object) for field in fields])
        file = io.BytesIO()
        scipy.io.savemat(file, {"annotations": annotations})
        devkit[split] = file.getvalue()
    write_tar(
        folder / "car_devkit.tgz",
        {"devkit/cars_train_annos.mat": devkit["train"]},
    )
    (folder / "cars_test_annos_withlabels.mat").write_bytes(devkit["test"])
    return written


def write_products(folder):
    """Writes `Stanford_Online_Products.zip`; returns label, image by split."""
    folder.mkdir(parents=True)
    written, number = {}, 0
    path = folder / "Stanford_Online_Products.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for split, classes in PRODUCTS.items():
            lines = ["image_id class_id super_class_id path"]
            written[split] = []
            for label in classes:
                name = f"bicycle_final/{number}_0.JPG"
                lines.append(f"{number + 1} {label} 1 {name}")
                archive.writestr(
                    f"Stanford_Online_Products/{name}", photograph(number)
                )
                written[split].append((label - 1, photograph(number)))
                number += 1
            archive.writestr(
                f"Stanford_Online_Products/Ebay_{split}.txt",
                "\n".join([*lines, ""]),
            )
    return written


def write_imagenet(folder, classes):
    """Writes `ILSVRC2012_img_train.tar`, and two images for validation.

    Args:
        classes: Mapping from the WordNet number of a class to the numbers of
            its images, in the order of the archive.

    Returns:
        Content by name, for instance `"n01532829_17.JPEG"`.
    """
    written, archives = {}, {}
    for wnid, numbers in classes.items():
        files = {
            f"{wnid}_{number}.JPEG": photograph(number % 9)
            for number in numbers
        }
        written |= files
        write_tar(folder / "part.tar", files, "w")
        archives[f"{wnid}.tar"] = (folder / "part.tar").read_bytes()
    (folder / "part.tar").unlink()
    write_tar(
        folder / "ILSVRC2012_img_val.tar",
        {
            f"ILSVRC2012_val_{number:08}.JPEG": photograph(number)
            for number in (2, 1)
        },
        "w",
    )
    write_tar(folder / "ILSVRC2012_img_train.tar", archives, "w")
    return written
