"""The winner of a search, as overrides of its recipe."""

import json
import pathlib
import re
import shlex

import keras_tuner
import pytest

from trainers.config import load_recipe
from trainers.config.load import load_function
from trainers.config.run_config import config_of
from trainers.workdirs.lock import is_held
from trainers.workdirs.workdir import claim
from tuning import winner
from tuning.search import SPACES
from tuning.search import run_maker
from tuning.search import space_names
from tuning.search_report import say_what_is_next

RECIPE = "omniglot_retrieval_lifted_structure"
VALUES = {
    "encoder.dim": 128,
    "batches.num_per_class": 10,
    "optimizer.learning_rate": 0.00375,
    "loss.margin": 2.5,
}
SHORT = ["num_epochs=5", "optimizer.learning_rate.decay_steps=300"]
ASKED = {
    "objective": "val_recall_at_1",
    "direction": "max",
    "search_seed": 0,
}


def search_folder(
    tmp_path,
    recipe=RECIPE,
    values=VALUES,
    space="retrieval",
    overrides=(*SHORT, "encoder.dark_ink=False"),
    **fields,
):
    """The folder that a search leaves, with one trial."""
    asked = {"space": space, **ASKED}
    run = load_recipe(recipe, overrides)
    claim(tmp_path, recipe, run, search=asked)
    hyperparameters = keras_tuner.HyperParameters()
    hyperparameters.values = dict(values)
    function = load_function(space, SPACES, "space", "space", space_names())
    trial = tmp_path / "trials" / "trial_03"
    trial.mkdir(parents=True)
    claim(trial, recipe, run_maker(run, function)(hyperparameters))
    results = {
        "recipe": recipe,
        **asked,
        "overrides": list(overrides),
        "num_trials": 1,
        "finished": True,
        "best": {"trial": "03", "values": values, "objective": 0.5},
        "trials": [{"trial": "03"}],
        **fields,
    }
    (tmp_path / "results.json").write_text(json.dumps(results))
    return str(tmp_path)


def changed_json(file, change):
    content = json.loads(file.read_text())
    change(content)
    file.write_text(json.dumps(content))


def test_values_and_length_are_set(tmp_path):
    recipe, fields = winner.winning_overrides(
        search_folder(tmp_path), 2_400, ["seed=1"]
    )
    assert recipe == RECIPE and fields[-1] == "seed=1"
    found = config_of(load_recipe(recipe, fields))
    expected = config_of(load_recipe(RECIPE))
    epochs = expected["num_epochs"]
    own = epochs * expected["steps_per_epoch"]
    rate = expected["optimizer"]["learning_rate"]
    assert rate["decay_steps"] == own != 2_400
    expected["seed"] = 1
    expected["encoder"] |= {"dim": 128, "dark_ink": False}
    expected["batches"] |= {"num_classes": 6, "num_per_class": 10}
    expected["loss"]["margin"] = 2.5
    rate |= {"initial_learning_rate": 0.00375, "decay_steps": 2_400}
    expected["steps_per_epoch"] = 2_400 // epochs
    expected["patience"] = epochs  # no early stopping
    assert found == expected


def search_with(learning_rate, folder):
    """A search of `sprites_f_statistic` with another learning rate."""
    config = config_of(load_recipe("sprites_f_statistic"))
    config["optimizer"]["learning_rate"] = learning_rate
    path = folder / "config.json"
    path.write_text(json.dumps({"recipe": "own", "config": config}))
    search = folder / "search"
    search.mkdir()
    values = {"optimizer.learning_rate": 0.002, "share_of_dims": 0.1}
    return search_folder(search, str(path), values, "disentangling", ())


def test_a_decay_in_steps_is_stretched_with_the_training(tmp_path):
    """`sprites_f_statistic` halved every 1,000 of its 8,000 batches."""
    halved = {
        "name": "ExponentialDecay",
        "initial_learning_rate": 1e-3,
        "decay_steps": 1_000,
        "decay_rate": 0.5,
    }
    search = search_with(halved, tmp_path)
    _, fields = winner.winning_overrides(search, 6_000, [])
    assert "optimizer.learning_rate.decay_steps=750" in fields
    assert "steps_per_epoch=300" in fields and "num_epochs=20" in fields


def test_boundaries_are_stretched_with_the_training(tmp_path):
    pieces = {
        "name": "PiecewiseConstantDecay",
        "boundaries": [4_000, 6_000],
        "values": [1e-3, 1e-4, 1e-5],
    }
    search = search_with(pieces, tmp_path)
    recipe, fields = winner.winning_overrides(search, 6_000, [])
    assert "optimizer.learning_rate.boundaries=[3000, 4500]" in fields
    rate = load_recipe(recipe, fields).optimizer.arguments["learning_rate"]
    assert list(rate.arguments["boundaries"]) == [3_000, 4_500]


