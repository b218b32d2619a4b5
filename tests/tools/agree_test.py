"""Reruns are compared with the committed results of the same run."""

import json
import math

import pytest

from tests.read_between import read_between
from tools import agree
from tools import n_digit_table
from tools import sentinels
from tools import study_files
from tools import trust_table
from trainers.config import load_recipe
from trainers.workdirs.workdir import as_json

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
    extremes = {"test": {"largest_triangle_excess": 1.0, "mean": 0.5}}
    assert set(agree.differences(extremes, extremes)) == {"test.mean"}
    assert rows["a.x"] == (1.0, 1.5, 0.5)
    assert math.isnan(rows["a.y"][2])
    assert set(rows) == {"a.x", "a.y"}


@pytest.mark.parametrize(
    "kept",
    [
        {"reject_area": 0.2},
        {"area_under_risk_coverage": 0.2, "reject_area": 0.2},
    ],
)
def test_a_number_is_compared_under_its_name_of_now(kept):
    rerun_of_it = {"test": {"area_under_risk_coverage": 0.3}}
    assert agree.differences({"test": kept}, rerun_of_it) == {
        "test.area_under_risk_coverage": (0.2, 0.3, pytest.approx(0.1))
    }


def test_a_damaged_run_is_named(tmp_path):
    run = rerun(tmp_path, change=0.0)
    (run / "fold_2" / "results.json").write_text("{")
    with pytest.raises(SystemExit, match=r"error: .*results\.json is damaged"):
        agree.main([str(run)])


@pytest.mark.slow
def test_a_rerun_is_recorded_whether_it_agrees_or_not(tmp_path, monkeypatch):
    monkeypatch.setattr(sentinels, "FILE", tmp_path / "sentinels.json")
    run = rerun(tmp_path / "a", change=0.001)
    file = run / "fold_2" / "results.json"
    results = json.loads(file.read_text())
    training = {"commit": "0" * 40, "processor": "P", "cores": 7}
    file.write_text(json.dumps(results | {"training": training}))
    words = [str(run), "--record", "--tolerance"]
    assert agree.main([*words, "0.0001"]) == 1
    (found,) = sentinels.load()
    assert found["agree"] == found["numbers"] - 1
    for _ in range(2):  # of one command, the last is kept
        assert agree.main([*words, "0.01"]) == 0
    (found,) = sentinels.load()
    assert found["table"] == (
        "cross_validation, disentanglement, sprites/all_frames"
    )
    assert found["command"].startswith(
        "python -m trainers.cross_validate --config sprites_triplet --folds 2 "
    )
    assert found["largest_difference"] == pytest.approx(0.001)
    assert found["agree"] == found["numbers"] > 5
    assert found["commit"] == "0" * 40
    text = sentinels.table([found])
    assert f"| {found['table']} | `{found['command']}` | " in text
    kept = json.loads(PATH.read_text())["folds"]["2"]["training"]["cores"]
    shown = f" | {found['agree']} of {found['numbers']} | 0.001 | {kept} | 7 | "
    assert shown in text
    one = "1 of them, at least one rerun agrees in all numbers; in 1, all"
    assert one in text and "no rerun does" not in text
    assert "does not" not in text and "noted before" not in text
    other = found | {"agree": found["agree"] - 1}
    assert f"In these, no rerun does: {found['table']}." in (
        sentinels.table([other])
    )
    mixed = sentinels.table([found, other])
    assert "In 1 of them, at least one rerun" in mixed and "in 0, all" in mixed
    training["commit"] += "-dirty"
    file.write_text(json.dumps(results | {"training": training}))
    with pytest.raises(SystemExit, match="error: .*expected a clean checkout"):
        agree.main([*words, "0.01"])


@pytest.mark.slow
def test_a_rerun_of_a_recipe_without_folds_is_recorded(tmp_path, monkeypatch):
    monkeypatch.setattr(sentinels, "FILE", tmp_path / "sentinels.json")
    path = next(
        (agree.RESULTS / "n_digit").glob("*_prototypical_seed_1_*.json")
    )
    kept = json.loads(path.read_text())
    config = agree.complete_config(n_digit_table.config_of(kept))
    (tmp_path / "config.json").write_text(
        json.dumps({"recipe": kept["recipe"], "config": config})
    )
    kept["training"]["commit"] = "0" * 40
    (tmp_path / "results.json").write_text(json.dumps(kept))
    assert agree.main([str(tmp_path), "--record"]) == 0
    (found,) = sentinels.load()
    assert found["table"].startswith("n_digit, n_digit_few_shot, n_digit/")
    assert found["agree"] == found["numbers"]


