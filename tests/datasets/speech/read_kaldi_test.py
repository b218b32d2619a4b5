import os

import numpy as np
import pytest

from embeddings_tf.datasets import load
from embeddings_tf.datasets.speech import read_kaldi
from tests.datasets.speech_files import compressed_matrix
from tests.datasets.speech_files import float_matrix
from tests.datasets.speech_files import write_ark
from tests.datasets.speech_files import write_table
from tests.datasets.speech_files import write_wav

SPEAKERS = {"b-1": "b", "a-1": "a", "b-2": "b"}


@pytest.fixture
def folder(tmp_path):
    """A data directory without features and recordings."""
    write_table(tmp_path / "utt2spk", SPEAKERS)
    write_table(tmp_path / "spk2utt", {"b": "b-1 b-2", "a": "a-1"})
    return tmp_path


def matrices():
    rng = np.random.default_rng(0)
    return {
        name: rng.normal(size=(rows, 5)).astype(np.float32)
        for name, rows in (("b-1", 3), ("a-1", 1), ("b-2", 6))
    }


@pytest.fixture
def features(folder):
    """The same folder with features in two archives."""
    first = {name: float_matrix(matrices()[name]) for name in ("a-1", "b-1")}
    second = {"b-2": float_matrix(matrices()["b-2"], b"DM")}
    entries = write_ark(folder / "ark/1.ark", first)
    entries |= write_ark(folder / "ark/2.ark", second)
    write_table(
        folder / "feats.scp", {name: entries[name] for name in SPEAKERS}
    )
    return folder


def test_features(features):
    x, speakers, names = read_kaldi(features)
    assert names.tolist() == list(SPEAKERS)
    assert speakers.tolist() == list(SPEAKERS.values())
    for found, name in zip(x, names, strict=True):
        assert found.dtype == np.float32
        np.testing.assert_array_equal(found, matrices()[name])
    batch = x.with_num_frames(4)[np.array([2, 1])]
    np.testing.assert_array_equal(batch[0], matrices()["b-2"][1:5])


def test_load(tmp_path):
    # The paths start in the folder from which Kaldi ran.
    root = tmp_path / "kaldi"
    values = matrices()
    entries = write_ark(
        root / "mfcc/1.ark",
        {name: float_matrix(matrix) for name, matrix in values.items()},
    )
    write_table(root / "data/train/utt2spk", SPEAKERS)
    write_table(
        root / "data/train/feats.scp",
        {
            name: entry.removeprefix(f"{root}/")
            for name, entry in entries.items()
        },
    )
    x, labels = load("kaldi", "data/train", manual_dir=tmp_path)
    assert labels.tolist() == [1, 0, 1]
    np.testing.assert_array_equal(x[0], values["b-1"])
    _, names = load("kaldi", "data/train", manual_dir=tmp_path, label="name")
    assert names.tolist() == list(SPEAKERS)


def linear(minimum, extent, codes, steps):
    return minimum + extent * codes / steps


@pytest.mark.parametrize("kind", [b"CM", b"CM2", b"CM3"])
def test_compressed_features(folder, kind):
    rng = np.random.default_rng(0)
    minimum, extent = -3.0, 12.0
    codes = rng.integers(0, 2**16 if kind == b"CM2" else 256, (40, 3))
    percentiles = np.sort(rng.integers(0, 2**16, (3, 4)), axis=1)
    if kind == b"CM":
        # Decodes value by value, following the description of the format.
        expected = np.empty(codes.shape)
        for (row, column), code in np.ndenumerate(codes):
            points = linear(minimum, extent, percentiles[column], 65535)
            if code <= 64:
                low, high, part = points[0], points[1], code / 64
            elif code <= 192:
                low, high, part = points[1], points[2], (code - 64) / 128
            else:
                low, high, part = points[2], points[3], (code - 192) / 63
            expected[row, column] = low + (high - low) * part
    else:
        steps = {b"CM2": 65535, b"CM3": 255}[kind]
        expected = linear(minimum, extent, codes, steps)
    matrix = compressed_matrix(kind, minimum, extent, codes, percentiles)
    write_table(
        folder / "feats.scp",
        write_ark(folder / "1.ark", {"b-1": matrix, "a-1": matrix}),
    )
    x, _, names = read_kaldi(folder)
    # Only the utterances of utt2spk that have features.
    assert names.tolist() == ["b-1", "a-1"]
    np.testing.assert_allclose(x[1], expected, atol=1e-5)


