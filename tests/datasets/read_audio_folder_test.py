import builtins

import numpy as np
import pytest

from embeddings_tf.datasets import load
from tests.datasets.speech_files import write_wav


def waveform(seed, length=400):
    return np.random.default_rng(seed).integers(-3000, 3000, length)


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "voices"


def read(folder, split="all", **arguments):
    return load(f"audio_folder:{folder}", split, **arguments)


def test_recordings_below_a_class(folder):
    written = {}
    for number, name in enumerate(
        ("ann/monday/1.wav", "ann/2.WAV", "bob/a/b/c.wav", "bob/.hidden.wav")
    ):
        written[name] = waveform(number, 400 + number)
        write_wav(folder / name, written[name], 8000)
    (folder / "ann" / "notes.txt").write_text("about")
    x, labels = read(folder)
    names = ["ann/2.WAV", "ann/monday/1.wav", "bob/a/b/c.wav"]
    assert read(folder, label="name")[1].tolist() == names
    assert labels.tolist() == [0, 0, 1] and labels.dtype == np.int32
    for label in ("class", "speaker"):
        assert read(folder, label=label)[1].tolist() == ["ann", "ann", "bob"]
    assert x.sample_rate == 8000 and x.lengths.tolist() == [401, 400, 402]
    for number, name in enumerate(names):
        np.testing.assert_array_equal(x[number], written[name])
        assert x[number].dtype == np.int16


def test_splits_by_folder_class_and_example(folder):
    for name in ("train/ann/1.wav", "test/ann/2.wav", "test/bob/3.wav"):
        write_wav(folder / name, waveform(0))
    assert read(folder, "train", label="class")[1].tolist() == ["ann"]
    assert read(folder, "test")[1].tolist() == [0, 1]
    with pytest.raises(ValueError, match="has splits of its own, so divide="):
        read(folder, "test", divide="examples")
    other = folder.parent / "other"
    for speaker in ("ann", "bob"):
        for number in range(10):
            write_wav(other / speaker / f"{number}.wav", waveform(number))
    with pytest.raises(ValueError, match="2 classes cannot.*divide examples"):
        read(other, "train")
    names = [
        set(read(other, split, label="name", divide="examples")[1])
        for split in ("train", "validation", "test")
    ]
    assert [len(part) for part in names] == [12, 4, 4]
    assert len(set.union(*names)) == 20
    moved = read(other, "test", label="name", divide="examples", seed=1)[1]
    assert set(moved) != names[2]


def test_links_in_a_circle_end(folder):
    write_wav(folder / "ann" / "1.wav", waveform(0))
    write_wav(folder / "bob" / "1.wav", waveform(0))
    (folder / "ann" / "b").symlink_to(folder / "bob")
    (folder / "bob" / "a").symlink_to(folder / "ann")
    names = read(folder, label="name")[1].tolist()
    assert names == ["ann/1.wav", "ann/b/1.wav", "bob/1.wav", "bob/a/1.wav"]


def test_links_to_devices_are_ignored(folder):
    write_wav(folder / "ann" / "1.wav", waveform(0))
    (folder / "ann" / "2.wav").symlink_to("/dev/null")
    assert read(folder, label="name")[1].tolist() == ["ann/1.wav"]


def test_refused(folder):
    def fails(error, message):
        with pytest.raises(error, match=message) as raised:
            read(folder)
        assert "\n" not in str(raised.value)

    fails(FileNotFoundError, "There is no folder .*audio_folder:PATH")
    write_wav(folder / "ann" / "1.wav", waveform(0))
    write_wav(folder / "bob" / "1.wav", waveform(0), 8000)
    fails(ValueError, "bob/1.wav has 8000 samples per second, expected 16000")
    write_wav(folder / "bob" / "1.wav", waveform(0), channels=2)
    fails(ValueError, "bob/1.wav has 2 channels of 16 bits")
    path = write_wav(folder / "bob" / "1.wav", waveform(0))
    path = folder / "bob" / "1.wav"
    path.write_bytes(path.read_bytes()[:-9])
    fails(ValueError, "bob/1.wav announces 400 samples but .* truncated")
    path.write_bytes(b"no recording")
    fails(ValueError, "bob/1.wav is damaged or not a WAV file")
    (folder / "ann" / "2.wav").write_bytes(b"")
    fails(ValueError, "ann/2.wav is .* 1 more file is bad: .*bob/1.wav")
    (folder / "ann" / "2.wav").unlink()
    path.rename(path.with_suffix(".m4a"))
    fails(ValueError, r"voices/bob has no recordings; .*\.flac.* found 1 .m4a")
    (folder / "bob" / "1.m4a").unlink()
    write_wav(folder / "loose.wav", waveform(0))
    fails(ValueError, "loose.wav is not in the folder of a class")


def test_other_formats_need_a_package(folder, monkeypatch):
    write_wav(folder / "ann" / "1.wav", waveform(0))
    (folder / "ann" / "2.flac").write_bytes(b"fLaC")
    real = builtins.__import__

    def without(name, *arguments, **more):
        if name == "soundfile":
            raise ImportError(name)
        return real(name, *arguments, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"2.flac is not WAV: .*\[audio\]"):
        read(folder)


def test_loud_samples_do_not_change_their_sign(folder):
    """Vorbis decodes a square wave of nearly full scale beyond it."""
    soundfile = pytest.importorskip("soundfile")
    square = 0.99 * np.sign(np.sin(np.arange(4000) * 0.05))
    write_wav(folder / "ann" / "1.wav", waveform(0))
    soundfile.write(folder / "ann" / "2.ogg", square, 16000)
    exact, _ = soundfile.read(folder / "ann" / "2.ogg", dtype="float32")
    assert np.abs(exact).max() > 1
    x, _ = read(folder)
    np.testing.assert_allclose(
        x[1], (32767 * exact).clip(-32768, 32767), atol=1
    )


def test_flac_and_ogg(folder):
    soundfile = pytest.importorskip("soundfile")
    samples = waveform(0, 4000).astype(np.int16)
    write_wav(folder / "ann" / "1.wav", samples)
    soundfile.write(folder / "ann" / "2.flac", samples, 16000)
    soundfile.write(folder / "ann" / "3.ogg", samples, 16000)
    x, _ = read(folder)
    np.testing.assert_array_equal(x[1], samples)  # without loss
    assert x[1].dtype == x[2].dtype == np.int16 and len(x[2]) == 4000
    soundfile.write(folder / "ann" / "2.flac", np.zeros((9, 2)), 16000)
    with pytest.raises(ValueError, match="2.flac has 2 channels of 9 samples"):
        read(folder)
    path = folder / "ann" / "2.flac"
    soundfile.write(path, samples, 16000)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    x, _ = read(folder)
    with pytest.raises(ValueError, match="2.flac .*truncated"):
        x[1]
    path.write_bytes(b"no recording")
    with pytest.raises(ValueError, match="2.flac is damaged, truncated or of"):
        read(folder)
