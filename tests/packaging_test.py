"""The wheel is complete, correctly labelled and usable after installation."""

import os
import shutil
import subprocess
import sys
import zipfile
from email import message_from_string
from pathlib import Path

import pytest

from embeddings_tf.version import __version__

ROOT = Path(__file__).parents[1]
PACKAGES = ("embeddings_tf", "trainers", "tuning")
pytestmark = pytest.mark.slow


def run(*command, cwd, **environment):
    """Runs a Python command and returns its output."""
    environment = {
        **{k: v for k, v in os.environ.items() if k != "PYTHONPATH"},
        **environment,
    }
    done = subprocess.run(
        [sys.executable, *map(str, command)],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """A copy of the sources of the wheel, without files of earlier builds."""
    source = tmp_path_factory.mktemp("source")
    for package in PACKAGES:
        shutil.copytree(
            ROOT / package,
            source / package,
            ignore=shutil.ignore_patterns("__pycache__", ".*", "*.pyc"),
        )
    for path in ROOT.iterdir():
        if path.name in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
            shutil.copy(path, source)
    return source


@pytest.fixture(scope="module")
def wheel(source, tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    run(
        *("-m", "pip", "wheel", "--quiet", "--no-index", "--no-deps"),
        *("--no-build-isolation", "--wheel-dir", folder, "."),
        cwd=source,
    )
    (wheel,) = folder.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    folder = tmp_path_factory.mktemp("installed")
    run(
        *("-m", "pip", "install", "--quiet", "--no-index", "--no-deps"),
        *("--target", folder, wheel),
        cwd=folder,
    )
    return folder


def test_wheel_holds_every_file_of_the_packages(source, wheel):
    expected = {
        path.relative_to(source).as_posix()
        for package in PACKAGES
        for path in (source / package).rglob("*")
        if path.is_file() and "dummy_data" not in path.parts
    }
    with zipfile.ZipFile(wheel) as archive:
        held = {n for n in archive.namelist() if ".dist-info/" not in n}
    assert held == expected
    assert "embeddings_tf/py.typed" in held


def test_wheel_contains_the_files_that_tfds_reads(source, wheel):
    builders = list((source / "embeddings_tf").rglob("*_dataset_builder.py"))
    assert builders
    with zipfile.ZipFile(wheel) as archive:
        held = set(archive.namelist())
    for builder in builders:
        folder = builder.parent.relative_to(source).as_posix()
        for name in ("README.md", "CITATIONS.bib", "TAGS.txt", "checksums.tsv"):
            assert f"{folder}/{name}" in held


def test_metadata(wheel):
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [n for n in archive.namelist() if n.endswith("/METADATA")]
        metadata = message_from_string(archive.read(name).decode())
        names = archive.namelist()
    assert metadata["Name"] in ("embeddings_tf", "embeddings-tf")
    assert metadata["Version"] == __version__
    assert metadata["License"] or metadata["License-Expression"]
    assert any(name.endswith("LICENSE") for name in names)
    assert metadata.get_payload().strip()


def test_installed_package_is_the_one_that_runs(installed, tmp_path):
    printed = run(
        *("-c", "import embeddings_tf.version as v; print(v.__file__)"),
        cwd=tmp_path,
        PYTHONPATH=str(installed),
    )
    path = Path(printed.strip().splitlines()[-1])
    assert path.is_relative_to(installed)


def test_console_command_is_installed(installed, tmp_path):
    script = installed / "bin" / "embeddings-tf"
    printed = run(script, "--help", cwd=tmp_path, PYTHONPATH=str(installed))
    assert "usage: embeddings-tf COMMAND" in printed


def test_installed_command_line_answers(installed, tmp_path):
    printed = run(
        *("-m", "trainers.train", "--help"),
        cwd=tmp_path,
        PYTHONPATH=str(installed),
    )
    assert "--config" in printed
    assert "--workdir" in printed
    assert not list(tmp_path.iterdir())
