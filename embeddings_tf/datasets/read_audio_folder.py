"""Reads folders of recordings, one subfolder per class."""

import os
import pathlib

import numpy as np

from embeddings_tf.datasets.class_folders import Files
from embeddings_tf.datasets.class_folders import list_class_folders
from embeddings_tf.datasets.sound_files import EXTENSIONS
from embeddings_tf.datasets.sound_files import sound_files
from embeddings_tf.datasets.source import Source

# Of other formats, which are named by `--check`.
_UNREAD = (".aac", ".aif", ".aiff", ".m4a", ".mp3", ".oga", ".opus", ".wma")
SOUNDS = Files(
    "audio_folder", "recordings", EXTENSIONS, is_deep=True, unread=_UNREAD
)


def read_audio_folder(folder: str | os.PathLike) -> Source:
    """Reads a folder of recordings: `speaker/**/*.wav`, or with split folders.

    `load("audio_folder:PATH", split)` calls it. The call reads only file
    headers; samples are read on demand, so the data may be larger than the
    memory. Names end in .wav, .flac or .ogg, in lower or upper case. A class
    is a speaker, a word, or any other folder.

    Args:
        folder: The folder of the classes, or of `train`, `validation`, `test`.

    Returns:
        `Utterances` of `int16` samples, sorted by split, class and file name.
        Labels are positions among the sorted names of all classes. The column
        `"speaker"` is the column `"class"`; `"name"` contains the paths, from
        `folder` on.

    Raises:
        ValueError: If a class has no recordings, recordings are outside of
            class folders, differ in sample rate, have several channels, or
            are damaged or truncated.
        OSError: If the folder does not exist or is a file.
        ImportError: If a file is not WAV and soundfile is not installed.

    Example:

    >>> folder = tempfile.TemporaryDirectory()
    >>> samples = tf.audio.encode_wav(tf.zeros((400, 1)), 16000)
    >>> tf.io.write_file(f"{folder.name}/ann/monday/1.wav", samples)
    >>> tf.io.write_file(f"{folder.name}/bob/1.wav", samples)
    >>> source = read_audio_folder(folder.name)
    >>> source.x[0].shape, source.columns["name"].tolist()
    ((400,), ['ann/monday/1.wav', 'bob/1.wav'])
    >>> folder.cleanup()
    """
    folder = pathlib.Path(os.path.expanduser(folder))
    found = list_class_folders(folder, SOUNDS)
    classes = found.classes[found.labels]
    columns = {
        "class": classes,
        "speaker": classes,
        "name": np.array(found.names),
    }
    x = sound_files(folder, found.names)
    return Source(str(folder), x, found.labels, columns, found.splits)
