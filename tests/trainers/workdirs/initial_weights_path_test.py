"""Where the initial weights of a run are."""

import pytest

from trainers.config import load_recipe
from trainers.workdirs.initial_weights_path import initial_weights_path

RECIPE = "omniglot_verification_learned_distance"


def found(*fields):
    return initial_weights_path(load_recipe(RECIPE, fields))


@pytest.fixture
def folds(tmp_path):
    """A cross-validation of which fold 2 was trained."""
    (tmp_path / "fold_2" / "checkpoints").mkdir(parents=True)
    (tmp_path / "folds.json").write_text("{}")
    return tmp_path


def test_a_workdir_or_file_in_the_home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "run").mkdir()
    (tmp_path / "model.keras").write_text("")
    for name in ("run", "model.keras"):
        assert found(f"initial_weights=~/{name}") == tmp_path / name
    with pytest.raises(FileNotFoundError, match="neither a workdir nor"):
        found("initial_weights=~/none")


def test_a_cross_validation_gives_the_run_of_the_fold(folds):
    given = f"initial_weights={folds}"
    assert found(given, "folds.fold=2") == folds / "fold_2"
    with pytest.raises(FileNotFoundError, match="not trained fold 3; train"):
        found(given, "folds.fold=3")


def test_a_run_without_folds_names_one_of_them(folds):
    run = load_recipe("demo", [f"initial_weights={folds}"])
    with pytest.raises(ValueError, match="name the run of one fold, such as"):
        initial_weights_path(run)
