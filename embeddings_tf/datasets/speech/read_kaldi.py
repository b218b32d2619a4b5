"""Reads data directories of Kaldi."""

import os
import re

import numpy as np

from embeddings_tf.datasets.speech import kaldi_matrix
from embeddings_tf.datasets.speech import wave_files
from embeddings_tf.datasets.utterances import Utterances
from embeddings_tf.ops import arguments
from embeddings_tf.ops.require_no_pipe import require_no_pipe

_PLACE = re.compile(r"(.+):(\d+)")
# Seconds by which a segment may exceed its recording, as in Kaldi.
_OVERSHOOT = 0.5


def read_kaldi(
    folder: str | os.PathLike,
    *,
    root: str | os.PathLike | None = None,
    sample_rate: int | None = None,
) -> tuple[Utterances, np.ndarray, np.ndarray]:
    """Reads a data directory of Kaldi: features or recordings, and speakers.

    Use it for data that a Kaldi recipe has prepared, such as NIST SRE.
    `load("kaldi", name)` calls it. Values are read on demand, so the data may
    be larger than the memory.

    | file | contains |
    |---|---|
    | `feats.scp` | features in binary archives, plain or compressed |
    | `wav.scp`, without `feats.scp` | recordings, WAV files |
    | `segments` | parts: `utterance recording start end`, in seconds |
    | `utt2spk`, else `spk2utt` | speakers; both must agree if both exist |

    Utterances with neither features nor a recording are skipped. No command is
    run: an entry of `wav.scp` or `feats.scp` that ends in `|` is refused.

    Args:
        folder: The data directory.
        root: Folder where relative paths in the files start, usually the folder
            from which Kaldi was run. None: `folder`.
        sample_rate: Samples per second that every recording must have. None:
            the rate of the first recording.

    Returns:
        `(x, speakers, names)`: `Utterances` of `float32` features of shape
        `(frames, dim)` or of `int16` samples, then speakers and names, `str` of
        shape `(utterances,)`. The order is the order of `feats.scp`,
        `segments` or `wav.scp`.

    Raises:
        ValueError: If a line is malformed, a name occurs twice, an utterance
            has no speaker or no recording, an entry is a command, a matrix is
            invalid, truncated or of another dimension, or a recording is not
            a WAV file, is truncated or has another rate.
        OSError: If a file is missing, is a pipe or cannot be read.

    Example:

    >>> folder = tempfile.TemporaryDirectory()
    >>> matrix = b"\\0BFM \\4" + np.int32(2).tobytes() + b"\\4"
    >>> matrix += np.int32(3).tobytes() + np.arange(6, dtype="<f4").tobytes()
    >>> for name, content in (
    ...     ("feats.ark", b"a-1 " + matrix),
    ...     ("feats.scp", b"a-1 feats.ark:4"),
    ...     ("utt2spk", b"a-1 a"),
    ... ):
    ...     with open(f"{folder.name}/{name}", "wb") as file:
    ...         _ = file.write(content)
    >>> x, speakers, names = embeddings_tf.datasets.speech.read_kaldi(
    ...     folder.name
    ... )
    >>> x[0]
    array([[0., 1., 2.],
           [3., 4., 5.]], dtype=float32)
    >>> speakers.tolist(), names.tolist()
    (['a'], ['a-1'])
    >>> folder.cleanup()
    """
    folder = arguments.path("folder", folder)
    root = folder if root is None else arguments.path("root", root)
    speaker_of = _speakers(folder)
    if (folder / "feats.scp").exists():
        names, x = _features(folder / "feats.scp", root)
    elif (folder / "wav.scp").exists():
        names, x = _recordings(folder, root, sample_rate)
    else:
        raise FileNotFoundError(
            f"{folder} has neither feats.scp nor wav.scp: expected a data "
            "directory of Kaldi."
        )
    strangers = [name for name in names if name not in speaker_of]
    if strangers:
        raise ValueError(
            f"{folder} gives no speaker for {len(strangers)} utterances, the "
            f"first is {strangers[0]!r}; add them to utt2spk, or run Kaldi's "
            "fix_data_dir.sh."
        )
    return x, np.array([speaker_of[name] for name in names]), np.array(names)


def _table(path):
    """Returns the lines of a file as `{first word: the rest}`, in order."""
    require_no_pipe(path)
    rows = {}
    try:
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, start=1):
                name, *rest = line.split(maxsplit=1) or ("",)
                if not rest:
                    raise ValueError(
                        f"{path}, line {number}, is {line.strip()[:80]!r}: "
                        "expected a name and its value."
                    )
                if name in rows:
                    raise ValueError(
                        f"{path} has {name!r} twice, again in line {number}; "
                        "names must be different."
                    )
                rows[name] = rest[0].strip()
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not text ({error}).") from error
    if not rows:
        raise ValueError(
            f"{path} is empty; expected a line for each name, fetch it again."
        )
    return rows


def _speaker_table(path):
    """Returns the speaker of each utterance; a speaker is one word."""
    speaker_of = _table(path)
    for name, speaker in speaker_of.items():
        if len(speaker.split()) > 1:
            raise ValueError(
                f"{path} has {speaker!r} for {name!r}; expected a speaker "
                "without blanks and nothing after it."
            )
    return speaker_of


