"""Runs that the tests of the trainers share."""

import contextlib
import io
import os
import shutil

import pytest

from tests.trainers import commands
from tests.trainers.colours import write_colours
from tests.trainers.colours import write_run
from tests.trainers.page_commands import blocks
from tests.trainers.page_commands import run_commands
from tests.trainers.page_commands import run_python
from tests.trainers.train_test import TINY
from tests.trainers.train_test import run_with_import
from trainers import train


@pytest.fixture(scope="session")
def unbroken(tmp_path_factory):
    """The workdir of a tiny training without interruptions."""
    workdir = tmp_path_factory.mktemp("unbroken") / "run"
    code, out, err = run_with_import(
        "trainers.train", "--config", TINY, "--workdir", workdir
    )
    assert code == 0, err
    assert err == "", "start-up is quiet"
    assert f"trainers.evaluate --workdir {workdir}" in out
    return workdir


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    """The workdir of two epochs of the tiny recipe, trained in this process."""
    workdir = tmp_path_factory.mktemp("trained") / "run"
    before = os.getcwd()
    os.chdir(commands.ROOT)
    try:
        assert commands.call(train, *commands.tiny(train, workdir)) == 0
    finally:
        os.chdir(before)
    return workdir


@pytest.fixture
def run(trained, tmp_path):
    """A copy of the trained workdir, which a test may change."""
    shutil.copytree(trained, tmp_path / "run")
    return tmp_path / "run"


@pytest.fixture
def in_checkout(monkeypatch):
    """Paths of recipes start at the checkout; errors show no traceback."""
    monkeypatch.chdir(commands.ROOT)
    monkeypatch.delenv("EMBEDDINGS_TF_TRACEBACK", raising=False)


@pytest.fixture(scope="session")
def colours(tmp_path_factory):
    """A folder `photos` of 40 classes of colours, and a `run` on it."""
    folder = tmp_path_factory.mktemp("colours")
    write_colours(folder / "photos")
    write_run(folder / "run", folder / "photos")
    return folder


@pytest.fixture(scope="session")
def use_page(tmp_path_factory):
    """A folder where every command of docs/use.md ran, and what they print."""
    folder = tmp_path_factory.mktemp("use_page")
    printed = io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(printed):
        run_python("use.md", 0)
        lines = [
            line
            for block in blocks("use.md", "sh")[1:]
            for line in block.splitlines()
        ]
        assert len(lines) == 9
        last = "embeddings-tf enroll --remove 33 --gallery gallery.npz"
        assert lines[-1] == last
        run_commands(lines)
    return folder, printed.getvalue()
