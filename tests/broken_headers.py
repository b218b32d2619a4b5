"""Files of NumPy with a header that is not a Python literal."""

import pathlib
import zipfile


def break_header(path: pathlib.Path) -> None:
    """Removes the last brace of the header of a file of `np.save`."""
    content = path.read_bytes()
    path.write_bytes(content.replace(b"}", b" ", 1))


def break_headers(path: pathlib.Path) -> None:
    """Does this in every array of a file of `np.savez`, with its checksum."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content.replace(b"}", b" ", 1))
