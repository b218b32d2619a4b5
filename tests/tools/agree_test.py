"""Reruns are compared with the committed results of the same run."""

import json
import math

import pytest

from tools import agree

RECIPE = "sprites_triplet"
PATH = (
    agree.RESULTS / "cross_validation/sprites_triplet-sprites-all_frames.json"
)


def rerun(folder, change=0.0, **fields):
    """A workdir with the numbers of a committed fold, one changed."""
    kept = json.loads(PATH.read_text())
    config = {**kept["config"], **fields}
    config["folds"] = {**config["folds"], "fold": 2}
    evaluation = kept["folds"]["2"]["evaluation"]
    evaluation["test"]["modularity"] += change
    evaluation["seconds"] = 1e6
    fold = folder / "fold_2"
    fold.mkdir(parents=True)
    (fold / "config.json").write_text(
        json.dumps({"recipe": RECIPE, "config": config})
    )
    (fold / "results.json").write_text(
        json.dumps({"recipe": RECIPE, "evaluation": evaluation})
    )
    return folder


def test_equal_numbers_agree_wherever_the_data_lies(tmp_path, capsys):
    run = rerun(tmp_path, data_dir="/elsewhere")
    assert agree.main([str(run)]) == 0
    assert PATH.name in capsys.readouterr().out


@pytest.mark.parametrize(("tolerance", "code"), [("0.02", 0), ("0.005", 1)])
def test_a_difference_is_named(tmp_path, capsys, tolerance, code):
    run = rerun(tmp_path, change=0.01)
    assert agree.main([str(run), "--tolerance", tolerance]) == code
    out = capsys.readouterr().out
    assert "largest difference is 0.01" in out
    assert ("test.modularity was" in out) == bool(code)


def test_a_run_without_a_committed_result(tmp_path, capsys):
    run = rerun(tmp_path, seed=12345)
    assert agree.main([str(run)]) == 2
    assert "no committed result" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        agree.main([str(tmp_path / "missing")])


def test_a_missing_number_never_agrees():
    rows = agree.differences(
        {"a": {"x": 1.0, "y": 2}, "seconds": 3.0}, {"a": {"x": 1.5}, "b": 4}
    )
    assert rows["a.x"] == (1.0, 1.5, 0.5)
    assert math.isnan(rows["a.y"][2])
    assert set(rows) == {"a.x", "a.y"}
