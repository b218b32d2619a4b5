"""A run that only a file of embeddings names runs no code of its own."""

import json
import shutil

import pytest

from tests.trainers.commands import call
from tests.trainers.commands import refused
from tests.trainers.enroll_test import TEST
from trainers import embed_data
from trainers import enroll
from trainers import identify
from trainers import nearest

CODE = """
import pathlib

pathlib.Path(__file__).with_suffix(".ran").write_text("ran")


def get_config():
    raise AssertionError


def name(*args, **kwargs):
    raise AssertionError
"""


@pytest.fixture
def place(colours, tmp_path):
    """A run, its gallery and its embeddings, and a Python file."""
    shutil.copytree(colours / "run", tmp_path / "run")
    photos = [colours / "photos", "--split", "test", "--classes", *TEST[:4]]
    words = ["--workdir", tmp_path / "run", "--gallery", tmp_path / "g.npz"]
    assert call(enroll, *words, *photos, "--false-accept-rate", 0.25) == 0
    words = ["--workdir", tmp_path / "run", "--output", tmp_path / "e.npz"]
    assert call(embed_data, colours / "photos", "--split", "test", *words) == 0
    (tmp_path / "foreign.py").write_text(CODE)
    return tmp_path


def change(place, recipe=None, **fields):
    path = place / "run" / "config.json"
    found = json.loads(path.read_text())
    found["recipe"] = recipe or found["recipe"]
    found["config"] |= fields
    path.write_text(json.dumps(found))


def commands(place, colours):
    photo = colours / "photos" / TEST[0] / "0.png"
    return [
        (identify, [photo, "--gallery", place / "g.npz"]),
        (nearest, [photo, "--gallery", place / "e.npz"]),
        (enroll, ["--remove", TEST[0], "--gallery", place / "g.npz"]),
    ]


@pytest.mark.parametrize("field", ["dataset", "encoder", "network"])
def test_code_that_the_run_names_is_refused(field, place, colours, capsys):
    name = f"{place / 'foreign.py'}:name"
    config = json.loads((place / "run" / "config.json").read_text())["config"]
    change(
        place,
        **{
            "dataset": {"dataset": name},
            "encoder": {"encoder": {**config["encoder"], "name": name}},
            "network": {"backbone": {"network": name}},
        }[field],
    )
    for command, words in commands(place, colours):
        line = refused(capsys, command, *words)
        assert name in line and f"--workdir {place / 'run'}" in line
    assert not (place / "foreign.ran").exists()


def test_the_recipe_is_not_run(place, colours, capsys):
    """The config is complete, and the answer is the same without the file."""
    change(place, recipe=str(place / "foreign.py"))
    for command, words in commands(place, colours):
        assert call(command, *words) == 0
    assert not (place / "foreign.ran").exists()


def test_the_recipe_of_a_run_that_the_user_names_is_run(place, colours, capsys):
    change(place, recipe=str(place / "foreign.py"))
    command, words = commands(place, colours)[0]
    call(command, *words, "--workdir", place / "run")
    assert (place / "foreign.ran").exists()
