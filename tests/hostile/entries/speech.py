"""Speech: waveforms, features, files."""

import gzip
import wave

import numpy as np
import tensorflow as tf

from embeddings_tf.datasets import Utterances
from embeddings_tf.datasets import speech
from tests.hostile.entries.data import FRAMES
from tests.hostile.entries.data import WAVE
from tests.hostile.entries.data import folder
from tests.hostile.judging import Entry
from tests.hostile.values import HUGE
from tests.hostile.values import anything
from tests.hostile.values import chosen
from tests.hostile.values import count
from tests.hostile.values import either
from tests.hostile.values import floats
from tests.hostile.values import number
from tests.hostile.values import refused
from tests.hostile.values import same
from tests.hostile.values import seed
from tests.hostile.values import seed_pair

RATE = 8000
SHORT = WAVE[:400]


def wave_values(x):
    # Samples are rounded to other dtypes in their own range.
    return [
        *chosen(
            floats(x),
            "int8",
            "int64",
            "uint8",
            "float16",
            "bfloat16",
            "booleans",
            "one more axis",
            "int64 beyond 2^53",
        ),
        either("int16", x.astype(np.int16), x.astype(np.int16).astype("f4")),
        refused("two more axes", x[np.newaxis, np.newaxis]),
    ]


def lengths(value, too_many):
    """Lengths for a batch of one utterance."""
    return [
        same("a list", [value], np.array([value])),
        same("a tensor", tf.constant([value]), np.array([value])),
        either(
            "uint8", np.array([value % 200], np.uint8), np.array([value % 200])
        ),
        refused("a float", np.array([float(value)])),
        refused("negative", np.array([-1])),
        refused("too many", np.array([too_many])),
        refused("2^32 too many", np.array([2**32 + value])),
        refused("huge", np.array([HUGE])),
        refused("two", np.array([value, value])),
        refused("a matrix", np.array([[value]])),
        refused("text", "hostile"),
        refused("ragged", [[1], [1, 2]]),
    ]


def mfcc_arguments(rate_values=()):
    return {
        "sample_rate": [
            *chosen(count(RATE), "True", "huge", "beyond int64"),
            refused("399", 399),
            *rate_values,
        ],
        "num_coefficients": chosen(count(5), "huge", "beyond int64"),
        "num_mel_bins": chosen(count(12), "huge", "beyond int64"),
        "low_frequency": chosen(number(20.0, low=0), "1e38", "infinity"),
        "high_frequency": chosen(
            number(3700.0, low=0, high=4000), "1e-40", "True"
        ),
    }


FRONT_END = {
    "sample_rate": RATE,
    "num_coefficients": 5,
    "num_mel_bins": 12,
    "low_frequency": 20.0,
    "high_frequency": 3700.0,
}
BATCH = WAVE[np.newaxis]
TRUTH = [refused("text", "no"), refused("None", None), refused("0.5", 0.5)]
# Part of the recording is not used: the value of the last sample.
IN_PADDING = ("NaN", "infinity", "-infinity")
KEEP = np.arange(9) % 3 > 0


class Files:
    """Small valid and damaged files of each kind, made once."""

    def __init__(self):
        self.folder = folder()
        self.recordings = self.folder / "recordings"
        for name in ("a/1.wav", "a/2.wav", "b/1.wav"):
            self.write_wave(self.recordings / name)
        self.trials = self.write("trials.txt", b"1 a/1.wav a/2.wav\n0 a b\n")

    def write(self, name, content):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return path

    def write_wave(self, path, channels=1, width=2, frames=200, rate=RATE):
        path.parent.mkdir(parents=True, exist_ok=True)
        with wave.open(str(path), "wb") as file:
            file.setnchannels(channels)
            file.setsampwidth(width)
            file.setframerate(rate)
            file.writeframes(b"\1" * channels * width * frames)
        return path

    def wave_folder(self, name, **options):
        folder = self.folder / name
        self.write_wave(folder / "a" / "1.wav", **options)
        self.write_wave(folder / "b" / "1.wav")
        return folder

    def kaldi(self, name, **content):
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        for file, lines in content.items():
            (folder / file.replace("_dot_", ".")).write_bytes(lines)
        return folder


FILES = Files()
OTHER = FILES.folder / "nothing_here"


def recordings(folder, sample_rate):
    x, *labels = speech.read_recordings(folder, sample_rate)
    return [x[i] for i in range(len(x))], labels[0]


