"""Reads folders of images, one subfolder per class."""

import collections
import os
import pathlib
import unicodedata

import numpy as np
import tensorflow as tf

from embeddings_tf.datasets.divide_classes import divide_classes
from embeddings_tf.datasets.images import Images

EXTENSIONS = (".jpg", ".jpeg", ".png")
SPLITS = ("train", "validation", "test")
LABELS = ("class", "name")


def read_image_folder(
    folder: str | os.PathLike, split: str, label: str | None = None
) -> tuple[Images, np.ndarray]:
    """Reads a folder of images: `class/*.png`, or `train/class/*.png`.

    `load("image_folder:PATH", split)` calls it. The call reads only the names
    of files. An image is read when you index it, so the folder may be larger
    than the memory. Names end in .jpg, .jpeg or .png, in lower or upper case.
    Other files, and hidden files and folders, are ignored.

    Folders `train`, `validation` or `test` above the classes are the splits. A
    class that is in several splits has the same label in each. Without such
    folders, `divide_classes` divides the classes by their names: 60 % in
    `train`, 20 % in `validation`, 20 % in `test`. The split `all` contains
    every image.

    Every image becomes 8-bit RGB: grey is repeated, transparency is dropped,
    and the orientation in EXIF data is ignored.

    Links to files and to class folders are followed. A link to a folder above
    it is ignored.

    Args:
        folder: The folder of the classes, or of `train`, `validation`, `test`.
        split: `"train"`, `"validation"`, `"test"` or `"all"`.
        label: `"class"`: names of the classes as labels. `"name"`: paths of
            the images, from `folder` on. By default the class as an integer:
            its position among the sorted names of all classes of all splits.

    Returns:
        `Images`, sorted by split, class and file name, and their labels:
        `int32` or `str` of shape `(images,)`. `x.names` contains the paths.

    Raises:
        ValueError: If the split or the label does not exist, a class has no
            images, or images are outside of class folders.
        OSError: If the folder does not exist or is a file. When an image is
            read, if its file cannot be read or is damaged.

    Example:

    >>> folder = tempfile.TemporaryDirectory()
    >>> image = tf.io.encode_png(tf.zeros((8, 8, 1), "uint8"))
    >>> for name in ("train/cat/1.png", "train/dog/1.PNG", "test/dog/2.png"):
    ...     tf.io.write_file(f"{folder.name}/{name}", image)
    >>> x, labels = read_image_folder(folder.name, "all")
    >>> x[:].shape, labels.tolist()
    ((3, 8, 8, 3), [0, 1, 1])
    >>> read_image_folder(folder.name, "test", label="class")[1].tolist()
    ['dog']
    >>> folder.cleanup()
    """
    folder = pathlib.Path(folder).expanduser()
    if label is not None and label not in LABELS:
        raise ValueError(
            f"A folder of images has no label {label!r}: expected one of "
            f"{', '.join(LABELS)}, or None for integers."
        )
    parts = _parts(folder)
    every = [pair for part in parts.values() for pair in part]
    known = [*(parts if "" not in parts else SPLITS), "all"]
    if split not in known:
        raise ValueError(
            f"Unknown split {split!r} of {folder}: expected one of "
            f"{', '.join(known)}."
        )
    if split == "all":
        chosen = every
    elif split in parts:
        chosen = parts[split]
    else:
        names = _divided(folder, every)[split]
        chosen = [pair for pair in every if pair[0] in names]
    classes = sorted({name for name, _ in every})
    number = {name: number for number, name in enumerate(classes)}
    labels = np.repeat(
        np.array([number[name] for name, _ in chosen], np.int32),
        [len(files) for _, files in chosen],
    )
    names = [file for _, files in chosen for file in files]
    x = Images(_reader(folder, names), len(names), names=names)
    if label == "class":
        return x, np.array(classes)[labels]
    return x, np.array(names) if label == "name" else labels


