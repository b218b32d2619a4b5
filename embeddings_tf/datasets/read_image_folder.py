"""Reads folders of images, one subfolder per class."""

import os
import pathlib

import numpy as np

from embeddings_tf.datasets.class_folders import Files
from embeddings_tf.datasets.class_folders import list_class_folders
from embeddings_tf.datasets.image_files import EXTENSIONS
from embeddings_tf.datasets.image_files import image_files
from embeddings_tf.datasets.source import Source

# Of other formats, which are named by `--check`.
_UNREAD = (
    ".avif",
    ".bmp",
    ".gif",
    ".heic",
    ".heif",
    ".jfif",
    ".jpe",
    ".tif",
    ".tiff",
    ".webp",
)
IMAGES = Files(
    "image_folder", "images", EXTENSIONS, is_deep=False, unread=_UNREAD
)


def read_image_folder(folder: str | os.PathLike) -> Source:
    """Reads a folder of images: `class/*.png`, or `train/class/*.png`.

    `load("image_folder:PATH", split)` calls it. The call reads only the names
    of files. An image is read when you index it, so the folder may be larger
    than the memory. Names end in .jpg, .jpeg or .png, in lower or upper case.

    Args:
        folder: The folder of the classes, or of `train`, `validation`, `test`.

    Returns:
        `Images`, sorted by split, class and file name. Labels are positions
        among the sorted names of all classes. The column `"name"` contains
        the paths, from `folder` on.

    Raises:
        ValueError: If a class has no images, or images are outside of class
            folders.
        OSError: If the folder does not exist or is a file.

    Example:

    >>> folder = tempfile.TemporaryDirectory()
    >>> image = tf.io.encode_png(tf.zeros((8, 8, 1), "uint8"))
    >>> for name in ("train/cat/1.png", "train/dog/1.PNG", "test/dog/2.png"):
    ...     tf.io.write_file(f"{folder.name}/{name}", image)
    >>> source = read_image_folder(folder.name)
    >>> source.x[:].shape, source.labels.tolist()
    ((3, 8, 8, 3), [0, 1, 1])
    >>> source.columns["class"].tolist(), source.splits.tolist()
    (['cat', 'dog', 'dog'], ['train', 'train', 'test'])
    >>> folder.cleanup()
    """
    folder = pathlib.Path(os.path.expanduser(folder))
    found = list_class_folders(folder, IMAGES)
    columns = {
        "class": found.classes[found.labels],
        "name": np.array(found.names),
    }
    x = image_files(folder, found.names)
    return Source(str(folder), x, found.labels, columns, found.splits)
