"""What became of the audit is read from the result files."""

import json
import re

from tests.read_between import read_between
from tools import audit_table
from tools import reproduced_verdicts
from trainers.recipes import every_recipe


def test_the_page_has_the_table():
    module = audit_table
    between = read_between(module.PAGE, module.BEGIN, module.END)
    assert between == module.table()


def test_a_line_is_done_when_all_its_results_are_there(tmp_path, monkeypatch):
    monkeypatch.setattr(reproduced_verdicts, "RESULTS", tmp_path)
    patterns = "a/x-*.json", "b.json"
    assert audit_table.state(()) == "done"
    assert audit_table.state(patterns) == "0 of 2 run"
    (tmp_path / "a").mkdir()
    for seed in (0, 1):  # two files of one pattern count once
        (tmp_path / "a" / f"x-{seed}.json").touch()
    assert audit_table.state(patterns) == "1 of 2 run"
    (tmp_path / "b.json").touch()
    assert audit_table.state(patterns) == "done, 2 of 2 run"


def test_fingerprints_are_counted_by_file(monkeypatch, tmp_path):
    monkeypatch.setattr(audit_table.agree, "RESULTS", tmp_path)
    for folder, names in {
        "trust": ["data_fingerprint"],
        "accepted": [],
    }.items():
        (tmp_path / folder).mkdir()
        content = json.dumps(dict.fromkeys(names, "01"))
        (tmp_path / folder / "study.json").write_text(content)
    trials = [
        {"status": "completed", "data_fingerprint": "01"},
        {"status": "completed"},
        {"status": "failed"},
    ]
    for folder, contents in {
        "comparisons": [{"data_fingerprints": ["01", "02"]}, {}],
        "searches": [{"trials": trials}, {"trials": trials[::2]}],
    }.items():
        (tmp_path / folder).mkdir()
        for number, content in enumerate(contents):
            path = tmp_path / folder / f"{number}.json"
            path.write_text(json.dumps(content))
    of_folds = [{"commit": "2", "data_fingerprint": "01"}, {"commit": "2"}]
    for name, content in {
        "planes/numbers": {"picture_of": {"data_fingerprint": "01"}},
        "untrained_networks": {
            "sprites": dict(zip("12", of_folds, strict=True))
        },
        "plda_adaptation": of_folds[0],
        "another": {},
    }.items():
        path = tmp_path / f"{name}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(content))
    runs = [
        ("a", {"data_fingerprint": "01"}),
        ("a", {}),
        ("b", {"data_fingerprint": "01"}),
        ("c", {}),
    ]
    monkeypatch.setattr(
        audit_table.agree,
        "committed",
        lambda: [(path, "", {}, run) for path, run in runs],
    )
    assert (
        audit_table.state(audit_table.fingerprints)
        == "6 of 12 files of evaluations, searches and other studies have one"
    )


def of_folds(evaluation, **test):
    """Results of one fold that trained for 30 of 2 x 20 steps."""
    run = {
        "seed": 0,
        "training": {"steps": 30},
        "evaluation": {"test": test},
    }
    config = {
        "num_epochs": 2,
        "steps_per_epoch": 20,
        "evaluation": {"name": evaluation},
    }
    return {"config": config, "folds": {"1": [run]}}


def test_what_the_results_of_sprites_have_is_counted(monkeypatch):
    weapon, every = "sprites/weapon_visible", "sprites/all_frames"
    oracle = "sprites_f_statistic_class_oracle"
    found = {
        (oracle, weapon): of_folds("disentanglement", modularity=0.5),
        (oracle, every): of_folds(
            "disentanglement", modularity=0.5, modularity_corrected=0.25
        ),
        ("sprites_retrieval_triplet", every): of_folds("retrieval"),
    }
    (run,) = found[oracle, every]["folds"]["1"]
    run["training"]["steps"] = 40
    monkeypatch.setattr(audit_table.folds, "load", lambda: found)
    state = audit_table.state
    assert state(audit_table.corrected) == (
        "1 of 2 results have the corrected one"
    )
    assert state(audit_table.class_oracle) == "1 of 2 trained to the end"
    run["training"]["steps"] = 30
    assert state(audit_table.class_oracle) == "0 of 2 trained to the end"
    (without,) = found[oracle, weapon]["folds"]["1"]
    found[oracle, every]["folds"]["2"] = [without]
    assert state(audit_table.corrected) == (
        "0 of 2 results have the corrected one"
    )


def test_rows_of_four_folds_are_counted_in_both_tables(monkeypatch):
    four, two = dict.fromkeys("1234"), dict.fromkeys("12")
    monkeypatch.setattr(
        audit_table.folds, "load", lambda: {"a": {"folds": four}}
    )
    monkeypatch.setattr(
        audit_table.distance_depth_table,
        "load",
        lambda: {1: {"folds": two}, 2: {"folds": four}},
    )
    assert audit_table.state(audit_table.four_folds) == "2 of 3 rows have four"


def test_the_results_are_of_recipes():
    recipes = every_recipe()
    named = [
        re.match(r"[a-z_]+/(\w+)-", pattern)[1]
        for _, _, patterns in audit_table.LINES
        if not callable(patterns)
        for pattern in patterns
        if "/" in pattern
    ]
    assert len(named) > 30
    assert set(named) <= set(recipes)
