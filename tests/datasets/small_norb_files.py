"""Small fabricated files in the real format of small NORB."""

import gzip
import struct

import numpy as np

PREFIXES = {
    "train": "smallnorb-5x46789x9x18x6x2x96x96-training",
    "test": "smallnorb-5x01235x9x18x6x2x96x96-testing",
}
_MAGIC = {np.dtype(np.uint8): 0x1E3D4C55, np.dtype(np.int32): 0x1E3D4C54}


def write_matrix(path, array):
    """Writes NORB's binary matrix: magic, axes, at least three sizes, data."""
    sizes = [*array.shape, 1, 1][: max(3, array.ndim)]
    header = struct.pack("<2i", _MAGIC[array.dtype], array.ndim)
    header += struct.pack(f"<{len(sizes)}i", *sizes)
    data = array.astype(array.dtype.newbyteorder("<")).tobytes()
    path.write_bytes(gzip.compress(header + data))


def write_files(folder):
    """Writes the six files.

    Returns:
        Pairs of images `(pairs, 2, 96, 96)`, categories `(pairs,)` and
        instance, elevation, azimuth and lighting `(pairs, 4)` of `"train"` and
        `"test"`, as written.
    """
    random = np.random.default_rng(0)
    folder.mkdir(parents=True)
    written = {}
    for split, instances in (("train", (4, 9)), ("test", (0, 3))):
        # Values on both sides of both thresholds, and the extremes.
        info = [
            (instance, elevation, azimuth, random.integers(6))
            for instance in instances
            for elevation in (0, 4, 5, 8)
            for azimuth in (0, 16, 18, 34)
        ]
        info = np.array(info, np.int32)
        categories = random.integers(0, 5, len(info), dtype=np.int32)
        shape = (len(info), 2, 96, 96)
        images = random.integers(0, 256, shape, dtype=np.uint8)
        for name, array in (
            ("dat", images),
            ("cat", categories),
            ("info", info),
        ):
            path = folder / f"{PREFIXES[split]}-{name}.mat.gz"
            write_matrix(path, array)
        written[split] = images, categories, info
    return written
