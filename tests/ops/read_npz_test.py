import errno
import io
import warnings
import zipfile

import numpy as np
import pytest

from embeddings_tf.ops.read_npz import read_npz

ARRAYS = {
    "x": np.arange(6, dtype="f4").reshape(2, 3),
    "labels": np.array(["a", "b"]),
}
# One bit each; others make methods of compression 8, 12, 14 and 99 of 0 or 8.
CHANGES = (1, 2, 4, 8, 16, 32, 64, 128, 6, 12, 14, 99, 107, 255)


def saved(save=np.savez, arrays=ARRAYS):
    file = io.BytesIO()
    save(file, **arrays)
    return file.getvalue()


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_any_changed_byte_is_refused_or_does_not_matter(save):
    whole = saved(save)
    num_refused = 0
    for place in range(len(whole)):
        for change in CHANGES:
            content = bytearray(whole)
            content[place] ^= change
            try:
                found = read_npz(io.BytesIO(content))
            except ValueError as error:
                assert str(error)
                num_refused += 1
                continue
            assert found.keys() == ARRAYS.keys()
            for name, array in found.items():
                np.testing.assert_array_equal(array, ARRAYS[name])
    assert num_refused > len(whole)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_any_changed_byte_of_the_index_of_a_file_on_disk(tmp_path, save):
    """Seeking before the start fails there with another error."""
    path = tmp_path / "x.npz"
    whole = saved(save)
    path.write_bytes(whole)
    start = whole.index(b"PK\x01\x02")
    with open(path, "r+b", buffering=0) as writer:
        for place in range(start, len(whole)):
            for change in CHANGES:
                writer.seek(place)
                writer.write(bytes([whole[place] ^ change]))
                try:
                    with open(path, "rb") as file:
                        found = read_npz(file)
                except ValueError as error:
                    assert str(error)
                else:
                    assert found.keys() == ARRAYS.keys()
            writer.seek(place)
            writer.write(whole[place : place + 1])


def test_any_changed_byte_of_a_header_with_its_checksum():
    file = io.BytesIO()
    np.save(file, ARRAYS["x"])
    whole = file.getvalue()
    for place in range(len(whole)):
        for change in CHANGES:
            content = bytearray(whole)
            content[place] ^= change
            file = io.BytesIO()
            with zipfile.ZipFile(file, "w") as archive:
                archive.writestr("x.npy", bytes(content))
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # of Python 2's headers
                    found = read_npz(file)
            except ValueError as error:
                assert str(error)
                continue
            assert isinstance(found["x"], np.ndarray)


def test_a_damaged_lzma_stream():
    # Read as LZMA (14), these numbers announce impossible options.
    noise = np.random.default_rng(0).normal(size=20000)
    content = bytearray(saved(arrays={"x": noise}))
    content[content.rfind(b"PK\x01\x02") + 10] = 14
    with pytest.raises(ValueError):
        read_npz(io.BytesIO(content))


def test_a_damaged_shape_of_a_long_array():
    """NumPy alone would return the first numbers without an error."""
    content = saved(arrays={"x": np.arange(90_000)})
    with pytest.raises(ValueError, match="more numbers than its shape"):
        read_npz(io.BytesIO(content.replace(b"90000", b"10000")))
    # A checksum at the end of many blocks.
    content = content.replace(np.int64(89_000).tobytes(), bytes(8))
    with pytest.raises(ValueError, match="Bad CRC-32"):
        read_npz(io.BytesIO(content))


def with_header(shape):
    """A file with 40 bytes of data, an intact checksum and any header."""
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}}}\n"
    size = len(header).to_bytes(2, "little")
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(
            "x.npy",
            np.lib.format.magic(1, 0) + size + header.encode() + bytes(40),
        )
    return io.BytesIO(file.getvalue())


def test_a_header_of_too_many_numbers_is_no_full_memory():
    np.testing.assert_array_equal(
        read_npz(with_header("(5,)"))["x"], np.zeros(5)
    )
    message = r"x.npy has 40 bytes of numbers, its shape \(6,\) needs 48"
    with pytest.raises(ValueError, match=message):
        read_npz(with_header("(6,)"))
    with pytest.raises(ValueError, match="needs 8796093022208"):  # 8 * 2**40
        read_npz(with_header("(1099511627776,)"))
    # Python's parser has no memory for it.
    with pytest.raises(ValueError, match="x.npy has a damaged header"):
        read_npz(with_header("(" + "-" * 9000 + "1,)"))


def test_names_of_columns_in_any_script():
    """NumPy writes them with version 3 of its headers."""
    table = np.array([(1, 2.0)], dtype=[("\u4e00", "i4"), ("\u00e4", "f8")])
    with pytest.warns(UserWarning, match="format 3.0"):
        content = saved(arrays={"x": table})
    found = read_npz(io.BytesIO(content))["x"]
    assert found.dtype == table.dtype and found.tolist() == [(1, 2.0)]


def test_files_of_other_kinds():
    single = io.BytesIO()
    np.save(single, ARRAYS["x"])
    with pytest.raises(ValueError, match="a single array without a name"):
        read_npz(io.BytesIO(single.getvalue()))
    for content in (b"", b"label,x\na,1\n"):
        with pytest.raises(ValueError, match="not a zip file"):
            read_npz(io.BytesIO(content))
    with pytest.raises(ValueError, match="Object arrays cannot be loaded"):
        read_npz(io.BytesIO(saved(arrays={"x": np.array([{}])})))
    other = io.BytesIO()
    with zipfile.ZipFile(other, "w") as archive:
        archive.writestr("text", b"plain text")
    with pytest.raises(ValueError, match="magic string is not correct"):
        read_npz(io.BytesIO(other.getvalue()))


def test_a_fault_of_the_machine_is_no_damage():
    for fault in (OSError(errno.EIO, "Input/output error"), MemoryError()):

        class Unreadable(io.BytesIO):
            def read(self, size=-1, error=fault):
                if self.tell() == 30:  # after the header of the first array
                    raise error
                return super().read(size)

        with pytest.raises(type(fault)):
            read_npz(Unreadable(saved()))
