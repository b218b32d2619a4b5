"""The pinned numbers, and the definition of a difference."""

import json

import pytest

from tools import pins


def test_numbers_are_named_by_their_place():
    results = {
        "recipe": "demo",
        "seed": 3,
        "finished": True,
        "training": {
            "seconds": 8.1,
            "history": [{"loss": 2.5, "input_wait": 0.1}, {"loss": 1.5}],
        },
        "evaluation": {"settings": {"k": 1}, "test": {"recall": [0.5, 0.75]}},
    }
    assert pins.numbers(results, "run.") == {
        "run.seed": 3,
        "run.training.history.0.loss": 2.5,
        "run.training.history.1.loss": 1.5,
        "run.evaluation.test.recall.0": 0.5,
        "run.evaluation.test.recall.1": 0.75,
    }


def test_differences_beyond_the_tolerance_are_named():
    before = {"equal": 2.0, "rounded": 100.0, "tiny": 0.0, "other": 2.0}
    after = {"equal": 2.0, "rounded": 100.0005, "tiny": 5e-7, "other": 2.0001}
    assert pins.differences(before, after) == ["other: 2.0 before, 2.0001 now"]
    assert pins.differences({"gone": 1}, {"new": 2}) == [
        "gone: 1 before, None now",
        "new: None before, 2 now",
    ]


@pytest.mark.parametrize(("value", "code"), [(0.5, 0), (0.6, 1)])
def test_compare_tells_by_its_exit_code(
    value, code, tmp_path, monkeypatch, capsys
):
    file = str(tmp_path / "before.json")
    monkeypatch.setattr(pins, "measure", lambda folder: {"run.accuracy": 0.5})
    assert pins.main(["write", file]) == 0
    assert json.loads((tmp_path / "before.json").read_text()) == {
        "run.accuracy": 0.5
    }
    monkeypatch.setattr(pins, "measure", lambda folder: {"run.accuracy": value})
    assert pins.main(["compare", file]) == code
    assert ("run.accuracy: 0.5 before" in capsys.readouterr().out) == bool(code)
