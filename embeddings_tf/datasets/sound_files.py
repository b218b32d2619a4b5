"""Reads files of recordings when they are needed."""

import os
from collections.abc import Sequence

import numpy as np

from embeddings_tf.datasets.speech import wave_files
from embeddings_tf.datasets.utterances import Utterances
from embeddings_tf.ops.counted import counted
from embeddings_tf.ops.listed import listed
from embeddings_tf.ops.require_no_pipe import require_no_pipe

EXTENSIONS = (".wav", ".flac", ".ogg")


def sound_files(folder: str | os.PathLike, names: Sequence[str]) -> Utterances:
    """Returns WAV, FLAC and Ogg files as `Utterances` of `int16` samples.

    The call reads only file headers. WAV files have one channel of 16 bits;
    other formats are read by the package soundfile, and also have one channel.

    Args:
        folder: The folder in which the names start.
        names: Paths of the files.

    Raises:
        ValueError: If a recording has several channels, no samples, another
            rate than the first recording, or is damaged or truncated.
        OSError: If a file cannot be read.
        ImportError: If a file is not WAV and soundfile is not installed.
    """
    paths = [os.path.join(folder, name) for name in names]
    lengths, rates = zip(*_headers(paths), strict=True)
    sample_rate = wave_files.common_rate(paths, rates, None)

    def read(number):
        path = paths[number]
        if _is_wave(path):
            return wave_files.read_samples(path, 0, lengths[number])
        return _decoded(path, lengths[number])

    return Utterances(read, lengths, sample_rate=sample_rate, names=names)


def _headers(paths):
    """Returns length and rate of each file; names all that are bad."""
    found, errors, bad = [], [], []
    for path in paths:
        try:
            found.append(_header(path))
        except (ValueError, OSError) as error:
            errors.append(error)
            bad.append(path)
    if len(errors) > 1:
        others = counted(len(bad) - 1, "more file is", "more files are")
        others += f" bad: {listed(bad[1:], 20)}."
        raise type(errors[0])(f"{errors[0]} {others}") from errors[0]
    if errors:
        raise errors[0]
    return found


def _is_wave(path):
    return path.lower().endswith(".wav")


def _header(path):
    """Returns length and sample rate of a recording."""
    if _is_wave(path):
        return wave_files.count_samples(path)
    require_no_pipe(path)
    soundfile = _soundfile(path)
    try:
        found = soundfile.info(path)
    except soundfile.SoundFileError as error:
        raise ValueError(_damaged(path, error)) from error
    if found.channels != 1 or found.frames < 1:
        raise ValueError(
            f"{path} has {counted(found.channels, 'channel')} of "
            f"{counted(found.frames, 'sample')}, expected one channel with "
            "samples; convert it, for instance with ffmpeg or sox."
        )
    return found.frames, found.samplerate


def _decoded(path, num_samples):
    soundfile = _soundfile(path)
    try:
        if soundfile.info(path).subtype.startswith("PCM"):
            samples, _ = soundfile.read(path, dtype="int16")
        else:
            # Loud samples are beyond 1, and would change their sign as int16.
            samples, _ = soundfile.read(path, dtype="float32")
            samples = np.rint(32767 * samples).clip(-32768, 32767)
            samples = samples.astype(np.int16)
    except soundfile.SoundFileError as error:
        raise ValueError(_damaged(path, error)) from error
    if samples.shape != (num_samples,):
        raise ValueError(
            f"{path} announces {num_samples} samples but has {len(samples)}; "
            "it is truncated or was replaced. Fetch it again or leave it out."
        )
    return np.asarray(samples)


def _damaged(path, error):
    return (
        f"{path} is damaged, truncated or of another format ({error}); fetch "
        "it again or leave it out."
    )


def _soundfile(path):
    # Imported here because only files that are not WAV need it.
    try:
        import soundfile
    except (ImportError, OSError) as error:
        raise ImportError(
            f"{path} is not WAV: reading it needs the package soundfile, "
            "pip install 'embeddings_tf[audio]'; or convert it to WAV, for "
            "instance with ffmpeg or sox."
        ) from error
    return soundfile
