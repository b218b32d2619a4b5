"""Searches of one recipe have files and commands of their own."""

import json

import pytest

from tools import search_table
from trainers.config import load_recipe
from tuning import search

RECIPE = "sprites_f_statistic"


def results(objective="val_explicitness", overrides=(), **fields):
    row = {
        "trial": "00",
        "values": {"share_of_dims": 0.1},
        "status": "completed",
        "objective": 0.5,
        "best_epoch": 1,
        "epochs": 2,
        "steps": 10,
        "seconds": 60.0,
        "commit": "0" * 40,
        "processor": "P",
        "cores": 2,
        "data_fingerprint": "0123456789abcdef",
    }
    return {
        "recipe": RECIPE,
        "space": "disentangling",
        "objective": objective,
        "direction": "max",
        "seed": 0,
        "search_seed": 0,
        "workers": 0,
        "overrides": list(overrides),
        "best": row,
        "trials": [row],
        "seconds": 60.0,
        **fields,
    }


@pytest.mark.parametrize(
    ("fields", "ending"),
    [
        ({}, ""),
        ({"overrides": ["num_epochs=5"]}, ""),
        ({"objective": "val_modularity"}, "-val_modularity"),
        (
            {"overrides": ["dataset=sprites/weapon_visible"]},
            "-sprites_weapon_visible",
        ),
        ({"overrides": ["data.dataset=sprites/all_frames"]}, ""),
        ({"search_seed": 2, "seed": 1}, "-search_seed_2-seed_1"),
    ],
)
def test_a_name_has_what_is_not_the_recipe_s(fields, ending):
    assert load_recipe(RECIPE).data.dataset == "sprites/all_frames"
    expected = f"{RECIPE}-disentangling{ending}"
    assert search_table.name_of(results(**fields)) == expected


def test_two_objectives_are_kept_and_their_commands_differ(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(search_table, "ROOT", tmp_path)
    monkeypatch.setattr(search_table, "RESULTS", tmp_path / "kept")
    for objective in ("val_explicitness", "val_modularity"):
        workdir = tmp_path / objective
        workdir.mkdir()
        found = results(objective)
        (workdir / "results.json").write_text(json.dumps(found))
        (workdir / "best.py").write_text("")
        search_table.collect(workdir)
    found = search_table.load()
    assert len(found) == 2
    text = search_table.table(found)
    assert f"### `{RECIPE}` over `disentangling`, val_modularity\n" in text
    assert "data 0123456789abcdef; commit 0000000" in text
    commands = [
        line.split()[3:]
        for line in text.splitlines()
        if line.startswith("    python -m tuning.search")
    ]
    asked = [search.parser().parse_known_args(words)[0] for words in commands]
    assert [words.objective for words in asked] == [*found_objectives(found)]
    assert {words.direction for words in asked} == {"max"}


def found_objectives(found):
    return (results["objective"] for results in found.values())
