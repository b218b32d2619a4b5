import pathlib
import re
import struct

import numpy as np
import pytest
import tensorflow_datasets as tfds

from embeddings_tf.datasets import load
from embeddings_tf.datasets.an4 import an4_dataset_builder
from tests.datasets.example_folder import ExampleFolder

README = pathlib.Path(an4_dataset_builder.__file__).with_name("README.md")
# Utterance -> frames, in the order of the data set.
TRAIN = {
    "an4_clstk/fash/an251-fash-b": 4,
    "an4_clstk/fash/cen1-fash-b": 2,
    "an4_clstk/mblb/an1-mblb-b": 7,
}
TEST = {"an4test_clstk/fcaw/an406-fcaw-b": 3}


def write_an4(folder, altered=None):
    """Writes small files in the original format; returns the frames."""
    rng = np.random.default_rng(0)
    frames = {}
    for name, num_frames in (TRAIN | TEST).items():
        values = rng.normal(size=(num_frames, 13)).astype(np.float32)
        frames[name] = values
        flat = values.ravel().tolist()
        content = struct.pack(f">i{len(flat)}f", len(flat), *flat)
        content = (altered or {}).get(name, content)
        path = folder / "an4" / "feat" / f"{name}.mfc"
        path.parent.mkdir(parents=True, exist_ok=True)
        if content is None:
            path.unlink(missing_ok=True)
        else:
            path.write_bytes(content)
    return frames


class An4Test(ExampleFolder, tfds.testing.DatasetBuilderTestCase):
    DATASET_CLASS = an4_dataset_builder.Builder
    SPLITS = {"train": 3, "test": 1}
    write = staticmethod(write_an4)


def test_utterances_and_labels(manual):
    frames = write_an4(manual)
    (manual / "an4/feat/an4_clstk/readme.txt").write_text("not a speaker")
    for split, names, labels in (
        ("train", TRAIN, [0, 0, 1]),
        ("test", TEST, [2]),
        ("train+test", TRAIN | TEST, [0, 0, 1, 2]),
    ):
        x, found = load("an4", split)
        assert found.dtype == np.int32 and found.tolist() == labels
        assert x.lengths.tolist() == list(names.values())
        for utterance, name in zip(x, names, strict=True):
            assert utterance.dtype == np.float32
            np.testing.assert_array_equal(utterance, frames[name])


def test_other_labels(manual):
    write_an4(manual)
    _, speakers = load("an4", "train", label="speaker")
    assert speakers.tolist() == ["fash", "fash", "mblb"]
    _, names = load("an4", "train", label="utterance")
    assert names.tolist() == [name.split("/")[-1] for name in TRAIN]
    _, labels = load("an4", "train", label="label")
    assert labels.tolist() == [0, 0, 1]
    for unknown in ("frames", "camera"):
        with pytest.raises(
            ValueError, match="one of class, label, speaker, utter"
        ):
            load("an4", "train", label=unknown)
    with pytest.raises(ValueError, match="one label; received label='label'"):
        load("n_digit/digits_2_number", "train", label="label")


def test_example_of_the_readme(manual, monkeypatch):
    write_an4(manual)
    (block,) = re.findall(r"```python\n(.*?)```", README.read_text(), re.S)
    # There are two speakers here.
    block = block.replace("speakers, 12, 5", "speakers, 2, 1")
    namespace = {}
    exec(compile(block, str(README), "exec"), namespace)
    x, labels = next(iter(namespace["batches"]))
    assert x.shape == (2, 200, 13) and sorted(labels.numpy()) == [0, 1]
    # Each recording repeats one utterance with its mean subtracted.
    for row, label in zip(x.numpy(), labels.numpy(), strict=True):
        length = 7 if label else (2 if np.allclose(row[0], row[2]) else 4)
        np.testing.assert_allclose(row[:length].mean(axis=0), 0, atol=1e-5)


def test_missing_files(manual):
    manual.mkdir()
    with pytest.raises(FileNotFoundError, match="EMBEDDINGS_TF_MANUAL"):
        load("an4", "train")
    write_an4(manual, dict.fromkeys(TEST))
    with pytest.raises(FileNotFoundError, match="feat/an4test_clstk/<speaker>"):
        load("an4", "train")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "announces 0 values and has 0 bytes"),
        (struct.pack(">i", 0), "announces 0 values"),
        (struct.pack(">i13f", 26, *range(13)), "announces 26 values"),
        (struct.pack("<i13f", 13, *range(13)), "big-endian"),
        (struct.pack(">i12f", 12, *range(12)), "13 a frame"),
        (struct.pack(">i13f", 13, *range(13)) + b"x", "has 57 bytes"),
        (struct.pack(">i13f", 13, *[np.nan] * 13), "NaN or infinity"),
    ],
)
def test_damaged_file(manual, content, message):
    name = next(iter(TRAIN))
    write_an4(manual, {name: content})
    with pytest.raises(ValueError, match=message) as error:
        load("an4", "train")
    assert f"{name}.mfc" in str(error.value)
    # It works once the file is restored: nothing is left of the attempt.
    write_an4(manual)
    assert len(load("an4", "train")[0]) == 3


def test_speaker_of_both_parts(manual):
    write_an4(manual)
    path = manual / "an4/feat/an4test_clstk/fash"
    (manual / "an4/feat/an4test_clstk/fcaw").rename(path)
    with pytest.raises(ValueError, match="speaker fash in an4_clstk"):
        load("an4", "train")