@pytest.fixture
def waveform(folder):
    """The same folder with two recordings, one of them cut in two."""
    samples = np.random.default_rng(0).integers(-999, 999, 16000)
    write_wav(folder / "wav/one.wav", samples, 8000)
    write_wav(folder / "wav/two.wav", samples[:80], 8000)
    write_table(
        folder / "wav.scp", {"one": "wav/one.wav", "two": "wav/two.wav"}
    )
    write_table(
        folder / "segments",
        {"a-1": "two 0 0.01", "b-1": "one 0.5 1.25", "b-2": "one 1.5 2.4"},
    )
    return samples


def test_segments_of_recordings(folder, waveform):
    x, speakers, names = read_kaldi(folder)
    assert names.tolist() == ["a-1", "b-1", "b-2"]
    assert speakers.tolist() == ["a", "b", "b"]
    np.testing.assert_array_equal(x[0], waveform[:80])
    np.testing.assert_array_equal(x[1], waveform[4000:10000])
    # Half a second beyond the end is cut, as by Kaldi.
    np.testing.assert_array_equal(x[2], waveform[12000:])
    (folder / "spk2utt").unlink()
    (folder / "segments").unlink()
    write_table(folder / "utt2spk", {"one": "a", "two": "b"})
    x, speakers, _ = read_kaldi(folder, sample_rate=8000)
    assert x.lengths.tolist() == [16000, 80]
    assert speakers.tolist() == ["a", "b"]


def test_either_list_of_speakers_is_enough(features):
    for name in ("utt2spk", "spk2utt"):
        content = (features / name).read_bytes()
        (features / name).unlink()
        assert read_kaldi(features)[1].tolist() == list(SPEAKERS.values())
        (features / name).write_bytes(content)


def test_commands_are_not_run(features, tmp_path):
    victim = tmp_path / "victim"
    for entry in (f"touch {victim} |", f"sph2pipe x.sph | touch {victim} |"):
        for name in ("feats.scp", "wav.scp"):
            write_table(features / name, {"a-1": entry})
            with pytest.raises(ValueError, match="commands are not run"):
                read_kaldi(features)
            (features / name).unlink()
    assert not victim.exists()


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("utt2spk", "a-1 a\nb-1 b\na-1 a\n", "'a-1' twice, again in line 3"),
        (
            "spk2utt",
            "a a-1\nb b-1 b-2 a-1\n",
            "'a-1' twice, for 'a' and for 'b'",
        ),
        ("utt2spk", "a-1 b\nb-1 b\nb-2 b\n", "of speaker 'b' in utt2spk"),
        ("utt2spk", "a-1 a\nb-1\n", "line 2, is 'b-1'"),
        ("utt2spk", "a-1 a\nb-1 b old\n", "'b old' for 'b-1'; expected a"),
        ("utt2spk", "", "utt2spk is empty"),
        ("feats.scp", "a-1 x.ark:9\nb-1 x.ark:99\n", "does not exist; pass"),
        ("feats.scp", "a-1 1.ark:4[0:3]\n", "cuts 'a-1' from a longer matrix"),
        ("feats.scp", "\n", "line 1, is ''"),
    ],
)
def test_bad_lists(features, name, text, message):
    (features / name).write_text(text)
    with pytest.raises((ValueError, OSError), match=message) as error:
        read_kaldi(features)
    assert "\n" not in str(error.value)


def test_names_must_be_different(features):
    line = (features / "feats.scp").read_text().splitlines()[0]
    (features / "feats.scp").write_text(f"{line}\n{line}\n")
    with pytest.raises(ValueError, match="'b-1' twice, again in line 2"):
        read_kaldi(features)


def test_missing_lists(features):
    (features / "feats.scp").unlink()
    with pytest.raises(FileNotFoundError, match="neither feats.scp nor wav"):
        read_kaldi(features)
    for name in ("utt2spk", "spk2utt"):
        (features / name).unlink()
    with pytest.raises(FileNotFoundError, match="neither utt2spk nor spk2utt"):
        read_kaldi(features)


