"""Places to which nothing can be written are found before the work."""

import os
import re

import pytest

from embeddings_tf.ops.write_atomically import write_atomically
from tests.trainers.read_only import MESSAGE
from tests.trainers.read_only import make_read_only
from trainers.workdirs.try_to_write import require_can_write
from trainers.workdirs.try_to_write import try_to_write
from trainers.workdirs.writable_folder import writable_folder


def test_nothing_is_left_or_changed(tmp_path):
    file = tmp_path / "answers.csv"
    for before in (None, "old"):
        if before is not None:
            file.write_text(before)
        listed = os.listdir(tmp_path)
        try_to_write(file)
        assert os.listdir(tmp_path) == listed
    assert file.read_text() == "old"


@pytest.mark.parametrize("length", [200, 241, 242, 255])
def test_a_name_is_refused_if_it_cannot_be_written_at_the_end(length, tmp_path):
    """The temporary file has 14 characters more: at most 255 in all."""
    file = tmp_path / f"{'a' * (length - 4)}.csv"
    for write in (try_to_write, lambda path: write_atomically(path, "text")):
        if length + 14 <= 255:
            write(file)
        else:
            with pytest.raises(OSError, match="File name too long"):
                write(file)


def test_the_error_names_the_flag_and_the_remedy(tmp_path, monkeypatch):
    make_read_only(tmp_path, monkeypatch)
    with pytest.raises(OSError, match=re.escape(MESSAGE)) as caught:
        require_can_write("--output a.csv", tmp_path / "a.csv", "mount it")
    assert str(caught.value) == f"--output a.csv {MESSAGE}; mount it"


@pytest.mark.parametrize("name", ["made", "new", "made/new/below"])
def test_a_folder_that_need_not_exist(name, tmp_path, monkeypatch):
    (tmp_path / "made").mkdir()
    before = sorted(tmp_path.rglob("*"))
    folder = tmp_path / name
    assert writable_folder("--directory", str(folder)) == folder
    make_read_only(tmp_path, monkeypatch)
    make_read_only(tmp_path / "made", monkeypatch)
    with pytest.raises(OSError, match=re.escape(MESSAGE)) as caught:
        writable_folder("--directory", str(folder))
    remedy = "name another folder"
    assert str(caught.value) == f"--directory {folder} {MESSAGE}; {remedy}"
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("name", ["file", "file/below"])
def test_a_folder_that_is_a_file(name, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="is a file; name a folder"):
        writable_folder("--directory", str(tmp_path / name))
