"""VoxCeleb: folders of recordings, and its lists of trials."""

import errno
import gzip
import os
import wave

import numpy as np
import pytest

from embeddings_tf.datasets import load
from embeddings_tf.datasets.speech import read_recordings
from embeddings_tf.datasets.speech import read_trials
from tests.datasets.speech_files import write_wav

NAMES = (
    "id10270/5r0dWxy17C8/00001.wav",
    "id10270/x6uYqmx31kE/00001.wav",
    "id10271/1gtz-CUIygI/00012.wav",
)


@pytest.fixture
def samples(tmp_path):
    rng = np.random.default_rng(0)
    found = {}
    for name, size in zip(reversed(NAMES), (700, 400, 900), strict=True):
        found[name] = rng.integers(-(2**15), 2**15, size).astype(np.int16)
        write_wav(tmp_path / "voxceleb1/test/wav" / name, found[name])
    return found


@pytest.fixture
def wav(tmp_path, samples):
    return tmp_path / "voxceleb1/test/wav"


def test_reads_the_original_layout(wav, samples):
    (wav / "readme.txt").write_text("no recording")
    x, speakers, names = read_recordings(wav)
    assert names.tolist() == list(NAMES)
    assert speakers.tolist() == ["id10270", "id10270", "id10271"]
    assert x.lengths.tolist() == [900, 400, 700]
    for waveform, name in zip(x, names, strict=True):
        assert waveform.dtype == np.int16
        np.testing.assert_array_equal(waveform, samples[name])
    batch = x.with_num_frames(500)[np.array([2, 1])]
    np.testing.assert_array_equal(batch[0], samples[NAMES[2]][100:600])
    np.testing.assert_array_equal(batch[1][400:], samples[NAMES[1]][:100])


def test_links_upper_case_and_hidden_files(tmp_path, wav, samples):
    (wav / NAMES[1]).rename((wav / NAMES[1]).with_suffix(".WAV"))
    (wav / "id10271").rename(tmp_path / "elsewhere")
    (wav / "id10271").symlink_to(tmp_path / "elsewhere")
    (wav / "id10299").symlink_to(tmp_path / "elsewhere")  # the same again
    (wav / "id10270" / "circle").symlink_to(wav / "id10270")
    (wav / "id10270" / "._1.wav").write_bytes(b"of a Mac")
    x, speakers, names = read_recordings(wav)
    upper = NAMES[1].removesuffix("wav") + "WAV"
    again = NAMES[2].replace("id10271", "id10299")
    assert names.tolist() == [NAMES[0], upper, NAMES[2], again]
    np.testing.assert_array_equal(x[2], samples[NAMES[2]])


def test_a_folder_that_cannot_be_read_is_not_left_out(wav, monkeypatch):
    denied = PermissionError(errno.EACCES, "denied", str(wav / "id10271"))
    scan = os.scandir

    def scandir(place):
        if str(place).endswith("id10271"):
            raise denied
        return scan(place)

    monkeypatch.setattr(os, "scandir", scandir)
    with pytest.raises(PermissionError, match="id10271"):
        read_recordings(wav)


def test_load(tmp_path, samples, monkeypatch):
    monkeypatch.delenv("EMBEDDINGS_TF_MANUAL", raising=False)
    x, speakers = load("voxceleb1", "test", manual_dir=tmp_path)
    assert len(x) == 3 and speakers.tolist() == [0, 0, 1]
    assert speakers.dtype == np.int32
    _, names = load("voxceleb1", "test", manual_dir=tmp_path, label="name")
    assert names.tolist() == list(NAMES)
    _, text = load("voxceleb1", "test", manual_dir=tmp_path, label="speaker")
    _, same = load("voxceleb1", "test", manual_dir=tmp_path, label="class")
    assert same.tolist() == text.tolist()
    assert text.tolist() == ["id10270", "id10270", "id10271"]
    with pytest.raises(
        ValueError, match="expected one of class, speaker, name"
    ):
        load("voxceleb1", "test", manual_dir=tmp_path, label="video")
    with pytest.raises(
        FileNotFoundError, match=r"dev is not a folder.*contains test"
    ):
        load("voxceleb1", "dev", manual_dir=tmp_path)
    with pytest.raises(
        FileNotFoundError, match="voxceleb2/dev is not a folder"
    ):
        load("voxceleb2", "dev", manual_dir=tmp_path)
    with pytest.raises(FileNotFoundError, match="EMBEDDINGS_TF_MANUAL"):
        load("voxceleb1", "dev")


