"""Files that are written as a whole."""

import concurrent.futures
import os

import pytest

from embeddings_tf.ops.atomic_file import atomic_file
from embeddings_tf.ops.write_atomically import write_atomically
from tests.trainers.training.checkpoint_test import files_of_at_most


def test_the_old_file_is_replaced(tmp_path):
    path = tmp_path / "a.json"
    for content in (b"\x00\xff", "text, ä"):
        write_atomically(path, content)
        wanted = content if isinstance(content, bytes) else content.encode()
        assert path.read_bytes() == wanted
    assert os.listdir(tmp_path) == ["a.json"]


@pytest.mark.parametrize("fails", ["write", "sync"])
def test_a_failure_leaves_the_old_file(fails, tmp_path, monkeypatch):
    path = tmp_path / "a.keras"
    path.write_text("old")

    def full(*_):
        raise OSError("no space")

    if fails == "sync":
        monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="no space"):
        with atomic_file(path) as temporary:
            assert temporary.suffix == ".keras"
            temporary.write_text("half")
            assert path.read_text() == "old"
            if fails == "write":
                full()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.keras"]


def test_a_full_disk_is_named_with_the_file(tmp_path):
    path = tmp_path / "a.json"
    with files_of_at_most(100):
        with pytest.raises(OSError, match="File too large: .*a.json'") as found:
            write_atomically(path, "x" * 1000)
    assert found.value.filename == str(path)
    assert os.listdir(tmp_path) == []


def test_threads_may_write_one_file(tmp_path):
    path = tmp_path / "a.npz"
    contents = [bytes([65 + n]) * 100_000 for n in range(4)]
    with concurrent.futures.ThreadPoolExecutor(4) as threads:
        list(threads.map(write_atomically, [path] * 40, contents * 10))
    assert path.read_bytes() in contents
    assert os.listdir(tmp_path) == ["a.npz"]


@pytest.mark.parametrize("before", ["old", None])
def test_a_link_stays_and_its_target_is_written(before, tmp_path):
    """Also a link to a link, and a target that does not exist yet."""
    target, link = tmp_path / "store" / "a1b2", tmp_path / "links" / "g.npz"
    for folder in (target.parent, link.parent):
        folder.mkdir()
    if before is not None:
        target.write_text(before)
    (link.parent / "first").symlink_to("../store/a1b2")
    link.symlink_to("first")
    with pytest.raises(OSError, match="no space"):
        with atomic_file(link) as temporary:
            assert temporary.parent == target.parent
            assert temporary.suffix == ".npz"
            temporary.write_text("half")
            raise OSError("no space")
    assert (target.read_text() if target.exists() else None) == before
    write_atomically(link, "new")
    assert target.read_text() == "new" and not target.is_symlink()
    assert os.listdir(target.parent) == ["a1b2"]
    assert sorted(os.listdir(link.parent)) == ["first", "g.npz"]
    assert os.readlink(link) == "first"


def test_a_link_into_a_folder_that_is_not_there(tmp_path):
    (tmp_path / "a.json").symlink_to("none/a.json")
    with pytest.raises(FileNotFoundError, match="none"):
        write_atomically(tmp_path / "a.json", "new")
    assert os.listdir(tmp_path) == ["a.json"]
