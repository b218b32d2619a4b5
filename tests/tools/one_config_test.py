"""Seeds are joined only if nothing else differs."""

import copy
import json

import pytest

from tools import cross_validation_results
from tools import results_csv
from tools import verification_results
from tools.one_config import require_one_config
from trainers.config import load_recipe
from trainers.config.run_config import config_of


def config(*overrides):
    return config_of(load_recipe("an4_triplet", overrides))


def test_seed_fold_and_place_may_differ():
    first = config()
    second = config("seed=2", "folds.fold=3", "data_dir=/elsewhere")
    shorter = copy.deepcopy(first)
    del shorter["deterministic"]  # has its default
    require_one_config("r", {"a": first, "b": second, "c": shorter})


def test_another_field_is_an_error():
    first, second = config(), config("seed=1", "loss.margin=0.5")
    message = r"r: the runs a and b differ in config.loss.margin \(0.3 and 0.5"
    with pytest.raises(ValueError, match=message):
        require_one_config("r", {"a": first, "b": second})


def test_seeds_of_folds_with_other_fields_are_not_averaged():
    path = (
        cross_validation_results.RESULTS
        / "sprites_f_statistic-sprites-all_frames.json"
    )
    results = json.loads(path.read_text())
    winner = copy.deepcopy(results)
    for part in (winner["config"], *winner["folds"].values()):
        part["seed"] = 7
    files = {path: results, path.with_name("b.json"): winner}
    found = cross_validation_results.together(files)
    runs = found["sprites_f_statistic", "sprites/all_frames"]["folds"]["1"]
    assert [run["seed"] for run in runs] == [0, 7]
    winner["config"]["loss"]["num_dims"] = 5
    with pytest.raises(ValueError, match="differ in config.loss.num_dims"):
        cross_validation_results.together(files)


def test_seeds_of_verification_with_other_fields_are_not_averaged():
    path = verification_results.RESULTS / "an4_triplet-seed_0.json"
    results = json.loads(path.read_text())
    winner = copy.deepcopy(results) | {"seed": 7}
    files = {path: results, path.with_name("b.json"): winner}
    for run in winner["runs"].values():
        run["config"] |= {"seed": 7}
    found = verification_results.together(files)
    assert {seed for _, seed in found["an4", "folds", "an4_triplet"]} == {0, 7}
    winner["runs"]["fold_1"]["config"]["loss"]["margin"] = 0.5
    with pytest.raises(ValueError, match="differ in config.loss.margin"):
        verification_results.together(files)


def test_lines_of_the_csv_have_one_config(tmp_path, monkeypatch):
    name = "sprites_triplet-sprites-all_frames.json"
    results = json.loads((cross_validation_results.RESULTS / name).read_text())
    folder = tmp_path / "cross_validation"
    folder.mkdir()
    (folder / name).write_text(json.dumps(results))
    results["config"]["seed"] = 1
    other = folder / f"seed_1_{name}"
    other.write_text(json.dumps(results))
    monkeypatch.setattr(results_csv, "RESULTS", tmp_path)
    assert {row["seed"] for row in results_csv.numbers()} == {0, 1}
    results["config"]["loss"]["margin"] = 0.5
    other.write_text(json.dumps(results))
    with pytest.raises(ValueError, match="differ in config.loss.margin"):
        list(results_csv.numbers())
