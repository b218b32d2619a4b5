"""Tests that workdirs stay out of the data."""

import pytest

from tests.datasets.image_folders import write_classes
from tests.trainers.commands import SPACE
from tests.trainers.commands import TINY
from tests.trainers.commands import refused
from trainers import compare
from trainers import cross_validate
from trainers import export
from trainers import train
from trainers.config import load_recipe
from trainers.workdirs.require_outside_data import require_outside_data
from trainers.workdirs.workdir import claim
from tuning import search

MESSAGE = "would be read as a part of it. Choose a place outside"


@pytest.fixture
def photos(tmp_path, monkeypatch):
    """A folder `photos` of three classes in the current folder."""
    write_classes(tmp_path / "photos", "abc")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "photos"


def files(folder):
    return sorted(folder.rglob("*"))


@pytest.mark.parametrize("workdir", ["photos", "photos/run", "photos/a/run/1"])
@pytest.mark.parametrize("module", [train, compare])
def test_a_goal_writes_nothing_into_the_data(module, workdir, photos, capsys):
    before = files(photos)
    words = ["image_folder:photos", "--goal", "retrieve", "--workdir", workdir]
    error = refused(capsys, module, *words)
    assert f"--workdir {workdir} is in the data image_folder:photos" in error
    assert MESSAGE in error
    assert files(photos) == before


@pytest.mark.parametrize("module", [train, cross_validate, search])
def test_a_recipe_writes_nothing_into_the_data(module, photos, capsys, request):
    root = request.config.rootpath
    before = files(photos)
    words = ["--config", root / TINY, "--workdir", "photos/run"]
    words += ["--config.dataset=image_folder:photos"]
    words += ["--config.evaluation.name=few_shot"]
    if module is search:
        words += ["--space", root / SPACE, "--trials", 1]
    if module is cross_validate:
        words += ["--config.folds.num_folds=2", "--config.split=train"]
    assert MESSAGE in refused(capsys, module, *words)
    assert files(photos) == before


def test_an_export_writes_nothing_into_the_data(photos, capsys):
    before = files(photos)
    fields = ["dataset=image_folder:photos", "evaluation.name=few_shot"]
    run = load_recipe("demo", fields)
    (photos.parent / "run").mkdir()
    claim(photos.parent / "run", "demo", run)
    words = ["--workdir", "run", "--directory", "photos/served"]
    error = refused(capsys, export, *words)
    assert "--directory photos/served is in the data" in error
    assert files(photos) == before


@pytest.mark.parametrize(
    "folder", ["photos", "photos/", "photos/run", "other/../photos/run", "link"]
)
def test_folders_in_the_data(folder, photos):
    (photos.parent / "link").symlink_to(photos / "a")
    for dataset in ("image_folder:photos", f"audio_folder:{photos}"):
        with pytest.raises(ValueError, match=MESSAGE):
            require_outside_data("--workdir", folder, dataset)


def test_a_link_in_the_data_to_a_folder_outside(photos):
    (photos.parent / "runs").mkdir()
    (photos / "link").symlink_to(photos.parent / "runs")
    with pytest.raises(ValueError, match=MESSAGE):
        require_outside_data("--workdir", "photos/link", "image_folder:photos")


@pytest.mark.parametrize(
    "folder",
    ["runs", "photos2", "photos/../runs", "photos/.runs/a", ".", "/"],
)
def test_folders_outside_of_the_data(folder, photos):
    """Readers of folders ignore hidden ones."""
    (photos.parent / "photos2").mkdir()
    for dataset in ("image_folder:photos", f"audio_folder:{photos}"):
        require_outside_data("--workdir", folder, dataset)


@pytest.mark.parametrize(
    "dataset", ["csv:photos", "demo", "", "image_folder:", "image_folder:no"]
)
def test_data_without_folders_of_classes(dataset, photos):
    require_outside_data("--workdir", "photos/run", dataset)
