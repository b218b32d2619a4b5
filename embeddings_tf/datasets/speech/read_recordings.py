"""Reads folders of recordings, one subfolder per speaker."""

import os
import pathlib

import numpy as np

from embeddings_tf.datasets.speech import wave_files
from embeddings_tf.datasets.utterances import Utterances
from embeddings_tf.ops import arguments


def read_recordings(
    folder: str | os.PathLike, sample_rate: int | None = None
) -> tuple[Utterances, np.ndarray, np.ndarray]:
    """Reads a folder of WAV files, `speaker/.../utterance.wav`.

    Use it for VoxCeleb1 and VoxCeleb2, whose folders `wav` contain
    `speaker/video/utterance.wav`, and for other folders sorted by speaker.
    `load("voxceleb1", "test")` calls it. The call reads only file headers;
    samples are read on demand, so the data may be larger than the memory.
    Hidden files and folders are left out, and links to folders are followed.

    Names are as in the trial lists of VoxCeleb, for
    `read_trials(path, names)`. `np.unique(speakers, return_inverse=True)[1]`
    converts speakers to integers.

    Args:
        folder: The folder of the speakers.
        sample_rate: Samples per second that every recording must have. None:
            the rate of the first recording.

    Returns:
        `(x, speakers, names)`: `Utterances` of `int16` samples; speakers, the
        first part of each path; and names, the paths relative to `folder`.
        Both are `str` of shape `(utterances,)`, sorted by name.

    Raises:
        ValueError: If a file is not a WAV file of one channel and 16 bits, is
            truncated or has another rate, or is not in a speaker's folder.
        OSError: If WAV files are missing or cannot be read.

    Example:

    >>> folder = tempfile.TemporaryDirectory()
    >>> samples = tf.audio.encode_wav(tf.zeros((400, 1)), 16000)
    >>> tf.io.write_file(f"{folder.name}/id10270/x6uYqmx31kE/1.wav", samples)
    >>> x, speakers, names = embeddings_tf.datasets.speech.read_recordings(
    ...     folder.name
    ... )
    >>> x[0].shape, speakers.tolist(), names.tolist()
    ((400,), ['id10270'], ['id10270/x6uYqmx31kE/1.wav'])
    >>> folder.cleanup()
    """
    folder = arguments.path("folder", folder)
    names = sorted(_wave_files(folder))
    if not names:
        raise FileNotFoundError(_nothing(folder))
    paths = [folder / name for name in names]
    for name, path in zip(names, paths, strict=True):
        if "/" not in name:
            raise ValueError(
                f"{path} is not in the folder of a speaker: expected "
                "speaker/.../utterance.wav below the folder that is read."
            )
    lengths, rates = zip(*map(wave_files.count_samples, paths), strict=True)
    sample_rate = wave_files.common_rate(paths, rates, sample_rate)

    def read(number):
        return wave_files.read_samples(paths[number], 0, lengths[number])

    speakers = np.array([name.partition("/")[0] for name in names])
    x = Utterances(read, lengths, sample_rate=sample_rate, names=names)
    return x, speakers, np.array(names)


def _wave_files(folder):
    """Yields the files below a folder, relative to it."""
    for place, folders, files in os.walk(
        folder, onerror=_unreadable, followlinks=True
    ):
        if os.path.islink(place) and _is_above(os.path.realpath(place), place):
            folders.clear()  # a link that leads in a circle
            continue
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in files:
            if name.lower().endswith(".wav") and not name.startswith("."):
                path = pathlib.Path(place, name)
                yield path.relative_to(folder).as_posix()


def _unreadable(error):
    """Raises the error: `os.walk` would leave the folder out."""
    if not isinstance(error, FileNotFoundError):  # the whole, which is reported
        raise error


def _is_above(real, place):
    return any(
        os.path.realpath(parent) == real
        for parent in pathlib.Path(place).parents
    )


def _nothing(folder):
    if next(folder.rglob("*.m4a"), None) is not None:
        return (
            f"{folder} has .m4a files and no .wav files; convert each of them: "
            "ffmpeg -i 00001.m4a -ac 1 -ar 16000 00001.wav"
        )
    return (
        f"{folder} has no files speaker/.../utterance.wav; put the folders of "
        "the speakers there, or give another folder."
    )
