"""Hashes of the user's own code, so that a run continues with the same."""

import functools
import hashlib
import os
import pathlib
from collections.abc import Mapping

from trainers.config.own_code import file_and_name
from trainers.config.own_code import own_code_names


def own_code_hashes(config: Mapping) -> dict[str, str]:
    """Returns the SHA-256 of each file that a config names as `FILE.py:NAME`.

    Files that these import have no hash. Neither have modules, which come with
    a package, nor data, which has a fingerprint. A file that is not there is
    left out; using it says so.
    """
    parts = {name: part for name, part in config.items() if name != "dataset"}
    named = filter(None, map(file_and_name, own_code_names(parts)))
    found = {}
    for file in sorted({file for file, _ in named}):
        path = pathlib.Path(os.path.expanduser(file)).absolute()
        if path.is_file():
            found[file] = _hash(path)
    return found


@functools.cache
def _hash(path: pathlib.Path) -> str:
    """The code is also read once in each process."""
    return hashlib.sha256(path.read_bytes()).hexdigest()
