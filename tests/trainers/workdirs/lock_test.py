"""A run's folder is open in one process at a time."""

import builtins
import contextlib
import errno
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

from embeddings_tf.ops.atomic_file import atomic_file
from tests.trainers.read_only import make_read_only
from trainers.config.run_config import run_from_config
from trainers.workdirs import lock
from trainers.workdirs import workdir

RUN = run_from_config({"loss": {"name": "TripletLoss"}})


_HOLD = """
import sys
from trainers.workdirs import lock

with getattr(lock, sys.argv[1])(sys.argv[2]):
    print("held", flush=True)
    sys.stdin.read()
"""


@contextlib.contextmanager
def held_by_another(path, function):
    """Opens a workdir in another process."""
    with subprocess.Popen(
        [sys.executable, "-c", _HOLD, function.__name__, str(path)],
        cwd=pathlib.Path(__file__).parents[3],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdout.readline() == "held\n"
        yield
        holder.stdin.close()


def test_a_second_process_is_refused(tmp_path):
    workdir.claim(tmp_path, "first", RUN)
    with held_by_another(tmp_path, lock.open_workdir):
        for function in (lock.open_workdir, lock.read_workdir):
            with pytest.raises(BlockingIOError, match="another process works"):
                with function(str(tmp_path)):
                    pass
    with lock.open_workdir(str(tmp_path)):
        pass


def test_a_second_process_that_reads(tmp_path):
    workdir.claim(tmp_path, "first", RUN)
    (tmp_path / ".lock").touch()
    with held_by_another(tmp_path, lock.read_workdir):
        with lock.read_workdir(str(tmp_path)) as path:
            assert path == tmp_path
        with pytest.raises(BlockingIOError, match="another process works in"):
            with lock.open_workdir(str(tmp_path)):
                pass


@pytest.fixture
def read_only(tmp_path, monkeypatch):
    """A run whose folder refuses writes; root could write otherwise."""
    workdir.claim(tmp_path, "first", RUN)

    def refuse(file, mode="r", *more, **options):
        if mode != "r" and tmp_path in pathlib.Path(file).parents:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))
        return builtins.open(file, mode, *more, **options)

    monkeypatch.setattr(lock, "open", refuse, raising=False)
    return tmp_path


@pytest.mark.parametrize("has_lock", [True, False])
def test_a_run_in_a_read_only_folder_can_be_read(read_only, has_lock):
    if has_lock:
        (read_only / ".lock").touch()
    with lock.read_workdir(str(read_only)) as path:
        assert workdir.run_of_workdir(path)[0] == "first"
    assert (read_only / ".lock").exists() == has_lock


def test_a_run_in_a_read_only_folder_cannot_be_opened(read_only):
    """The remedy keeps the run, which another folder does not have."""
    message = "Read-only file system; make it writable, or name a writable copy"
    with pytest.raises(OSError, match=message):
        with lock.open_workdir(str(read_only), create=False):
            pass
    with pytest.raises(OSError, match="choose another with --workdir"):
        with lock.open_workdir(str(read_only)):
            pass


def test_a_folder_in_which_only_the_lock_can_be_opened(tmp_path, monkeypatch):
    """As its owner may, in a folder without the permission to write."""
    workdir.claim(tmp_path, "first", RUN)
    (tmp_path / ".lock").touch()
    make_read_only(tmp_path, monkeypatch)
    with pytest.raises(OSError, match="Read-only file system; make it writ"):
        with lock.open_workdir(str(tmp_path), create=False):
            pass


def test_a_workdir_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="cannot write to the workdir"):
        with lock.open_workdir(str(tmp_path / "file" / "run")):
            pass


@pytest.mark.parametrize("name", ["runs", "runs/a/b"])
def test_a_link_whose_target_is_not_mounted_stays(name, tmp_path):
    link, target = tmp_path / "runs", tmp_path / "unmounted"
    link.symlink_to(target)
    message = f"{link} is a symbolic link to {target}, which does not exist"
    with pytest.raises(ValueError, match=re.escape(message)):
        with lock.open_workdir(str(tmp_path / name)):
            pass
    assert link.readlink() == target
    target.mkdir()
    with lock.open_workdir(str(tmp_path / name)):
        pass
    assert link.readlink() == target and not [*target.iterdir()]


def test_a_link_is_not_absent(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "nothing")
    (tmp_path / "folder").mkdir()
    found = lock.absent(tmp_path / n for n in ("link", "folder", "new"))
    assert found == [tmp_path / "new"]


def test_a_folder_without_a_run(tmp_path):
    with pytest.raises(ValueError, match="contains no run"):
        with lock.open_workdir(str(tmp_path), create=False):
            pass
    with pytest.raises(ValueError, match="contains no run"):
        with lock.read_workdir(str(tmp_path)):
            pass


def test_a_folder_removed_at_work_does_not_hide_the_error(tmp_path):
    with pytest.raises(ZeroDivisionError):
        with lock.open_workdir(str(tmp_path / "run")) as path:
            shutil.rmtree(path)
            raise ZeroDivisionError


def test_what_a_killed_process_left_is_removed(tmp_path):
    run = tmp_path / "run"
    (run / "checkpoints").mkdir(parents=True)
    (run / "checkpoints" / ".writing.keras").write_text("")
    kept = {".lock", "checkpoints", ".notes.json", ".results.old.json"}
    kept |= {"config.json", "results.json"}
    for name in kept - {"checkpoints"}:
        (run / name).write_text("")
    for name in ("config.json", "results.json", "checkpoints/best.keras"):
        with atomic_file(run / name) as temporary:
            temporary.write_text("")
        temporary.write_text("")  # as after a kill before it was renamed
    with lock.open_workdir(str(run)):
        assert {path.name for path in run.iterdir()} == kept
        assert os.listdir(run / "checkpoints") == ["best.keras"]


def test_files_of_a_running_process_are_not_removed(tmp_path):
    with lock.open_workdir(str(tmp_path)):
        with atomic_file(tmp_path / "results.json") as temporary:
            temporary.write_text("{}")
            with pytest.raises(BlockingIOError):
                with lock.open_workdir(str(tmp_path)):
                    pass
    assert (tmp_path / "results.json").read_text() == "{}"