def kaldi(folder, **options):
    x, *_ = speech.read_kaldi(folder, **options)
    return [x[i] for i in range(len(x))]


def trials(path, names):
    first, second, is_target = speech.read_trials(path, names)
    return is_target, first if names is not None else None


def augmented(x, **arguments):
    made = speech.augment(x, **arguments)
    return [made[i] for i in range(len(made))]


SOUND = Utterances(np.concatenate([SHORT, SHORT[:300]]), [400, 300])
SILENT = Utterances(np.zeros(300, "float32"), [300])
ROOM = Utterances(np.array([0.1, 1.0, 0.5], "float32"), [3])
DAMAGED = Utterances(np.array([np.nan, 1.0]), [2])
GOOD_KALDI = {
    "wav_dot_scp": f"a {FILES.recordings}/a/1.wav\n"
    f"b {FILES.recordings}/b/1.wav\n".encode(),
    "utt2spk": b"a s1\nb s2\n",
}

ENTRIES = {
    "datasets.speech.add_noise": Entry(
        speech.add_noise,
        {
            "waveform": SHORT,
            "noise": WAVE[500:700],
            "snr": 10.0,
            "seed": (1, 2),
        },
        {
            "waveform": [*wave_values(SHORT), refused("one more axis", BATCH)],
            "noise": chosen(
                wave_values(WAVE[500:700]),
            )
            + [refused("two more axes", WAVE[None, None, 500:700])],
            "snr": [
                *chosen(number(10.0), "a list", "1e-40"),
                refused("two for one source", np.array([1.0, 2.0])),
                anything("-1e6", -1e6),
            ],
            "seed": seed_pair(),
        },
        known={"times 1e": "float32 has no such power"},
    ),
    "datasets.speech.augment": Entry(
        augmented,
        {
            "x": SOUND,
            "noise": SOUND,
            "room_responses": ROOM,
            "snr": (5.0, 15.0),
            "num_sources": (1, 1),
            "seed": 0,
        },
        {
            "x": [
                refused("an array", SHORT),
                refused("damaged", DAMAGED),
                refused("None", None),
                anything("silent", SILENT),
            ],
            "noise": [
                refused("an array", SHORT),
                refused("damaged", DAMAGED),
                anything("silent", SILENT),
                refused("features", Utterances(FRAMES, [9])),
                refused("none", Utterances(np.zeros(0), [])),
            ],
            "room_responses": [
                refused("an array", SHORT),
                refused("damaged", DAMAGED),
                refused("silent", SILENT),
                refused("none", Utterances(np.zeros(0), [])),
            ],
            "snr": [
                refused("one", (5.0,)),
                refused("a number", 5.0),
                refused("falling", (15.0, 5.0)),
                refused("NaN", (np.nan, 1.0)),
                refused("infinite", (5.0, np.inf)),
                refused("text", "ab"),
                refused("None", None),
                same("a list", [5, 15], (5.0, 15.0)),
            ],
            "num_sources": [
                refused("none", (0, 1)),
                refused("falling", (2, 1)),
                refused("too many", (1, 5)),
                refused("a number", 1),
                refused("fractions", (1.0, 1.5)),
                refused("None", None),
                refused("three", (1, 1, 1)),
                same("a list", [1, 1], (1, 1)),
            ],
            "seed": [*chosen(seed(), "-1"), refused("-1", -1)],
        },
    ),
    "datasets.speech.count_frames": Entry(
        speech.count_frames,
        {"length": np.array([1000, 80]), "sample_rate": RATE},
        {
            "length": [
                same("a list", [1000, 80], np.array([1000, 80])),
                same(
                    "int16",
                    np.array([1000, 80], np.int16),
                    np.array([1000, 80]),
                ),
                either(
                    "uint16",
                    np.array([1000, 80], np.uint16),
                    np.array([1000, 80]),
                ),
                refused("floats", np.array([1000.0])),
                refused("NaN", np.nan),
                refused("text", "hostile"),
                refused("None", None),
                refused("negative", -5),
                refused("beyond int32", np.array([2**32 + 80])),
                refused("ragged", [[1], [1, 2]]),
            ],
            "sample_rate": [
                *chosen(count(RATE), "True", "huge", "beyond int64"),
                refused("399", 399),
                anything("huge", 2**40),
            ],
            "snip_edges": TRUTH,
        },
    ),
    "datasets.speech.energy_vad": Entry(
        speech.energy_vad,
        {
            "log_energy": FRAMES[np.newaxis, :, 0],
            "length": np.array([7]),
            "threshold": 0.1,
            "mean_scale": 0.5,
            "context": 2,
            "proportion": 0.3,
        },
        {
            "log_energy": chosen(
                floats(FRAMES[np.newaxis, :, 0]),
                "NaN",
                "infinity",
                "-infinity",
                "no rows",
                "no columns",
                "one axis less",
                "times 1e38",
            ),
            "length": lengths(7, 10),
            "threshold": number(0.1),
            "mean_scale": number(0.5, low=0),
            "context": chosen(count(2, least=0), "True"),
            "proportion": number(0.3, low=0, high=1),
        },
    ),
    "datasets.speech.front_end": Entry(
        speech.front_end,
        {
            "waveform": BATCH,
            "length": np.array([3000]),
            "min_num_frames": 1,
            **FRONT_END,
        },
        {
            "waveform": chosen(
                wave_values(BATCH),
                "two more axes",
                "one axis less",
                *IN_PADDING,
                "a constant",
                "zeros",
                "a list",
                "times 1e-40",
                "times 1e19",
                "times 1e38",
            )
            + [
                refused("zeros", 0 * BATCH),
                refused("in -1..1", BATCH / 4e3),
                refused("a constant", BATCH * 0 + 7),
                anything("times 1e19", BATCH * np.float32(1e19)),
            ],
            "length": lengths(3000, 3201),
            "min_num_frames": count(1),
            **mfcc_arguments(),
        },
    ),
    "datasets.speech.keep_frames": Entry(
        speech.keep_frames,
        {"features": FRAMES, "keep": KEEP},
        {
            "features": chosen(
                floats(FRAMES),
                "NaN",
                "infinity",
                "-infinity",
                "all NaN",
                "one more axis",
                "no columns",
                "one axis less",
                "no rows",
            ),
            "keep": [
                same("a list", KEEP.tolist(), KEEP),
                same("a tensor", tf.constant(KEEP), KEEP),
                refused("integers", KEEP.astype(int)),
                refused("one too few", KEEP[:-1]),
                refused("scalar", True),
                refused("matrix", KEEP[np.newaxis]),
                refused("None", None),
                refused("text", "hostile"),
                anything("nothing", KEEP & False),
            ],
        },
    ),
    "datasets.speech.mfcc": Entry(
        speech.mfcc,
        {
            "waveform": BATCH,
            "length": np.array([3000]),
            "snip_edges": False,
            **FRONT_END,
        },
        {
            "waveform": chosen(
                wave_values(BATCH),
                "two more axes",
                "one axis less",
                *IN_PADDING,
                "no rows",
                "a list",
            )
            + [refused("two more axes", BATCH[np.newaxis])],
            "snip_edges": TRUTH,
            "length": lengths(3000, 3201),
            **mfcc_arguments(
                [refused("above what high_frequency allows", 4000)]
            ),
        },
    ),
    "datasets.speech.read_kaldi": Entry(
        kaldi,
        {"folder": FILES.kaldi("good", **GOOD_KALDI)},
        {
            "folder": [
                refused("missing", OTHER),
                refused("a file", FILES.trials),
                refused("empty", FILES.kaldi("empty")),
                refused("None", None),
                *(
                    refused(
                        name,
                        FILES.kaldi(
                            name.replace(" ", "_"), **{**GOOD_KALDI, **content}
                        ),
                    )
                    for name, content in (
                        ("no recordings", {"wav_dot_scp": b""}),
                        ("a command", {"wav_dot_scp": b"a sox x |\n"}),
                        ("missing recording", {"wav_dot_scp": b"a gone.wav\n"}),
                        ("one word", {"wav_dot_scp": b"a\n"}),
                        ("no text", {"wav_dot_scp": b"\xff\xfe\0\n"}),
                        (
                            "a name twice",
                            {"wav_dot_scp": 2 * GOOD_KALDI["wav_dot_scp"]},
                        ),
                        ("a speaker missing", {"utt2spk": b"a s1\n"}),
                        ("speakers without words", {"utt2spk": b"a\nb\n"}),
                        ("damaged features", {"feats_dot_scp": b"a x:9\n"}),
                    )
                ),
            ],
            "sample_rate": [
                refused("another", 16000),
                refused("0", 0),
                refused("text", "8000"),
                refused("NaN", np.nan),
            ],
            "root": [refused("missing", OTHER)],
        },
        raises=(OSError,),
        known={"root: missing": "paths are absolute"},
    ),
    "datasets.speech.read_recordings": Entry(
        recordings,
        {"folder": FILES.recordings, "sample_rate": None},
        {
            "folder": [
                same("text", str(FILES.recordings), FILES.recordings),
                refused("missing", OTHER),
                refused("a file", FILES.trials),
                refused("no text", FILES.folder / "empty"),
                refused("None", None),
                refused("two channels", FILES.wave_folder("two", channels=2)),
                refused("8 bits", FILES.wave_folder("eight", width=1)),
                refused("no samples", FILES.wave_folder("none", frames=0)),
                refused("two rates", FILES.wave_folder("rates", rate=16000)),
            ],
            "sample_rate": [
                refused("another", 16000),
                refused("0", 0),
                refused("fraction", 8000.5),
                refused("text", "8000"),
                refused("NaN", np.nan),
                same("equal", RATE, None),
            ],
        },
        raises=(OSError,),
    ),
    "datasets.speech.read_trials": Entry(
        trials,
        {"path": FILES.trials, "names": ["a/1.wav", "a/2.wav", "a", "b"]},
        {
            "path": [
                same("text", str(FILES.trials), FILES.trials),
                same(
                    "compressed",
                    FILES.write(
                        "trials.gz", gzip.compress(FILES.trials.read_bytes())
                    ),
                    FILES.trials,
                ),
                refused("missing", OTHER),
                refused("a folder", FILES.folder),
                refused("empty", FILES.write("none.txt", b"\n\n")),
                refused("two words", FILES.write("two.txt", b"1 a\n")),
                refused("a third kind", FILES.write("third.txt", b"2 a b\n")),
                refused("not text", FILES.write("bytes.txt", b"\xff\xfe\0")),
                refused("not compressed", FILES.write("bad.gz", b"1 a b\n")),
                refused(
                    "cut",
                    FILES.write("cut.gz", gzip.compress(b"1 a b\n" * 99)[:-9]),
                ),
                refused("None", None),
            ],
            "names": [
                same(
                    "a tuple",
                    ("a/1.wav", "a/2.wav", "a", "b"),
                    ["a/1.wav", "a/2.wav", "a", "b"],
                ),
                refused("none", []),
                refused("twice", ["a", "a", "b"]),
                refused("some", ["a", "b"]),
                refused("numbers", [1, 2]),
                refused("text", "ab"),
                refused("a number", 3),
            ],
        },
        raises=(OSError,),
    ),
    "datasets.speech.repeat_or_crop": Entry(
        speech.repeat_or_crop,
        {
            "features": FRAMES[np.newaxis],
            "num_frames": 5,
            "seed": (1, 2),
            "length": np.array([7]),
        },
        {
            "features": chosen(
                floats(FRAMES[np.newaxis]),
                "NaN",
                "infinity",
                "-infinity",
                "all NaN",
                "one axis less",
                "no columns",
            ),
            "num_frames": chosen(
                count(5), "an array of one", "huge", "beyond int64"
            )
            + [either("an array of one", np.array(5), 5)],
            "seed": seed_pair(),
            "length": lengths(7, 10) + [refused("no frame", np.array([0]))],
        },
    ),
    "datasets.speech.reverberate": Entry(
        speech.reverberate,
        {"waveform": SHORT, "room_response": ROOM[0]},
        {
            "waveform": [
                *chosen(wave_values(SHORT)),
                refused("one more axis", BATCH),
            ],
            "room_response": [
                *chosen(floats(ROOM[0]), "zeros", "booleans", "times 1e-40"),
                refused("zeros", ROOM[0] * 0),
            ],
        },
        known={"times 1e": "float32 has no such power"},
    ),
    "datasets.speech.subtract_sliding_mean": Entry(
        speech.subtract_sliding_mean,
        {"features": FRAMES[np.newaxis], "length": np.array([7]), "window": 4},
        {
            "features": chosen(
                floats(FRAMES[np.newaxis]),
                "NaN",
                "infinity",
                "-infinity",
                "one axis less",
                "no columns",
                "no rows",
                "times 1e38",
            ),
            "length": lengths(7, 10),
            "window": count(4),
        },
    ),
}