def test_a_warm_up_keeps_its_length(tmp_path):
    warm = {
        "name": "CosineDecay",
        "initial_learning_rate": 0.0,
        "warmup_target": 1e-3,
        "warmup_steps": 500,
        "decay_steps": 7_500,
    }
    search = search_with(warm, tmp_path)
    for length in (6_000, 16_000):
        _, fields = winner.winning_overrides(search, length, [])
        name = "optimizer.learning_rate.decay_steps"
        assert f"{name}={length - 500}" in fields


def test_places_of_the_search_are_kept(tmp_path):
    places = ["data_dir=/somewhere", "data.manual_dir=/else"]
    folder = search_folder(tmp_path, overrides=[*SHORT, *places])
    recipe, fields = winner.winning_overrides(folder, 1_200, [])
    found = load_recipe(recipe, fields).data
    assert found.data_dir == "/somewhere" and found.manual_dir == "/else"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"best": None}, "no trial of the search in .* succeeded"),
        (
            {"finished": False, "num_trials": 12},
            "not finished: 1 of 12 trials",
        ),
        ({"finished": None, "num_trials": 12}, "not finished"),
        ({"trials": None}, "contains no search"),
    ],
)
def test_a_search_without_a_winner_is_refused(tmp_path, fields, message):
    folder = search_folder(tmp_path, **fields)
    with pytest.raises(ValueError, match=message) as raised:
        winner.winning_overrides(folder, 1_200, [])
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    "fields",
    [
        {"recipe": 3},
        {"overrides": None},
        {"search_seed": None},
        {"space": None},
        {"best": "03"},
        {"best": {"values": VALUES, "objective": 0.5}},
        {"best": {"trial": "03", "values": None, "objective": 0.5}},
        {"best": {"trial": "03", "values": VALUES}},
    ],
)
def test_results_with_values_of_another_type_are_named(tmp_path, fields):
    folder = search_folder(tmp_path)
    changed_json(
        tmp_path / "results.json", lambda content: content.update(fields)
    )
    message = "results.json is damaged .* start the same command of tuning"
    with pytest.raises(ValueError, match=message):
        winner.winning_overrides(folder, 1_200, [])


def test_a_folder_of_something_else_is_refused(tmp_path):
    with pytest.raises(ValueError, match="contains no search"):
        winner.winning_overrides(str(tmp_path), 1_200, [])


@pytest.mark.parametrize(
    ("file", "field"),
    [
        ("config.json", "margin"),
        ("trials/trial_03/config.json", "margin"),
    ],
)
def test_a_recipe_that_has_changed_is_refused(tmp_path, file, field):
    """A stored value differs from today's recipe, or from today's space."""
    folder = search_folder(tmp_path)

    def change(content):
        content["config"]["loss"][field] = 7.0

    changed_json(tmp_path / file, change)
    with pytest.raises(ValueError, match="has changed.*loss.margin=7.0"):
        winner.winning_overrides(folder, 1_200, [])


def test_results_of_another_search_are_refused(tmp_path):
    folder = search_folder(tmp_path)
    changed_json(
        tmp_path / "results.json", lambda found: found.update(search_seed=1)
    )
    with pytest.raises(ValueError, match="search_seed=0, and today's is 1"):
        winner.winning_overrides(folder, 1_200, [])


@pytest.mark.parametrize(
    ("batches", "more", "message"),
    [
        (1_201, [], "multiple of the 20 epochs.*received 1201"),
        (0, [], "received 0"),
        (1_200, ["num_epochs=7"], "multiple of the 7 epochs"),
        (1_200, ["num_epochs=0"], "num_epochs must be at least 1; received 0"),
        (1_200, ["num_epochs=-5"], "num_epochs must be at least 1; received"),
        (1_200, ["steps_per_epoch=5"], "--batches sets steps_per_epoch"),
        (
            1_200,
            ["optimizer.learning_rate.decay_steps=5"],
            "--batches sets decay_steps",
        ),
    ],
)
def test_lengths_that_cannot_be_are_refused(tmp_path, batches, more, message):
    with pytest.raises(ValueError, match=message):
        winner.winning_overrides(search_folder(tmp_path), batches, more)


def test_a_winner_that_overrides_cannot_express_is_refused(tmp_path):
    """No override removes the norm that the recipe's optimizer has."""
    config = config_of(load_recipe(RECIPE))
    config["optimizer"]["global_clipnorm"] = 1.0
    own = tmp_path / "config.json"
    own.write_text(json.dumps({"recipe": "own", "config": config}))
    space = tmp_path / "sgd.py"
    space.write_text(
        "def space(hyperparameters, config):\n"
        "    config.optimizer = {'name': 'SGD', 'learning_rate': 0.1}\n"
    )
    folder = tmp_path / "search"
    folder.mkdir()
    search = search_folder(folder, str(own), {}, str(space), ())
    message = "cannot be written as overrides of .*; train its best.py instead"
    with pytest.raises(ValueError, match=message):
        winner.winning_overrides(search, 1_200, [])


