import gzip
import os

import numpy as np
import pytest

from embeddings_tf.datasets.speech import read_trials

VOXCELEB = "1 a/x/1.wav a/y/2.wav\n0 a/x/1.wav b/z/3.wav\n\n"
KALDI = "a/x/1.wav a/y/2.wav target\na/x/1.wav b/z/3.wav nontarget\n"
NAMES = ["b/z/3.wav", "a/y/2.wav", "a/x/1.wav", "not mentioned"]


def test_speakers_called_by_numbers(tmp_path):
    path = tmp_path / "trials.txt"
    path.write_text("1 utt7 nontarget\n0 utt7 target\n2 utt8 target\n")
    first, second, is_target = read_trials(path)
    assert first.tolist() == ["1", "0", "2"]
    assert second.tolist() == ["utt7", "utt7", "utt8"]
    assert is_target.tolist() == [False, True, True]


@pytest.mark.parametrize("content", [VOXCELEB, KALDI])
def test_both_forms(tmp_path, content):
    path = tmp_path / "trials.txt"
    path.write_text(content)
    packed = tmp_path / "trials.txt.gz"
    packed.write_bytes(gzip.compress(content.encode()))
    for file in (path, packed, str(packed)):
        first, second, is_target = read_trials(file)
        assert first.tolist() == ["a/x/1.wav", "a/x/1.wav"]
        assert second.tolist() == ["a/y/2.wav", "b/z/3.wav"]
        assert is_target.tolist() == [True, False]
        assert is_target.dtype == bool
        first, second, is_target = read_trials(file, NAMES)
        assert first.dtype == second.dtype == np.int32
        assert first.tolist() == [2, 2] and second.tolist() == [1, 0]
        assert is_target.tolist() == [True, False]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (VOXCELEB + "2 a b\n", "line 4, is '2 a b': expected '1 first"),
        (VOXCELEB + "1 a\n", "line 4, is '1 a'"),
        ("1 a b c\n", "line 1, is '1 a b c'"),
        ("a b Target\n", "line 1, is"),
        ("\n", "has no trials"),
        ("", "has no trials"),
        ("1 a/x/1.wav other\n0 a/x/1.wav b\n", "2 recordings .* first is 'b'"),
    ],
)
def test_odd_content(tmp_path, content, message):
    path = tmp_path / "trials.txt"
    path.write_text(content)
    with pytest.raises(ValueError, match=message) as error:
        read_trials(path, NAMES)
    assert str(path) in str(error.value)


def test_repeated_names(tmp_path):
    path = tmp_path / "trials.txt"
    path.write_text(VOXCELEB)
    with pytest.raises(
        ValueError, match="2 names, of which only 1 are different"
    ):
        read_trials(path, ["a/x/1.wav", "a/x/1.wav"])


@pytest.mark.parametrize("cut", [5, -4])
def test_damaged_file(tmp_path, cut):
    path = tmp_path / "trials.txt.gz"
    path.write_bytes(gzip.compress(VOXCELEB.encode() * 100)[:cut])
    with pytest.raises(ValueError, match="damaged"):
        read_trials(path)
    path.write_text(VOXCELEB)
    with pytest.raises(ValueError, match="damaged"):
        read_trials(path)
    with pytest.raises(FileNotFoundError):
        read_trials(tmp_path / "missing")


@pytest.mark.parametrize("name", ["trials.txt", "trials.txt.gz"])
def test_a_pipe(tmp_path, name):
    os.mkfifo(tmp_path / name)
    with pytest.raises(OSError, match="a pipe or a device"):
        read_trials(tmp_path / name)