STUDY = agree.RESULTS / "trust" / "omniglot_triplet.json"


def study_again(folder, change):
    """The file of a study in another checkout, with one number changed."""
    content = json.loads(STUDY.read_text())
    promise = content["promises"]["nearest_distance"][0]
    promise["reached"] += change
    content |= {"commit": "0" * 40, "cores": 7, "load": 1e6, "seconds": 1e6}
    file = folder / "trust" / STUDY.name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(content))
    return file


def test_a_study_is_compared_with_the_committed_file(tmp_path, capsys):
    assert agree.main([str(study_again(tmp_path, 0.0))]) == 0
    assert agree.main([str(study_again(tmp_path, 0.01))]) == 1
    out = capsys.readouterr().out
    assert "promises.nearest_distance.0.reached was" in out
    assert "largest difference is 0.01" in out
    other = json.loads(STUDY.read_text())
    other["config"]["folds"] = {"num_folds": 5, "split": "train+test"}
    file = study_again(tmp_path, 0.0)
    file.write_text(json.dumps(other))
    assert agree.main([str(file)]) == 2
    assert "another recipe, other fields" in capsys.readouterr().err
    unknown = tmp_path / "trust" / "unknown.json"
    unknown.write_text("{}")
    assert agree.main([str(unknown)]) == 2
    assert "no committed study" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="is the committed file itself"):
        agree.main([str(STUDY)])


def test_a_search_is_compared_by_the_objectives_of_its_trials(tmp_path, capsys):
    path = agree.RESULTS / "searches" / "an4_triplet-verification.json"
    search = json.loads(path.read_text())
    file = tmp_path / "searches" / path.name
    file.parent.mkdir()
    search["trials"][3]["objective"] += 0.02
    search["trials"][4] |= {"seconds": 1e6, "best_epoch": 1000}
    file.write_text(json.dumps(search))
    assert agree.main([str(file)]) == 1
    out = capsys.readouterr().out
    count = len(search["trials"])
    assert f"{count - 1} of {count} numbers agree" in out
    assert "trials.03.objective was" in out
    search["trials"][5]["objective"] = None  # this trial failed
    file.write_text(json.dumps(search))
    assert agree.main([str(file)]) == 1
    out = capsys.readouterr().out
    assert f"{count - 2} of {count} numbers agree" in out
    assert "trials.05.objective was" in out
    search["trials"][3]["values"]["encoder.dim"] += 1
    file.write_text(json.dumps(search))
    assert agree.main([str(file)]) == 2
    assert "other trials" in capsys.readouterr().err


def best_trial_again(folder, change=0.0, **fields):
    """A training of the best trial of a search, with another objective."""
    search = agree.RESULTS / "searches" / "an4_triplet-verification.json"
    file = search.with_name("an4_triplet-verification_best.py")
    found = json.loads(search.read_text())
    score = found["best"]["objective"] + change
    # The epoch that is best by the monitor; another is higher.
    scores = [{found["objective"]: score + more} for more in (-0.2, 0, 0.1)]
    training = {
        "history": scores,
        "best_epoch": 2,
        "commit": "0" * 40,
        "processor": "P",
    }
    config = as_json(load_recipe(str(file))) | fields
    folder.mkdir(exist_ok=True)
    for name, content in {
        "config.json": {"recipe": str(file), "config": config},
        "results.json": {"training": training | {"cores": 7}},
    }.items():
        (folder / name).write_text(json.dumps(content))
    return folder