def test_other_epochs_stretch_the_decay(tmp_path):
    """With as many batches as the error about the epochs advises."""
    recipe, found = winner.winning_overrides(
        search_folder(tmp_path), 2_400, ["num_epochs=40"]
    )
    run = load_recipe(recipe, found)
    steps = run.training.num_epochs * run.training.steps_per_epoch
    rate = run.optimizer.arguments["learning_rate"].arguments
    assert (run.training.num_epochs, steps) == (40, 2_400)
    assert rate["decay_steps"] == 2_400


@pytest.fixture
def cross_validations(monkeypatch):
    """The arguments of cross-validations, which are not run."""
    called: list[tuple] = []
    monkeypatch.setattr(
        winner, "cross_validate", lambda *words, **_: called.append(words)
    )
    return called


def test_the_folds_of_the_winner_are_trained(tmp_path, cross_validations):
    trained = tmp_path / "winner"
    trained.mkdir()
    words = ["--search", search_folder(tmp_path), "--workdir", str(trained)]
    words += ["--batches", "1200", "--folds", "1", "2"]
    assert winner.main([*words, "--config.seed=2"]) == 0
    ((recipe, workdir, folds, fields),) = cross_validations
    assert (recipe, workdir, folds) == (RECIPE, str(trained), [1, 2])
    assert {"loss.margin=2.5", "seed=2"} <= set(fields)
    found = json.loads((trained / "results.json").read_text())["search"]
    assert found["values"] == VALUES and found["batches"] == 1_200
    assert (found["space"], found["trials"]) == ("retrieval", 1)
    assert found["overrides"] == [*SHORT, "encoder.dark_ink=False"]
    assert found["objective_value"] == 0.5
    steps = config_of(load_recipe(RECIPE))["steps_per_epoch"]
    assert (found["trial_batches"], found["fold"]) == (5 * steps, 0)
    assert found["monitor"] == "val_recall_at_1"


def test_the_winner_is_trained_from_python(tmp_path, cross_validations):
    trained = tmp_path / "winner"
    trained.mkdir()
    folder = search_folder(tmp_path)
    results = winner.train_winner(folder, 1_200, str(trained), [2])
    ((recipe, workdir, folds, _),) = cross_validations
    assert (recipe, workdir, folds) == (RECIPE, str(trained), [2])
    assert results["search"]["batches"] == 1_200
    assert results == json.loads((trained / "results.json").read_text())


def test_the_origin_is_written_under_the_lock(
    tmp_path, cross_validations, monkeypatch
):
    """A command that opens the workdir removes files of other writers."""

    def update(path, **_):
        return {"held": is_held(path)}

    monkeypatch.setattr(winner, "update_results", update)
    trained = tmp_path / "winner"
    trained.mkdir()
    folder = search_folder(tmp_path)
    found = winner.train_winner(folder, 1_200, str(trained), [2])
    assert len(cross_validations) == 1 and found == {"held": True}
    assert not is_held(trained)


def test_the_fold_of_the_search_is_not_tested(tmp_path, monkeypatch, capsys):
    """The command that a search with another fold prints."""
    fields = [*SHORT, "folds.fold=1"]
    folder = search_folder(tmp_path, overrides=fields)
    results = json.loads((tmp_path / "results.json").read_text())
    say_what_is_next(pathlib.Path(folder), results, [])
    (line,) = re.findall("tuning.winner (.*)", capsys.readouterr().out)
    called = []

    def record(*words, **more):
        called.append((words, more))
        (tmp_path / "folds").mkdir()

    monkeypatch.setattr(winner, "cross_validate", record)
    assert winner.main(shlex.split(line)) == 0
    ((_, _, folds, fields), more) = called[0]
    assert folds is None and more == {"tuning_fold": 1}
    assert not [field for field in fields if "folds.fold" in field]


def test_folds_of_a_recipe_without_folds_are_refused(tmp_path, capsys):
    folder = search_folder(
        tmp_path,
        "n_digit_2_dim_2_prototypical",
        {"optimizer.learning_rate": 0.005},
        space="n_digit",
        overrides=[],
    )
    words = ["--search", folder, "--workdir", str(tmp_path / "w")]
    words += ["--batches", "48000"]
    assert winner.main([*words, "--folds", "1"]) == 1
    assert "leave out --folds" in capsys.readouterr().err


def test_the_length_is_required(capsys):
    words = ["--search", "runs/search", "--workdir", "runs/winner"]
    with pytest.raises(SystemExit):
        winner.main(words)
    assert "--batches" in capsys.readouterr().err