def test_utterances_without_a_speaker(features):
    (features / "spk2utt").unlink()
    write_table(features / "utt2spk", {"a-1": "a", "c-1": "c"})
    with pytest.raises(
        ValueError, match="for 2 utterances, the first is 'b-1'"
    ):
        read_kaldi(features)


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (b" [\n  1 2\n  3 4 ]\n", "not a binary matrix"),
        (b"\0BFV \4" + bytes(99), "not a binary matrix"),
        (b"", "not a binary matrix"),
        (float_matrix(np.ones((0, 5))), "empty or truncated: 0 x 5"),
        (float_matrix(np.ones((4, 5)))[:-1], "empty or truncated: 4 x 5"),
        (float_matrix(np.ones((4, 5)))[:9], "empty or truncated: 0 x 0"),
        (
            compressed_matrix(b"CM3", 0, 1, np.ones((4, 5)))[:-1],
            "empty or truncated: 4 x 5",
        ),
        (b"\0BCM2 " + bytes(3), "empty or truncated: 0 x 0"),
        (
            b"\0BFM \4" + b"\xff\xff\xff\x7f" + b"\4" + b"\xff\xff\xff\x7f",
            "truncated: 2147483647 x 2147483647",
        ),
        (float_matrix(np.ones((4, 6))), "b-1 has 6 .* a-1 has 5"),
    ],
)
def test_bad_matrices(folder, matrix, message):
    good = float_matrix(np.ones((2, 5)))
    entries = write_ark(folder / "1.ark", {"a-1": good, "b-1": matrix})
    write_table(folder / "feats.scp", entries)
    with pytest.raises(ValueError, match=message) as error:
        read_kaldi(folder)
    assert "b-1" in str(error.value) and "\n" not in str(error.value)


def test_bad_values(features):
    x, _, _ = read_kaldi(features)
    path = features / "ark/1.ark"
    content = path.read_bytes()
    path.write_bytes(content[:-4])
    with pytest.raises(ValueError, match="b-1 is truncated"):
        x[0]
    path.write_bytes(content[:-4] + np.float32(np.nan).tobytes())
    with pytest.raises(ValueError, match="b-1 in .* contains NaN or infinity"):
        x[0]


@pytest.mark.parametrize(
    ("segment", "message"),
    [
        ("three 0 1", "'three', which is not in wav.scp"),
        ("one 1.0 1.0", "0 <= start < end"),
        ("one -1 1", "0 <= start < end"),
        ("one 1 2.6", "'one' has 2.00 seconds"),
        ("one 1 two", "expected a recording, start and end"),
        ("one 1", "expected a recording, start and end"),
        ("one nan 1", "expected a recording, start and end"),
        ("one 2.1 2.2", "leaves no sample"),
    ],
)
def test_bad_segments(folder, waveform, segment, message):
    write_table(folder / "segments", {"a-1": segment})
    with pytest.raises(ValueError, match=message):
        read_kaldi(folder)


def test_bad_recordings(folder, waveform):
    with pytest.raises(ValueError, match="one.wav has 8000 .* expected 16000"):
        read_kaldi(folder, sample_rate=16000)
    write_wav(folder / "wav/two.wav", waveform, 16000)
    with pytest.raises(ValueError, match="two.wav has 16000 .* 8000, the rate"):
        read_kaldi(folder)
    (folder / "wav/two.wav").unlink()
    with pytest.raises(FileNotFoundError, match="wav.scp names for 'two'"):
        read_kaldi(folder)


def test_pipes(folder):
    os.mkfifo(folder / "pipe.wav")
    for name, entry in (("wav.scp", "pipe.wav"), ("feats.scp", "pipe.wav:4")):
        write_table(folder / name, dict.fromkeys(SPEAKERS, entry))
        with pytest.raises(OSError, match="a pipe or a device"):
            read_kaldi(folder)
    (folder / "feats.scp").unlink()
    (folder / "wav.scp").unlink()
    os.mkfifo(folder / "wav.scp")
    with pytest.raises(OSError, match="a pipe or a device"):
        read_kaldi(folder)
