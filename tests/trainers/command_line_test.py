"""Warnings of commands, pipes that are closed, paths with a tilde."""

import contextlib
import os
import subprocess
import sys

import pytest
import tensorflow as tf

from embeddings_tf.ops.write_atomically import write_atomically
from tests.trainers.commands import ROOT
from tests.trainers.commands import refused
from tests.trainers.training.checkpoint_test import files_of_at_most
from trainers import command_line
from trainers import console
from trainers import embed_data
from trainers import evaluate
from trainers import export
from trainers import nearest
from trainers import train
from trainers.compare import parser as compare_parser
from tuning import search
from tuning import winner

CODE = """
import warnings
from trainers import command_line

def command():
    for _ in range(2):
        warnings.warn("Pixels are\\n0 to 255.")
    warnings.warn_explicit("Pixels are\\n0 to 255.", UserWarning, "a.py", 3)
    warnings.warn("another", RuntimeWarning)
    if FAILS:
        raise ValueError("wrong")

raise SystemExit(command_line.run(command))
"""


def run(fails: bool, *flags):
    code = CODE.replace("FAILS", str(fails))
    return subprocess.run(
        [sys.executable, *flags, "-c", code], capture_output=True, text=True
    )


def test_an_interrupt_says_which_commands_continue(capsys):
    """Others, such as `identify`, start from the beginning."""

    def interrupted():
        raise KeyboardInterrupt

    assert command_line.run(interrupted) == 130
    assert capsys.readouterr().out == (
        "stopped; trainings, comparisons and searches continue if you start "
        "the same command again\n"
    )


def failed(capsys, function) -> str:
    """The error of a command that calls a function."""
    assert command_line.run(function) == 1
    return capsys.readouterr().err


@pytest.mark.parametrize("writes", ["text", "summary", "tensors"])
def test_a_full_disk_has_a_file_and_a_remedy(writes, tmp_path, capsys):
    file = tmp_path / "folder" / "file"
    file.parent.mkdir()

    def write():
        if writes == "text":
            write_atomically(file, "x" * 1000)
        elif writes == "summary":
            with tf.summary.create_file_writer(str(file)).as_default():
                tf.summary.scalar("x" * 1000, 1.0, step=1)
        else:
            tf.raw_ops.Save(
                filename=str(file),
                tensor_names=["x"],
                data=[tf.random.stateless_normal([1000], (1, 2))],
            )

    with files_of_at_most(100):
        error = failed(capsys, write)
    assert error.startswith("error: ") and error.count("\n") == 1
    assert "File too large" in error
    assert str(file) in error
    assert "function_node" not in error and "[Op:" not in error
    assert error.endswith("; make room and start the same command again\n")


def test_a_remedy_is_said_once(capsys):
    def fail():
        raise OSError("No space left on device; make room in /tmp")

    assert failed(capsys, fail) == (
        "error: No space left on device; make room in /tmp\n"
    )


def test_a_warning_is_one_line_printed_once():
    found = run(False)
    assert found.returncode == 0
    lines = found.stderr.splitlines()
    assert lines[0] == "warning: Pixels are 0 to 255."
    assert lines[1].endswith("RuntimeWarning: another")
    assert len(lines) == 2


def test_filters_of_the_user_come_first():
    found = run(False, "-W", "error::UserWarning")
    assert found.returncode != 0
    assert "UserWarning: Pixels are" in found.stderr


def test_an_error_follows_the_warnings():
    found = run(True)
    assert found.returncode == 1
    assert found.stderr.splitlines()[-1] == "error: wrong"


@contextlib.contextmanager
def unread():
    """Standard output is a pipe that nobody reads, as after `| head`."""
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as stream:
        with contextlib.redirect_stdout(stream):
            yield


@pytest.mark.parametrize("length", [1, 100_000])  # written at the end, at once
def test_a_command_whose_output_nobody_reads(length, capsys):
    with unread():
        with pytest.raises(SystemExit) as ended:
            command_line.run(print, "x" * length)
        print("Python flushes at its end", flush=True)
    assert ended.value.code == command_line.CLOSED_PIPE
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("module", "words"),
    [
        (train, ["--list"]),
        (train, ["--help"]),
        (train, ["--config", "demo", "--help"]),
        (console, ["--help"]),
        (nearest, ["--help"]),
    ],
)
def test_texts_that_nobody_reads(module, words, capsys):
    with unread(), pytest.raises(SystemExit) as ended:
        module.main(words)
    assert ended.value.code == command_line.CLOSED_PIPE
    assert capsys.readouterr().err == ""


def test_another_broken_pipe_is_an_error(capsys):
    def fail():
        raise BrokenPipeError(32, "Broken pipe")

    assert command_line.run(fail) == 1
    assert capsys.readouterr().err == "error: [Errno 32] Broken pipe\n"


def test_a_tilde_is_the_home_folder(tmp_path, monkeypatch, capsys):
    """No shell expands it in `--workdir=~/run`."""
    monkeypatch.setenv("HOME", str(tmp_path))
    words = ["--workdir=~/run", "--directory=~/model", "--gallery=~/g.npz"]
    found = export.parser().parse_args(words)
    assert found.workdir == f"{tmp_path}/run"
    assert found.directory == f"{tmp_path}/model"
    assert found.gallery == f"{tmp_path}/g.npz"
    words = ["--workdir=~/run", "--output=e.npz", "--projector=~/logs"]
    found = embed_data.parser().parse_args(words)
    assert found.projector == f"{tmp_path}/logs"
    words = ["arrays:x.npz", "--goal", "retrieve", "--workdir=~/run"]
    found = command_line.parse(compare_parser(), words)
    assert found.workdir == f"{tmp_path}/run"
    words = ["--config=~/a.py", "--space=~/s.py", "--trials=1", "--workdir=a"]
    found = command_line.parse(search.parser(), words)
    assert found.config == f"{tmp_path}/a.py"
    assert found.space == f"{tmp_path}/s.py"
    words = ["--search=~/found", "--batches=1", "--workdir=a"]
    found = command_line.parse(winner.parser(), words)
    assert found.search == f"{tmp_path}/found"
    (tmp_path / "file").touch()
    error = refused(capsys, export, "--workdir=~/run", "--directory=~/file")
    assert f"{tmp_path}/file is a file; name a folder" in error


@pytest.mark.parametrize("package", ["embeddings_tf", "trainers", "tuning"])
def test_pathlib_expands_no_tilde(package):
    """It raises RuntimeError for ~tmp.jpg, unless a user has this name."""
    files = sorted((ROOT / package).rglob("*.py"))
    texts = [file.read_text(encoding="utf-8") for file in files]
    pairs = zip(files, texts, strict=True)
    assert files
    assert [file for file, text in pairs if ".expanduser()" in text] == []


def test_a_command_to_type_quotes_the_workdir(tmp_path, capsys):
    folder = tmp_path / "two words"
    error = refused(capsys, evaluate, "--workdir", folder)
    assert error.endswith(f"--workdir '{folder}'\n")


def test_names_that_are_not_utf8_cannot_be_exported_to(tmp_path, capsys):
    place = tmp_path / b"caf\xe9".decode("utf-8", "surrogateescape")
    words = ["--workdir", tmp_path, "--directory", place]
    error = refused(capsys, export, *words)
    assert "--directory must be a folder whose name is UTF-8" in error