def test_the_best_trial_is_compared_with_its_search(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(sentinels, "FILE", tmp_path / "sentinels.json")
    words = [str(tmp_path / "run"), "--record"]
    best_trial_again(tmp_path / "run", change=0.01)
    assert agree.main(words) == 1
    assert "0 of 1 numbers agree" in capsys.readouterr().out
    (found,) = sentinels.load()
    assert not sentinels.is_equal(found)
    best_trial_again(tmp_path / "run", data_dir="/elsewhere")
    assert agree.main(words) == 0
    (found,) = sentinels.load()
    assert found["table"] == "searches" and sentinels.is_equal(found)
    assert found["cores"] == 7
    # The command is one that trains the recipe of the best trial.
    program, _, arguments = found["command"].partition(" --config ")
    assert program == "python -m trainers.train"
    recipe, _, workdir = arguments.partition(" --workdir ")
    assert (agree.ROOT / recipe).is_file() and workdir.startswith("runs/")
    text = sentinels.table([found])
    every = len([*(agree.RESULTS / "searches").glob("*.json")])
    assert f"1 of {every} searches have a rerun" in text
    assert "of the best one; 1 have one that agrees." in text
    apart = found | {"agree": 0, "command": "another"}
    assert "; 1 have one that agrees." in sentinels.table([found, apart])
    assert "; 0 have one that agrees." in sentinels.table([apart])
    best_trial_again(tmp_path / "run", num_epochs=7)
    with pytest.raises(SystemExit, match="error: .*with other fields than"):
        agree.main(words)


def test_a_rerun_of_a_study_is_recorded(tmp_path, monkeypatch):
    monkeypatch.setattr(sentinels, "FILE", tmp_path / "sentinels.json")
    file = study_again(tmp_path, 0.01)
    assert agree.main([str(file), "--record"]) == 1
    (found,) = sentinels.load()
    assert found["table"] == "trust" and found["cores"] == 7
    assert found["agree"] == found["numbers"] - 1
    assert found["largest_difference"] == pytest.approx(0.01)
    command = found["command"]
    assert command in read_between(trust_table.PAGE, *trust_table.MARKS)
    assert f"| trust | `{command}` | " in sentinels.table([found])
    content = json.loads(file.read_text())
    changed = {"commit": "0" * 40 + "-dirty"}
    for part in (changed, {"training": content["training"] | changed}):
        file.write_text(json.dumps(content | part))
        with pytest.raises(SystemExit, match="expected a clean checkout"):
            agree.main([str(file), "--record"])


@pytest.mark.parametrize("folder", study_files.FOLDERS)
def test_every_study_has_numbers_and_a_command(folder):
    for path in sorted((agree.RESULTS / folder).glob("*.json")):
        content = json.loads(path.read_text())
        found = study_files.numbers(content)
        least = len(content["trials"]) if folder == "searches" else 6
        assert len(found) >= least
        # Times and loads of a machine are not compared.
        assert not {"seconds", "load", "cores"} & {
            part for name in found for part in name.split(".")
        }
        if content.get("recipe", "").endswith(".py"):
            continue  # made by --goal; docs/trust.md has its commands
        assert study_files.command(path, content).startswith(
            (
                "python -m trainers.train --config ",
                "python -m tuning.search --config ",
                "embeddings-tf compare ",
            )
        )


@pytest.mark.parametrize("name", study_files.SINGLE)
def test_a_study_of_one_file_is_compared(name, tmp_path, monkeypatch):
    monkeypatch.setattr(sentinels, "FILE", tmp_path / "sentinels.json")
    content = json.loads((agree.RESULTS / f"{name}.json").read_text())
    file = tmp_path / f"{name}.json"
    file.write_text(json.dumps(content))
    assert agree.main([str(file), "--record"]) == 0
    (found,) = sentinels.load()
    assert found["table"] == name and found["differ"] == []
    assert found["command"] in sentinels.table([found])
    assert f"python -m tools.{name}" in found["command"]
    first = next(iter(study_files.numbers(content)))
    *places, last = first.split(".")
    section = content
    for place in places:
        section = section[place]
    section[last] += 0.01
    file.write_text(json.dumps(content))
    assert agree.main([str(file), "--record"]) == 1
    (found,) = sentinels.load()
    assert found["differ"] == [first]


def test_every_table_says_whether_it_was_rerun():
    between = read_between(sentinels.PAGE, sentinels.BEGIN, sentinels.END)
    assert between == sentinels.table(sentinels.load())
    names = sentinels.every_table()
    assert "verification, verification, an4" in names
    rerun = {found["table"] for found in sentinels.load()}
    assert rerun <= {*names}
    for name in {*names} - rerun:
        assert f"| {sentinels.short_name(name)} | no |" in between
    for folder in sentinels.not_covered():
        assert f"`{folder}` (" in between


def test_what_is_recorded_of_reruns():
    for found in sentinels.load():
        far = found["largest_difference"] > found["tolerance"]
        assert far == (found["agree"] < found["numbers"])
        assert found["tolerance"] <= 0.005
        assert (agree.RESULTS / found["file"]).is_file()
