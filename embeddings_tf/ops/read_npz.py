"""Reads files of `numpy.savez`, also damaged ones, without unpickling."""

import math
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
    # Opened twice: zipfile compares no checksum after seeking.
    with archive.open(member) as stream:
        _require_data(stream, member)
    with archive.open(member) as stream:
        array = np.lib.format.read_array(stream, allow_pickle=False)
        # At the end, zipfile compares the checksum.
        if stream.read(1):
            raise ValueError(
                f"{member.filename} has more numbers than its shape"
            )
    return array


def _require_data(stream, member):
    """Refuses a header of more numbers than follow, before any memory is taken.

    Otherwise, a damaged header looks like a memory that is too small.
    """
    version = np.lib.format.read_magic(stream)
    # Version 3 differs from 2 in the encoding of names only.
    read_header = (
        np.lib.format.read_array_header_1_0
        if version == (1, 0)
        else np.lib.format.read_array_header_2_0
    )
    try:
        shape, _, dtype = read_header(stream)
    except MemoryError as error:  # Python's parser, at deep nesting
        raise ValueError(f"{member.filename} has a damaged header") from error
    num_bytes = math.prod(shape) * dtype.itemsize
    left = member.file_size - stream.tell()
    # Pickled objects have any size; NumPy refuses them.
    if num_bytes > left and not dtype.hasobject:
        raise ValueError(
            f"{member.filename} has {left} bytes of numbers, its shape {shape} "
            f"needs {num_bytes}"
        )
