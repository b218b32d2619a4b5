import json
import pathlib

import pytest

from trainers.workdirs.results import update_results
from trainers.workdirs.run_card import run_card
from trainers.workdirs.run_card import without_folders

PRIVATE = "/home/somebody"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (f"image_folder:{PRIVATE}/photos/", "image_folder:photos"),
        ("image_folder:photos/train", "image_folder:train"),
        (f"csv:{PRIVATE}/table.csv", "csv:table.csv"),
        (f"{PRIVATE}/mine.py:encoder", "mine.py:encoder"),
        ("code/mine.py:encoder", "mine.py:encoder"),
        ("runs/numbers/recipe.py", "recipe.py"),
        (f"{PRIVATE}/runs/before", "before"),
        ("~/runs/before", "before"),
        ("../runs/before", "before"),
        ("weights/best.keras", "best.keras"),
        ("/", "/"),
        # Not paths.
        ("n_digit/digits_2_number", "n_digit/digits_2_number"),
        ("omniglot", "omniglot"),
        ("", ""),
        (0.5, 0.5),
        (None, None),
        (
            {"a": [f"{PRIVATE}/x", {"b": f"{PRIVATE}/y"}]},
            {"a": ["x", {"b": "y"}]},
        ),
    ],
)
def test_the_last_part_of_a_path(value, expected):
    assert without_folders(value) == expected


def test_no_folder_of_the_machine_is_in_the_card(run, tmp_path):
    private = tmp_path / "private"
    private.mkdir()
    (private / "mine.py").write_text("def encoder(dim=2, file=''):\n    pass\n")
    path = run / "config.json"
    found = json.loads(path.read_text())
    found["recipe"] = f"{private}/recipe.py"
    found["config"] |= {
        "dataset": f"image_folder:{private}/photos",
        "data_dir": f"{private}/data",
        "initial_weights": "runs/before",
        "encoder": {
            "name": f"{private}/mine.py:encoder",
            "file": f"{private}/weights",
        },
    }
    path.write_text(json.dumps(found))
    card = run_card(run, None)
    assert "private" not in json.dumps(card)
    assert str(tmp_path) not in json.dumps(card)
    assert card["data"]["name"] == "image_folder:photos"
    assert card["recipe"]["name"] == "recipe.py"
    config = card["recipe"]["config"]
    assert config["initial_weights"] == "before"
    assert config["encoder"]["name"] == "mine.py:encoder"


def test_metrics_are_only_what_was_measured(run):
    """Settings, seconds and machine are in the recipe."""
    settings = {"num_episodes": 100, "file": f"{PRIVATE}/trials.txt"}
    update_results(
        pathlib.Path(run),
        evaluation={
            "test": {"clean": {"accuracy": 0.7, "interval": 0.01}},
            "axes": {"rotation": {"angle": 0.0, "aligned_sum": 3.0}},
            "seconds": 52.3,
            "settings": settings,
            "cores": 2,
            "load": 1.5,
            "data_fingerprint": "4567",
            "commit": "0123",
        },
    )
    card = run_card(run, "Apache-2.0")
    assert card["metrics"] == {
        "test": {"clean": {"accuracy": 0.7, "interval": 0.01}},
        "axes": {"rotation": {"aligned_sum": 3.0}},
    }
    assert card["recipe"]["evaluation"] == {
        "seconds": 52.3,
        "settings": {"num_episodes": 100, "file": "trials.txt"},
        "cores": 2,
        "load": 1.5,
        "data_fingerprint": "4567",
        "commit": "0123",
    }


def test_a_run_without_an_evaluation(run):
    update_results(run, evaluation={})
    card = run_card(run, None)
    assert card["metrics"] == {} and "evaluation" not in card["recipe"]
