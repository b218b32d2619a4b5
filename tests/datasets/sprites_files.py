"""Small fabricated files in the real format of the Sprites archive."""

import functools
import pathlib
import shutil
import tempfile

import h5py
import numpy as np
import scipy.io

# Characters of the splits, counted from 1 and unsorted, as in Reed et al.
SPLITS = {"trainidx": [6, 1, 4], "validx": [3], "testidx": [5, 2]}
NUM_CHARACTERS = 6
FACTORS = np.array(
    [
        [0, 3, 2, 0, 1, 0, 1],
        [0, 0, 1, 4, 0, 1, 0],
        [1, 2, 0, 5, 1, 1, 1],
        [1, 1, 2, 2, 0, 0, 0],
        [0, 3, 1, 1, 1, 1, 0],
        [1, 0, 0, 3, 0, 1, 1],
    ]
)
# Frames of every animation.
NUM_FRAMES = [1, 2, 1, 1, 2, 1, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 1, 1, 2, 1]


def write_mat_73(path, factors, images):
    """Writes a file like MATLAB 7.3: HDF5 after 512 bytes."""
    with h5py.File(path, "w", userblock_size=512) as file:
        labels = file.create_dataset(
            "labels", data=factors[:, None], dtype="f8"
        )
        labels.attrs["MATLAB_class"] = np.bytes_("double")
        for name in ("masks", "sprites"):
            cells = file.create_dataset(
                name, (len(images), 1), dtype=h5py.ref_dtype
            )
            cells.attrs["MATLAB_class"] = np.bytes_("cell")
            for animation, frames in enumerate(images):
                # In MATLAB the first axis is fastest: channels, columns, rows.
                values = np.transpose(frames, (0, 3, 2, 1)) / 255
                array = file.create_dataset(
                    f"#refs#/{name}{animation}",
                    data=values.reshape(len(frames), -1),
                    compression="gzip",
                )
                cells[animation, 0] = array.ref
    with path.open("r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(124))
        file.write(b"\x00\x02IM")


def write_files(folder):
    """Writes `sprites_<character>.mat` and `sprites_splits.mat`.

    Returns:
        Images by character and animation, `(frames, 60, 60, 3)` each.
    """
    written, images = _written_once()
    shutil.copytree(written.name, folder)
    return images


@functools.cache
def _written_once():
    """Writes the files once for all tests; the folder ends with the process."""
    random = np.random.default_rng(0)
    temporary = tempfile.TemporaryDirectory()
    folder = pathlib.Path(temporary.name)
    every = []
    for character, factors in enumerate(FACTORS):
        images = [
            random.integers(0, 256, (num_frames, 60, 60, 3), dtype=np.uint8)
            for num_frames in NUM_FRAMES
        ]
        write_mat_73(folder / f"sprites_{character}.mat", factors, images)
        every.append(images)
    scipy.io.savemat(
        folder / "sprites_splits.mat",
        {name: np.array([ids], np.uint16) for name, ids in SPLITS.items()},
    )
    return temporary, every
