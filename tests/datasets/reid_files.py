"""Small fabricated files in the original formats of Market-1501 and CUHK03."""

import io
import zipfile

import h5py
import numpy as np
from PIL import Image

# Folder -> identities and cameras of its images.
MARKET1501 = {
    "bounding_box_train": [("0002", 1), ("0002", 3), ("0007", 6)],
    "bounding_box_test": [
        *[("-1", 1), ("-1", 2), ("0000", 4)],
        *[("0001", 1), ("0001", 2), ("0003", 5), ("1501", 1)],
    ],
    "query": [("0001", 1), ("0001", 2), ("0003", 1)],
}
NUM_PERSONS = (3, 2, 1, 1, 2)


def jpeg(random, shape=(128, 64, 3)):
    """Returns the bytes of a random image."""
    image = Image.fromarray(random.integers(0, 256, shape, dtype=np.uint8))
    file = io.BytesIO()
    image.save(file, "jpeg")
    return file.getvalue()


def write_market1501(folder, altered=None):
    """Writes `market1501/Market-1501-v15.09.15.zip`.

    Args:
        altered: Changed members, without their first folder: name -> content,
            or None to leave the member out.

    Returns:
        The images by name, without the first folder, as bytes.
    """
    random = np.random.default_rng(0)
    content = {
        f"{part}/{identity}_c{camera}s1_{frame:06}_01.jpg": jpeg(random)
        for part, images in MARKET1501.items()
        for frame, (identity, camera) in enumerate(images)
    }
    files = {
        "readme.txt": b"",
        "query/Thumbs.db": b"thumbnails",
        # Boxes drawn by hand, which are not used here.
        "gt_bbox/0001_c1s1_000000_00.jpg": jpeg(random),
        **content,
        **(altered or {}),
    }
    (folder / "market1501").mkdir(parents=True, exist_ok=True)
    path = folder / "market1501/Market-1501-v15.09.15.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for part in ("", *MARKET1501):
            archive.writestr(f"Market-1501-v15.09.15/{part}/", b"")
        # The order must not matter.
        for name in reversed(files):
            if files[name] is not None:
                archive.writestr(f"Market-1501-v15.09.15/{name}", files[name])
    return content


def write_cuhk03(folder, change=None):
    """Writes `cuhk03/cuhk03_release/cuhk-03.mat` as MATLAB 7.3 does.

    Args:
        change: Function of the open file, called before it is closed.

    Returns:
        `{"labeled": {(pair, person): images}, "detected": ...}`, numbered from
        1, images of shape `(height, width, 3)` in cell order.
    """
    random = np.random.default_rng(0)
    folder = folder / "cuhk03/cuhk03_release"
    folder.mkdir(parents=True, exist_ok=True)
    written = {}
    with h5py.File(folder / "cuhk-03.mat", "w", userblock_size=512) as mat:
        for variable in ("detected", "labeled"):
            pairs = []
            written[variable] = {}
            for pair, num_persons in enumerate(NUM_PERSONS, start=1):
                # MATLAB's (persons, 10), with reversed axes.
                cells = np.empty((10, num_persons), h5py.ref_dtype)
                for person in range(num_persons):
                    images = []
                    for number in range(10):
                        image = None
                        if random.uniform() < 0.7 or number == 0:
                            height, width = random.integers((90, 40), (210, 90))
                            image = random.integers(
                                0, 256, (height, width, 3), dtype=np.uint8
                            )
                            images.append(image)
                        cells[number, person] = _store(mat, image)
                    written[variable][pair, person + 1] = images
                pairs.append(_store(mat, cells))
            mat[variable] = np.array([pairs], h5py.ref_dtype)
            mat[variable].attrs["MATLAB_class"] = np.bytes_("cell")
        if change is not None:
            change(mat)
    # The 512 bytes before HDF5 in the file.
    with (folder / "cuhk-03.mat").open("r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file".ljust(128))
    return written


def _store(mat, array):
    """Stores a cell array, an image or an empty array; returns a reference."""
    group = mat.require_group("#refs#")
    name = str(len(group))
    if array is None:
        dataset = group.create_dataset(name, data=np.zeros(2, np.uint64))
        dataset.attrs["MATLAB_empty"] = np.uint8(1)
    elif array.dtype == np.uint8:
        dataset = group.create_dataset(
            name, data=array.T, chunks=True, compression="gzip"
        )
        dataset.attrs["MATLAB_class"] = np.bytes_("uint8")
    else:
        dataset = group.create_dataset(name, data=array)
        dataset.attrs["MATLAB_class"] = np.bytes_("cell")
    return dataset.ref