def _parts(folder):
    """Returns classes and their files by split; `{"": ...}` without splits."""
    if not folder.exists():
        raise FileNotFoundError(
            f"There is no folder {folder}; expected image_folder:PATH with the "
            "path of a folder, absolute or from the current folder."
        )
    if not folder.is_dir():
        raise NotADirectoryError(
            f"{folder} is a file; expected a folder with a subfolder for each "
            "class."
        )
    folders, _ = _visible(folder)
    named = [split for split in SPLITS if split in folders]
    # A class may also be called "train".
    if not named or not (
        len(named) == len(folders)
        or any(_visible(folder / split)[0] for split in named)
    ):
        return {"": _classes(folder, "")}
    others = [name for name in folders if name not in SPLITS]
    if others:
        raise ValueError(
            f"{folder} has split folders, {_listed(named)}, and other folders, "
            f"{_listed(others)}; expected only train, validation and test. "
            "Rename or move the other folders."
        )
    return {split: _classes(folder / split, f"{split}/") for split in named}


def _classes(folder, prefix):
    """Returns pairs of a class and its files, sorted."""
    folders, files = _visible(folder)
    loose = _images(files)
    if loose:
        raise ValueError(
            f"{folder / loose[0]} is not in the folder of a class; expected "
            f"{folder}/CLASS/{loose[0]}."
        )
    if not folders:
        raise ValueError(
            f"{folder} has no folders of classes; expected CLASS/*.jpg, "
            f"*.jpeg or *.png in it, found {_kinds(files)}."
        )
    classes = collections.defaultdict(list)
    for name in folders:
        inner, files = _visible(folder / name)
        if inner:
            raise ValueError(
                f"{folder / name / inner[0]} is a folder within a class; "
                f"expected only images in {folder / name}."
            )
        images = _images(files)
        if not images:
            raise ValueError(
                f"{folder / name} has no images; expected *.jpg, *.jpeg or "
                f"*.png, found {_kinds(files)}. Add some, or remove the folder."
            )
        # File systems encode accents differently.
        classes[unicodedata.normalize("NFC", name)] += [
            f"{prefix}{name}/{image}" for image in images
        ]
    return sorted(classes.items())


def _visible(folder):
    """Returns names of the folders and files in a folder, without hidden ones.

    Only links need a look at their targets.
    """
    folders, files = [], []
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith("."):
                continue
            if entry.is_symlink():
                target = os.path.realpath(entry.path)
                if pathlib.Path(os.path.realpath(folder)).is_relative_to(
                    target
                ):
                    continue
                (folders if os.path.isdir(target) else files).append(entry.name)
            elif entry.is_dir():
                folders.append(entry.name)
            elif entry.is_file():
                files.append(entry.name)
    return sorted(folders), sorted(files)


def _images(names):
    return [name for name in names if name.lower().endswith(EXTENSIONS)]


def _kinds(names):
    """Lists the numbers of files by extension, for a message."""
    if not names:
        return "nothing"
    kinds = collections.Counter(
        pathlib.PurePath(name).suffix or "without extension" for name in names
    )
    return _listed([f"{count} {kind}" for kind, count in kinds.most_common()])


def _listed(words, most=5):
    more = len(words) - most
    return ", ".join(words[:most]) + (f" and {more} more" if more > 0 else "")


def _divided(folder, classes):
    try:
        parts = divide_classes(name for name, _ in classes)
    except ValueError as error:
        raise ValueError(
            f"{folder} has no folders train, validation and test, and {error} "
            "Make these folders, or read the split all."
        ) from error
    return {split: set(names) for split, names in parts.items()}


def _reader(folder, names):
    def read(number):
        path = os.path.join(folder, names[number])
        try:
            with open(path, "rb") as file:
                content = file.read()
        except OSError as error:
            raise OSError(
                f"{path} cannot be read ({error.strerror}); restore the file, "
                "or start again without it."
            ) from error
        try:
            with tf.device("CPU:0"):
                return tf.io.decode_image(
                    content, channels=3, expand_animations=False
                ).numpy()
        except tf.errors.InvalidArgumentError as error:
            raise OSError(
                f"{path} is not a complete JPEG or PNG image: it is empty, "
                "truncated, damaged or of another format. Replace or remove it."
            ) from error

    return read