def _speakers(folder):
    """Returns the speaker of each utterance."""
    by_utterance, by_speaker = folder / "utt2spk", folder / "spk2utt"
    if by_speaker.exists():
        speaker_of = {}
        for speaker, utterances in _table(by_speaker).items():
            for name in utterances.split():
                if name in speaker_of:
                    raise ValueError(
                        f"{by_speaker} has {name!r} twice, for "
                        f"{speaker_of[name]!r} and for {speaker!r}."
                    )
                speaker_of[name] = speaker
        if not by_utterance.exists():
            return speaker_of
    if not by_utterance.exists():
        raise FileNotFoundError(
            f"{folder} has neither utt2spk nor spk2utt: expected a data "
            "directory of Kaldi."
        )
    found = _speaker_table(by_utterance)
    if by_speaker.exists() and found != speaker_of:
        name = min(
            name
            for name in {*found, *speaker_of}
            if found.get(name) != speaker_of.get(name)
        )
        raise ValueError(
            f"{folder} has utterance {name!r} of speaker {found.get(name)!r} "
            f"in utt2spk and of {speaker_of.get(name)!r} in spk2utt; make one "
            "from the other."
        )
    return found


def _entries(path):
    """Returns the entries of a script file; raises if one is a command."""
    entries = _table(path)
    for name, entry in entries.items():
        if entry.endswith("|") or entry.startswith("|"):
            raise ValueError(
                f"{path} has a command for {name!r}, {entry[:60]!r}, and "
                "commands are not run; write its output to a file and name the "
                "file (wav-copy and copy-feats do so for all entries)."
            )
        if entry.endswith("]"):
            raise ValueError(
                f"{path} cuts {name!r} from a longer matrix, {entry[-60:]!r}, "
                "which is not supported; write the parts with copy-feats."
            )
    return entries


def _features(path, root):
    names, paths, places = [], [], []
    opened = None
    try:
        for name, entry in _entries(path).items():
            match = _PLACE.fullmatch(entry)
            archive, offset = match.groups() if match else (entry, 0)
            archive = root / archive
            if opened is None or opened.name != str(archive):
                if opened is not None:
                    opened.close()
                opened = _opened(archive, name, path)
            place = kaldi_matrix.find_matrix(opened, int(offset), name)
            if places and place.num_columns != places[0].num_columns:
                raise ValueError(
                    f"{name} has {place.num_columns} features per frame, and "
                    f"{names[0]} has {places[0].num_columns}; {path} must name "
                    "features of one kind."
                )
            names.append(name)
            paths.append(archive)
            places.append(place)
    finally:
        if opened is not None:
            opened.close()

    def read(number):
        with open(paths[number], "rb") as file:
            return kaldi_matrix.read_matrix(file, places[number], names[number])

    return names, Utterances(read, [place.num_rows for place in places])


def _opened(path, name, listed_in):
    try:
        require_no_pipe(path)
        return open(path, "rb")
    except FileNotFoundError as error:
        raise FileNotFoundError(
            f"{path}, which {listed_in} names for {name!r}, does not exist; "
            "pass root=..., the folder where its relative paths start."
        ) from error


def _recordings(folder, root, sample_rate):
    paths = {
        name: root / entry
        for name, entry in _entries(folder / "wav.scp").items()
    }
    length_of, rates = {}, []
    for name, path in paths.items():
        with _opened(path, name, folder / "wav.scp"):
            length_of[name], rate = wave_files.count_samples(path)
        rates.append(rate)
    rate = wave_files.common_rate(list(paths.values()), rates, sample_rate)
    parts = {name: (name, 0, length) for name, length in length_of.items()}
    if (folder / "segments").exists():
        parts = _segments(folder / "segments", length_of, rate)
    names, parts = list(parts), list(parts.values())

    def read(number):
        recording, first, length = parts[number]
        return wave_files.read_samples(paths[recording], first, length)

    lengths = [length for _, _, length in parts]
    return names, Utterances(read, lengths, sample_rate=rate)


def _segments(path, length_of, rate):
    """Returns recording, first sample and length of each utterance."""
    parts = {}
    for name, row in _table(path).items():
        words = row.split()
        try:
            recording, start, end = words
            start, end = float(start), float(end)
        except ValueError:
            recording, start, end = words[0], np.nan, np.nan
        if recording not in length_of:
            raise ValueError(
                f"{path} cuts {name!r} from {recording!r}, which is not in "
                "wav.scp."
            )
        length = length_of[recording]
        if not 0 <= start < end <= length / rate + _OVERSHOOT:
            raise ValueError(
                f"{path} has {row!r} for {name!r}: expected a recording, start "
                f"and end in seconds, 0 <= start < end, and {recording!r} has "
                f"{length / rate:.2f} seconds."
            )
        first, last = int(start * rate), min(int(end * rate), length)
        if last <= first:
            raise ValueError(f"{path} leaves no sample to {name!r}, {row!r}.")
        parts[name] = recording, first, last - first
    return parts
