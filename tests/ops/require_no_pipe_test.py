import os

import pytest

from embeddings_tf.ops.require_no_pipe import require_no_pipe


def test_files_and_folders(tmp_path):
    require_no_pipe(tmp_path)
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    require_no_pipe(tmp_path / "link")


def test_pipes_devices_and_missing_files(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path / "link", "/dev/null"):
        with pytest.raises(OSError, match=f"a pipe or a device.*{path}"):
            require_no_pipe(path)
    with pytest.raises(FileNotFoundError, match="missing"):
        require_no_pipe(tmp_path / "missing")
