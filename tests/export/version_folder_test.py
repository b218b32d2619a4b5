"""Folders of new versions, after exports that were killed or still run."""

import os
import subprocess
import sys

from embeddings_tf.export import version_folder
from embeddings_tf.export.version_folder import new_folder


def of_an_hour_ago(path):
    os.utime(path, (path.stat().st_mtime - 3600,) * 2)


def export(target):
    with new_folder(target) as folder:
        folder.mkdir()
        (folder / "saved_model.pb").write_text("model")


def test_what_a_killed_export_has_left_is_removed(tmp_path):
    code = (
        "import os, pathlib, signal\n"
        "from embeddings_tf.export.version_folder import new_folder\n"
        f"with new_folder(pathlib.Path({str(tmp_path / '1')!r})) as folder:\n"
        "    folder.mkdir(); (folder / 'saved_model.pb').write_text('part')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", code], timeout=300)
    (left,) = tmp_path.iterdir()
    assert (left / "model" / "saved_model.pb").is_file()
    of_an_hour_ago(left)
    export(tmp_path / "1")
    assert [path.name for path in tmp_path.iterdir()] == ["1"]


def test_an_export_that_runs_keeps_its_folder(tmp_path):
    """However long it takes, and also if it has only begun."""
    begun = tmp_path / ".export-begun"  # not locked yet
    begun.mkdir()
    with new_folder(tmp_path / "1") as folder:
        folder.mkdir()
        of_an_hour_ago(folder.parent)
        export(tmp_path / "2")
        assert folder.is_dir()
    begun.rmdir()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1", "2"]


def test_a_file_system_without_locks(tmp_path, monkeypatch):
    left = tmp_path / ".export-left"
    left.mkdir()
    of_an_hour_ago(left)

    def refuse(*_):
        raise OSError("no locks available")

    monkeypatch.setattr(version_folder.fcntl, "flock", refuse)
    export(tmp_path / "1")
    assert left.is_dir() and (tmp_path / "1" / "saved_model.pb").is_file()
