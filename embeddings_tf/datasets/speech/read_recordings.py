"""Folders of recordings, one subfolder per speaker."""

import os

import numpy as np

from embeddings_tf.datasets.speech import wave_files
from embeddings_tf.datasets.utterances import Utterances
from embeddings_tf.ops import arguments


def read_recordings(
    folder: str | os.PathLike, sample_rate: int | None = None
) -> tuple[Utterances, np.ndarray, np.ndarray]:
    """Reads a folder of WAV files, `speaker/.../utterance.wav`.

    Use it for VoxCeleb1 and VoxCeleb2, whose folders `wav` contain
    `speaker/video/utterance.wav`, and for other folders by speaker.
    `load("voxceleb1", "test")` calls it. It reads headers only; samples are
    read on demand, so a set may be larger than the memory.

    Names are as in the lists of trials of VoxCeleb, for
    `read_trials(path, names)`. Speakers as integers:
    `np.unique(speakers, return_inverse=True)[1]`.

    Args:
        folder: The folder of the speakers.
        sample_rate: Samples in a second that every recording must have. None:
            as many as the first has.

    Returns:
        `(x, speakers, names)`: `Utterances` of `int16` samples, and `str` of
        shape `(utterances,)`: the first part of each path, and the path, from
        `folder` on. In the order of the names.

    Raises:
        ValueError: If a file is not a WAV file of one channel and 16 bits, is
            truncated or has another rate, or is not in a speaker's folder.
        OSError: If there are no WAV files, or one cannot be read.

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
    names = sorted(
        path.relative_to(folder).as_posix() for path in folder.rglob("*.wav")
    )
    if not names:
        raise FileNotFoundError(_nothing(folder))
    paths = [folder / name for name in names]
    for name, path in zip(names, paths, strict=True):
        if "/" not in name:
            raise ValueError(
                f"{path} lies in no speaker's folder: expected "
                "speaker/.../utterance.wav from the folder that is read on."
            )
    lengths, rates = zip(*map(wave_files.count_samples, paths), strict=True)
    sample_rate = wave_files.common_rate(paths, rates, sample_rate)

    def read(number):
        return wave_files.read_samples(paths[number], 0, lengths[number])

    speakers = np.array([name.partition("/")[0] for name in names])
    x = Utterances(read, lengths, sample_rate=sample_rate)
    return x, speakers, np.array(names)


def _nothing(folder):
    if next(folder.rglob("*.m4a"), None) is not None:
        return (
            f"{folder} has .m4a files and no .wav files; convert them, one to "
            "one: ffmpeg -i 00001.m4a -ac 1 -ar 16000 00001.wav"
        )
    return (
        f"{folder} has no files speaker/.../utterance.wav; put the folder of "
        "the speakers there, or name another one."
    )
