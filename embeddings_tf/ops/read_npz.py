"""Reads files of `numpy.savez`, also damaged ones, without unpickling."""

import zipfile
from typing import BinaryIO

import numpy as np

from embeddings_tf.ops.reason_of_damage import reason_of_damage


def read_npz(file: BinaryIO) -> dict[str, np.ndarray]:
    """Returns all arrays in a file by name.

    Args:
        file: The file, opened for reading.

    Raises:
        ValueError: If the file is damaged or of another kind. The message is
            only the reason: the caller knows the file's name and the remedy.
        OSError: If the machine prevents reading.
        MemoryError: If the memory is too small for the arrays.
    """
    if file.read(6) == np.lib.format.MAGIC_PREFIX:
        raise ValueError("it contains a single array without a name")
    arrays = {}
    try:
        with zipfile.ZipFile(file) as archive:
            for member in archive.infolist():
                name = member.filename.removesuffix(".npy")
                arrays[name] = _array(archive, member)
    except Exception as error:  # NumPy and zipfile raise errors of many types
        raise ValueError(reason_of_damage(error)) from error
    if not arrays:
        raise ValueError("it contains no arrays")
    return arrays


def _array(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> np.ndarray:
    # A damaged length of a comment hides the members after it.
    if member.comment:
        raise ValueError("its list of arrays is damaged")
    with archive.open(member) as stream:
        array = np.lib.format.read_array(stream, allow_pickle=False)
        # At the end, zipfile compares the checksum.
        if stream.read(1):
            raise ValueError(
                f"{member.filename} has more numbers than its shape"
            )
    return array
