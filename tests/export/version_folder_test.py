"""Folders of new versions, after exports that were killed or still run."""

import os

from embeddings_tf.export import version_folder
from embeddings_tf.export.version_folder import new_folder


def of_two_days_ago(path):
    os.utime(path, (path.stat().st_mtime - 2 * 24 * 3600,) * 2)


def export(target):
    with new_folder(target) as folder:
        folder.mkdir()
        (folder / "saved_model.pb").write_text("model")


def test_what_a_killed_export_has_left_is_removed(tmp_path):
    left = tmp_path / ".export-ab_12cd3"
    (left / "model").mkdir(parents=True)
    (left / "model" / "saved_model.pb").write_text("part")
    own = tmp_path / ".export-notes of mine"
    own.mkdir()
    of_two_days_ago(left)
    of_two_days_ago(own)
    export(tmp_path / "1")
    assert sorted(path.name for path in tmp_path.iterdir()) == [own.name, "1"]


def test_an_export_that_runs_keeps_its_folder(tmp_path):
    """However long it takes, and also if it has only begun."""
    begun = tmp_path / ".export-begun_01"  # not locked yet
    begun.mkdir()
    with new_folder(tmp_path / "1") as folder:
        folder.mkdir()
        of_two_days_ago(folder.parent)
        export(tmp_path / "2")
        assert folder.is_dir()
    begun.rmdir()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1", "2"]


def test_a_file_system_without_locks(tmp_path, monkeypatch):
    left = tmp_path / ".export-left_012"
    left.mkdir()
    of_two_days_ago(left)

    def refuse(*_):
        raise OSError("no locks available")

    monkeypatch.setattr(version_folder.fcntl, "flock", refuse)
    export(tmp_path / "1")
    assert left.is_dir() and (tmp_path / "1" / "saved_model.pb").is_file()
