"""Writes content to a file as a whole."""

import pathlib

from embeddings_tf.ops.atomic_file import atomic_file


def write_atomically(path: pathlib.Path, content: bytes | str) -> None:
    """Writes a file: a reader sees the complete old or the complete new file.

    Args:
        path: The file; an existing file is replaced.
        content: Text is written in UTF-8.
    """
    if isinstance(content, str):
        content = content.encode()
    with atomic_file(path) as temporary:
        temporary.write_bytes(content)
