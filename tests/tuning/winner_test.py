"""The winner of a search, as overrides of its recipe at full length."""

import json

import pytest

from trainers.config import load_recipe
from trainers.run_config import config_of
from tuning import winner

RECIPE = "omniglot_retrieval_lifted_structure"
VALUES = {
    "encoder.dim": 128,
    "batches.num_per_class": 10,
    "optimizer.learning_rate": 0.00375,
    "loss.margin": 2.5,
}


def search_folder(tmp_path, recipe=RECIPE, values=VALUES, **fields):
    results = {
        "recipe": recipe,
        "space": "retrieval",
        "overrides": [
            "num_epochs=5",
            "optimizer.learning_rate.decay_steps=300",
            "encoder.dark_ink=False",
        ],
        "best": {"trial": "03", "values": values},
        **fields,
    }
    (tmp_path / "results.json").write_text(json.dumps(results))
    return str(tmp_path)


def test_values_are_set_and_the_length_is_the_recipe_s(tmp_path):
    recipe, fields = winner.winning_overrides(
        search_folder(tmp_path), ["seed=1"]
    )
    assert recipe == RECIPE and fields[-1] == "seed=1"
    found = config_of(load_recipe(recipe, fields))
    expected = config_of(load_recipe(RECIPE))
    expected["seed"] = 1
    expected["encoder"] |= {"dim": 128, "dark_ink": False}
    expected["batches"] |= {"num_classes": 6, "num_per_class": 10}
    expected["loss"]["margin"] = 2.5
    rate = expected["optimizer"]["learning_rate"]
    rate["initial_learning_rate"] = 0.00375
    assert found == expected


def test_a_search_without_a_winner_is_refused(tmp_path):
    folder = search_folder(tmp_path, best=None)
    with pytest.raises(ValueError, match="no finished trial"):
        winner.winning_overrides(folder, [])


def test_the_folds_of_the_winner_are_trained(tmp_path, monkeypatch):
    called = []
    monkeypatch.setattr(
        "trainers.cross_validate.cross_validate",
        lambda *words: called.append(words),
    )
    words = ["--search", search_folder(tmp_path), "--workdir", "runs/winner"]
    assert winner.main([*words, "--folds", "1", "2", "--config.seed=2"]) == 0
    ((recipe, workdir, folds, fields),) = called
    assert (recipe, workdir, folds) == (RECIPE, "runs/winner", [1, 2])
    assert {"loss.margin=2.5", "seed=2"} <= set(fields)


def test_folds_of_a_recipe_without_folds_are_refused(tmp_path, capsys):
    folder = search_folder(
        tmp_path,
        "n_digit_2_dim_2_prototypical",
        {"optimizer.learning_rate": 0.005},
        space="n_digit",
        overrides=[],
    )
    words = ["--search", folder, "--workdir", str(tmp_path / "w")]
    assert winner.main([*words, "--folds", "1"]) == 1
    assert "leave out --folds" in capsys.readouterr().err
