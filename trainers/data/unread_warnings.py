"""Names files of a folder that are ignored for their format."""

import collections
import os
import pathlib

from embeddings_tf.datasets.class_folders import unread_files
from embeddings_tf.datasets.read_audio_folder import SOUNDS
from embeddings_tf.datasets.read_image_folder import IMAGES
from embeddings_tf.ops.counted import counted
from embeddings_tf.ops.listed import listed

_FORMATS = {IMAGES: "JPEG or PNG", SOUNDS: "WAV or FLAC"}


def unread_warnings(dataset: str) -> list[str]:
    """Returns a warning for each format of ignored files in classes.

    Args:
        dataset: Name of the data. Other data than folders has no such files.
    """
    kind, _, path = dataset.partition(":")
    found = []
    for files, formats in _FORMATS.items():
        if kind == files.kind:
            folder = pathlib.Path(os.path.expanduser(path))
            counts = _counts(unread_files(folder, files))
            found += [_warning(*one, formats) for one in counts.items()]
    return found


def _counts(names_by_class: dict) -> dict[str, dict[str, int]]:
    """Returns the numbers of files by ending and class."""
    counts: dict = collections.defaultdict(collections.Counter)
    for label, names in names_by_class.items():
        for name in names:
            counts[os.path.splitext(name)[1].lower()][label] += 1
    return dict(sorted(counts.items()))


def _warning(ending: str, counts: dict[str, int], formats: str) -> str:
    total = sum(counts.values())
    classes = listed([*counts])
    if len(counts) > 1:
        classes = f"{len(counts)} classes ({classes})"
    ends = "ends" if total == 1 else "end"
    ignored = "is ignored" if total == 1 else "are ignored"
    it = "it" if total == 1 else "them"
    return (
        f"{counted(total, 'file')} of {classes} {ends} in {ending} and "
        f"{ignored}; convert {it} to {formats}"
    )
