"""Free Spoken Digit, through the builder of TensorFlow Datasets."""

import io
import sys
import tarfile
import wave
from unittest import mock

import numpy as np
import pytest
import tensorflow_datasets as tfds
from tensorflow_datasets.core.download import checksums

from embeddings_tf.datasets import load

FOLDER = "free-spoken-digit-dataset-1.0.9"
NAMES = ("7_jackson_32.wav", "0_theo_1.wav", "7_theo_0.wav")


def wav(samples):
    file = io.BytesIO()
    with wave.open(file, "wb") as writer:
        writer.setnchannels(1)
        writer.setsampwidth(2)
        writer.setframerate(8000)
        writer.writeframes(samples.astype("<i2").tobytes())
    return file.getvalue()


@pytest.fixture
def recordings(tmp_path, monkeypatch):
    """Samples by name of a small archive that `load` finds."""
    rng = np.random.default_rng(0)
    samples = {
        name: rng.integers(-(2**15), 2**15, size=size)
        for name, size in zip(NAMES, (300, 200, 100), strict=True)
    }
    folder = tmp_path / "manual" / "spoken_digit"
    folder.mkdir(parents=True)
    with tarfile.open(folder / f"{FOLDER}.tar.gz", "w:gz") as archive:
        for name, values in samples.items():
            content = wav(values)
            member = tarfile.TarInfo(f"{FOLDER}/recordings/{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    monkeypatch.setenv("EMBEDDINGS_TF_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("EMBEDDINGS_TF_MANUAL", str(tmp_path / "manual"))
    builder = tfds.builder_cls("spoken_digit")
    ((url, recorded),) = builder.url_infos.items()
    info = checksums.compute_url_info(folder / recorded.filename)
    info.filename = recorded.filename
    with mock.patch.object(builder, "url_infos", {url: info}):
        yield samples


# pydub warns that ffmpeg is missing, which WAV files do not need.
@pytest.mark.filterwarnings("ignore")
def test_waveforms_digits_and_speakers(recordings):
    pytest.importorskip("pydub")
    x, digits = load("spoken_digit", "train")
    _, names = load("spoken_digit", "train", label="audio/filename")
    assert x.sample_rate == 8000
    assert sorted(names) == sorted(NAMES) and names.dtype.kind == "U"
    for waveform, digit, name in zip(x, digits, names, strict=True):
        np.testing.assert_array_equal(waveform, recordings[name])
        assert digit == int(name[0])


def test_without_pydub(recordings, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "pydub", None)
    with pytest.raises(ImportError, match=r"embeddings_tf\[speech\]"):
        load("spoken_digit", "train")
    assert not list((tmp_path / "data").glob("spoken_digit/*"))
