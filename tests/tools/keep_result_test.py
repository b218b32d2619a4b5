"""Runs are added to committed results, and replace them only on request."""

import json

import pytest

from tools.keep_result import keep_result


def result(folds, **config):
    runs = {fold: {"evaluation": {"recall": v}} for fold, v in folds.items()}
    config = {
        "loss": {"name": "TripletLoss"},
        "data_dir": "",
        "folds": {"num_folds": 5, "fold": 0},
        **config,
    }
    return {"recipe": "r", "config": config, "folds": runs}


def test_folds_are_added(tmp_path):
    path = tmp_path / "new_folder" / "r.json"
    keep_result(path, result({"2": 0.5}))
    more = result({"1": 0.25, "2": 0.5}, data_dir="/elsewhere")
    more["config"]["folds"]["fold"] = 3
    keep_result(path, more)
    found = json.loads(path.read_text())
    assert list(found["folds"]) == ["1", "2"]
    assert found["folds"]["1"]["evaluation"] == {"recall": 0.25}
    assert found["config"]["data_dir"] == "", "as it was written first"


@pytest.mark.parametrize(
    ("other", "what"),
    [
        (result({"1": 0.75}), "folds 1"),
        (result({"2": 0.5}, num_epochs=3), "config"),
        ({**result({"2": 0.5}), "recipe": "s"}, "recipe"),
    ],
)
def test_another_result_needs_replace(tmp_path, other, what):
    path = tmp_path / "r.json"
    keep_result(path, result({"1": 0.5}))
    before = path.read_bytes()
    with pytest.raises(
        ValueError, match=f"already contains other values of {what}"
    ):
        keep_result(path, other)
    assert path.read_bytes() == before
    keep_result(path, other, replace=True)
    assert json.loads(path.read_text()) == other


def test_replacing_a_fold_keeps_the_others(tmp_path):
    path = tmp_path / "r.json"
    keep_result(path, result({"1": 0.5, "2": 0.6}))
    keep_result(path, result({"1": 0.75}), replace=True)
    found = json.loads(path.read_text())
    assert found["folds"] == result({"1": 0.75, "2": 0.6})["folds"]
    # Another config is another result.
    other = result({"3": 0.5}, num_epochs=3)
    keep_result(path, other, replace=True)
    assert json.loads(path.read_text()) == other


def test_an_equal_result_changes_nothing(tmp_path):
    path = tmp_path / "r.json"
    keep_result(path, result({"1": 0.5}))
    before = path.read_bytes()
    keep_result(path, result({"1": 0.5}))
    assert path.read_bytes() == before


def test_runs_are_not_added_to_folds(tmp_path):
    path = tmp_path / "r.json"
    keep_result(path, result({"1": 0.5}))
    before = path.read_bytes()
    named = result({})
    named["runs"] = {"official": named.pop("folds")}
    single = {"recipe": "r", "evaluation": {}}
    for other, said in ((named, "runs"), (single, "a single run")):
        with pytest.raises(
            ValueError, match=f"contains folds, and the new .* contains {said};"
        ):
            keep_result(path, other)
        assert path.read_bytes() == before
    keep_result(path, named, replace=True)
    with pytest.raises(ValueError, match="contains runs, and the new .* folds"):
        keep_result(path, result({"1": 0.5}))
