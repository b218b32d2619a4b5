"""Texts of the caller, for the folder `assets.extra` of a version."""

import pathlib
from collections.abc import Mapping

from embeddings_tf.export import gallery_signatures
from embeddings_tf.export import signature_table
from embeddings_tf.export import warm_up

_OWN_FILES = (signature_table.FILE, gallery_signatures.FILE, warm_up.FILE)


def checked_files(files) -> dict[str, str]:
    """Returns the additional files; ValueError for other types or paths."""
    if files is None:
        return {}
    if not isinstance(files, Mapping):
        raise ValueError(
            f"files must be texts by file name; received {files!r}."
        )
    for name, text in files.items():
        is_name = isinstance(name, str) and name not in ("", ".", "..")
        is_name = is_name and name == pathlib.Path(name).name
        is_name = is_name and name not in _OWN_FILES
        if not is_name or not isinstance(text, str) or "\0" in name:
            raise ValueError(
                "files must be texts by file name, without folders and not "
                f"{' or '.join(_OWN_FILES)}; received {name!r}: {text!r}."
            )
    return dict(files)