@pytest.mark.parametrize("compressed", [True, False])
def test_lists_of_trials(tmp_path, wav, compressed):
    """The format of veri_test, list_test_all (E) and list_test_hard (H)."""
    lines = [f"1 {NAMES[0]} {NAMES[1]}", f"0 {NAMES[0]} {NAMES[2]}"]
    path = tmp_path / (
        "veri_test.txt.gz" if compressed else "list_test_all.txt"
    )
    opener = gzip.open if compressed else open
    with opener(path, "wt") as file:
        file.write("\n".join([*lines, ""]))
    _, _, names = read_recordings(wav)
    first, second, is_target = read_trials(path, names)
    assert first.tolist() == [0, 0] and second.tolist() == [1, 2]
    assert is_target.tolist() == [True, False]
    # A missing recording is reported.
    (wav / NAMES[2]).unlink()
    _, _, names = read_recordings(wav)
    with pytest.raises(ValueError, match="1 recordings that are not among"):
        read_trials(path, names)


def rewrite(path, change):
    path.write_bytes(change(path.read_bytes()))


def test_another_sample_rate(wav):
    write_wav(wav / NAMES[1], np.zeros(80), sample_rate=8000)
    with pytest.raises(
        ValueError, match=f"{NAMES[1]} has 8000 .* 16000, the rate"
    ):
        read_recordings(wav)
    with pytest.raises(ValueError, match=f"{NAMES[0]} has 16000 .* 8000;"):
        read_recordings(wav, sample_rate=8000)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda content: content[:-300], "announces 400 samples"),
        (lambda content: content[:20], "not a WAV file of 16-bit"),
        (lambda content: b"", "not a WAV file of 16-bit"),
        (lambda content: b"NIST_1A\n   1024\n" * 9, "not a WAV file of 16-bit"),
    ],
)
def test_damaged_recordings(wav, change, message):
    rewrite(wav / NAMES[1], change)
    with pytest.raises(ValueError, match=message) as error:
        read_recordings(wav)
    assert NAMES[1] in str(error.value) and "\n" not in str(error.value)


def test_empty_and_stereo_recordings(wav):
    write_wav(wav / NAMES[0], np.zeros(0))
    with pytest.raises(ValueError, match="announces 0 samples"):
        read_recordings(wav)
    write_wav(wav / NAMES[0], np.zeros(80), channels=2)
    with pytest.raises(ValueError, match="2 channels of 16 bits"):
        read_recordings(wav)
    with wave.open(str(wav / NAMES[0]), "wb") as writer:
        writer.setparams((1, 3, 16000, 0, "NONE", "not compressed"))
        writer.writeframes(bytes(240))
    with pytest.raises(ValueError, match="1 channel of 24 bits, expected one"):
        read_recordings(wav)


def test_recordings_that_change_under_way(wav):
    x, _, _ = read_recordings(wav)
    write_wav(wav / NAMES[0], np.zeros(80))
    with pytest.raises(ValueError, match="80 samples from 0 on instead of 900"):
        x[0]


def test_other_folders(tmp_path, wav):
    with pytest.raises(FileNotFoundError, match="no files speaker"):
        read_recordings(tmp_path / "nothing")
    (tmp_path / "aac/id1/video").mkdir(parents=True)
    (tmp_path / "aac/id1/video/00001.m4a").touch()
    with pytest.raises(FileNotFoundError, match="ffmpeg -i"):
        read_recordings(tmp_path / "aac")
    write_wav(wav / "00001.wav", np.zeros(80))
    with pytest.raises(ValueError, match="is not in the folder of a speaker"):
        read_recordings(wav)


def test_a_pipe(tmp_path):
    (tmp_path / "ann").mkdir()
    os.mkfifo(tmp_path / "ann" / "a.wav")
    with pytest.raises(OSError, match="a pipe or a device"):
        read_recordings(tmp_path)
