"""Comparisons of methods, repeat by repeat."""

import json
import shutil
import types

import numpy as np
import pytest

from tests.trainers.commands import call
from tests.trainers.commands import refused
from tests.trainers.read_only import MESSAGE
from tests.trainers.read_only import make_read_only
from trainers import compare
from trainers import evaluate
from trainers.config import load_recipe
from trainers.data.classes import classes_of
from trainers.data.classes import write_classes
from trainers.data.data import Data
from trainers.goals import goal_recipe


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--methods", "TripletLoss"), "needs at least two methods"),
        (("--repeats", 1), "--repeats 2"),
        (("--methods", "TripletLoss", "FStatisticLoss"), "does not fit"),
        (("--config.seed=1",), "leave out --config.seed"),
        (("--config.training.patience=1",), "leave out --config.patience"),
        (("--config.evaluation.name=few_shot",), "the evaluation of its goal"),
        (
            (
                *("--methods", "TripletLoss", "HistogramLoss"),
                "--config.objective.encoder_loss=None",
            ),
            "encoder_loss=None is for LearnedDistance, which is not compared",
        ),
    ],
)
def test_what_cannot_be_compared_is_refused(words, message, tmp_path, capsys):
    words = ["arrays:x.npz", "--goal", "verify", *words]
    workdir = tmp_path / "runs"
    assert message in refused(capsys, compare, *words, "--workdir", workdir)
    assert not workdir.exists()


def test_a_workdir_that_cannot_be_written(tmp_path, capsys, monkeypatch):
    """Also if the folders of its trainings can: `comparison.json` is last."""
    make_read_only(tmp_path, monkeypatch)
    words = ["arrays:x.npz", "--goal", "verify", "--workdir", tmp_path]
    error = refused(capsys, compare, *words)
    assert f"--workdir {tmp_path} {MESSAGE}; name another folder" in error


def test_a_repeated_flag_adds_methods():
    words = ["a", "--goal=verify", "--workdir=b", "--methods", "X", "Y"]
    found = compare.parser().parse_args([*words, "--methods", "Z"])
    assert found.methods == ["X", "Y", "Z"]


def words_of(dataset, workdir):
    methods = ["--methods", "TripletLoss", "HistogramLoss", "--repeats=2"]
    return [dataset, "--goal=retrieve", *methods, "--workdir", workdir]


def features(folder):
    x = np.random.default_rng(0).normal(size=(80, 5)).astype("float32")
    np.savez(folder / "data.npz", x=x, labels=np.repeat(np.arange(10), 8))
    return f"arrays:{folder / 'data.npz'}"


@pytest.mark.parametrize(
    ("field", "expected"),
    [("=None", None), (".name=HistogramLoss", "HistogramLoss")],
)
def test_an_encoder_loss_is_for_the_methods_that_have_one(
    field, expected, tmp_path
):
    planned = [
        goal_recipe.plan_recipe(
            features(tmp_path),
            "verify",
            method,
            "classes",
            str(tmp_path / method),
            overrides=[f"objective.encoder_loss{field}", "encoder.dim=5"],
            command="compare",
        ).run
        for method in ("LearnedDistance", "TripletLoss")
    ]
    found = planned[0].method.arguments["encoder_loss"]
    assert (found and found.name) == expected
    assert "encoder_loss" not in planned[1].method.arguments
    assert {run.encoder.arguments["dim"] for run in planned} == {5}


@pytest.mark.parametrize(("is_own", "seeds"), [(True, {0, 1}), (False, {0})])
def test_only_own_data_is_divided_anew(
    is_own, seeds, tmp_path, monkeypatch, capsys
):
    found = []

    def trained(planned, overrides):
        repeat = planned.run.training.seed
        run = load_recipe(goal_recipe.write_recipe(planned))
        write_classes(planned.path.parent, classes_of(run, Data(run)))
        found.append(run)
        both = {"seconds": 60, "commit": "abc"}
        evaluation = {"test": {"recall_at_1": repeat / 7}, **both}
        evaluation["data_fingerprint"] = "of the test"
        return {
            "evaluation": evaluation,
            "training": both,
            "data_fingerprint": f"of repeat {repeat}" if is_own else "of all",
            "validation_fingerprint": "of validation",
        }

    monkeypatch.setattr(compare, "_train_and_evaluate", trained)
    dataset = features(tmp_path) if is_own else "n_digit/digits_2_instance"
    assert call(compare, *words_of(dataset, tmp_path / "runs")) == 0
    assert len(found) == 4
    # Two minutes each; one of four is left.
    assert "training 4 of 4, about 2 min left" in capsys.readouterr().out
    written = json.loads((tmp_path / "runs" / "comparison.json").read_text())
    assert written["commits_of_trainings"] == ["abc"]
    assert written["seeds"] == [0, 1]
    # A fifth of the classes to test, three fifths to train.
    assert written["test_to_train"] == pytest.approx(is_own / 3)
    assert {run.data.division.seed for run in found} == seeds
    for run in found:
        assert len(Data(run).split("test")[0])


@pytest.mark.parametrize(
    "field", ["k=(5,10)", "splits=('validation',)", "splits=()"]
)
def test_an_evaluation_without_the_compared_number_is_refused(
    field, tmp_path, capsys
):
    words = words_of(features(tmp_path), tmp_path / "runs")
    error = refused(capsys, compare, *words, f"--config.evaluation.{field}")
    assert "a comparison is of the split test" in error or "splits" in error
    assert not list((tmp_path / "runs").rglob("checkpoints"))


def test_nothing_is_trained_if_one_recipe_cannot_be(tmp_path, capsys):
    last = tmp_path / "runs" / "HistogramLoss" / "repeat_1" / "recipe.py"
    last.parent.mkdir(parents=True)
    last.write_text("edited")
    words = words_of(features(tmp_path), tmp_path / "runs")
    assert "was edited" in refused(capsys, compare, *words)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert set(files) == {last, tmp_path / "data.npz"}


def test_nothing_is_trained_if_one_recipe_cannot_start(
    tmp_path, monkeypatch, capsys
):
    """Recipes are read with the overrides before the first training."""
    trained = []
    monkeypatch.setattr(
        compare, "_train_and_evaluate", lambda *a: trained.append(a)
    )
    words = words_of(features(tmp_path), tmp_path / "runs")
    words += ["--config.loss.num_bins=7"]  # only HistogramLoss has bins
    assert "config.loss.num_bins" in refused(capsys, compare, *words)
    assert not trained
    assert not (tmp_path / "runs").exists()


@pytest.mark.slow
def test_two_methods_and_a_second_call(tmp_path, capsys):
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(10), 8)
    x = rng.normal(size=(10, 5))[labels] + 0.3 * rng.normal(size=(80, 5))
    np.savez(tmp_path / "data.npz", x=x.astype("float32"), labels=labels)
    words = [
        f"arrays:{tmp_path / 'data.npz'}",
        "--goal=retrieve",
        "--methods",
        "TripletLoss",
        "HistogramLoss",
        "--repeats=2",
        "--config.num_epochs=1",
        "--config.steps_per_epoch=3",
        "--config.deterministic=False",
        "--workdir",
        tmp_path / "runs",
    ]
    assert call(compare, *words) == 0
    assert "recall@1" in capsys.readouterr().out
    found = json.loads((tmp_path / "runs" / "comparison.json").read_text())
    for method in ("TripletLoss", "HistogramLoss"):
        values, fingerprints = [], []
        for repeat in range(2):
            folder = tmp_path / "runs" / method / f"repeat_{repeat}"
            results = json.loads((folder / "results.json").read_text())
            values.append(results["evaluation"]["test"]["recall_at_1"])
            fingerprints.append(results["data_fingerprint"])
            assert results["training"]["epochs"] == 1
        assert found["methods"][method]["values"] == values
        assert found["data_fingerprints"] == fingerprints
    assert (tmp_path / "runs" / "comparison.png").stat().st_size > 1000
    # Each repeat has its own division: a fifth to test, three to train.
    assert found["test_to_train"] == pytest.approx(1 / 3)
    # An evaluation with other settings is not compared.
    folder = tmp_path / "runs" / "TripletLoss" / "repeat_1"
    other = ["--workdir", folder, "--config.evaluation.splits=('validation',)"]
    assert call(evaluate, *other) == 0
    capsys.readouterr()
    assert call(compare, *words) == 0
    out = capsys.readouterr().out
    assert "Epoch" not in out and out.count("Evaluating the best epoch") == 1
    again = json.loads((tmp_path / "runs" / "comparison.json").read_text())
    assert again["methods"] == found["methods"]
    # Other test data than in the first trainings, as if killed between them.
    data = Data(load_recipe(str(folder / "recipe.py")))
    tested = np.isin(labels, data.labels("test"))
    noise = np.where(tested[:, None], rng.normal(size=x.shape), x)
    np.savez(tmp_path / "data.npz", x=noise.astype("f4"), labels=labels)
    assert call(evaluate, "--workdir", folder) == 0
    message = refused(capsys, compare, *words)
    assert "has other test examples in" in message
    assert f"{folder} than in" in message or f"than in {folder};" in message
    np.savez(tmp_path / "data.npz", x=x.astype("f4"), labels=labels)
    assert call(evaluate, "--workdir", folder) == 0
    assert call(compare, *words) == 0
    again = json.loads((tmp_path / "runs" / "comparison.json").read_text())
    assert again["methods"] == found["methods"]
    # Other validation data, and other training data.
    validated = np.isin(labels, data.labels("validation"))
    noise = np.where(validated[:, None], rng.normal(size=x.shape), x)
    np.savez(tmp_path / "data.npz", x=noise.astype("f4"), labels=labels)
    shutil.rmtree(folder)
    assert "has other validation examples" in refused(capsys, compare, *words)
    np.savez(tmp_path / "data.npz", x=x[::-1].astype("f4"), labels=labels)
    shutil.rmtree(folder)
    assert "has other training examples" in refused(capsys, compare, *words)


def test_repeats_that_divide_speakers(tmp_path):
    """Not the labels of the training, which are in every split."""
    run = types.SimpleNamespace(
        data=types.SimpleNamespace(
            split="train", division=types.SimpleNamespace(by="classes")
        )
    )
    plan = types.SimpleNamespace(run=run, path=tmp_path / "recipe.py")
    emotions = {"calm": 5, "glad": 6}
    found = {
        "splits": {"train": emotions, "test": emotions},
        "divided": {"train": ["a", "b", "c"], "test": ["d"]},
    }
    write_classes(tmp_path, found)
    assert compare._test_to_train(plan, True) == pytest.approx(1 / 3)
    write_classes(tmp_path, found | {"divided": {}})
    assert compare._test_to_train(plan, True) == 1
    run.data.division.by = "examples"
    write_classes(tmp_path, {"splits": {"train": {"a": 6}, "test": {"a": 2}}})
    assert compare._test_to_train(plan, True) == pytest.approx(1 / 3)
    assert compare._test_to_train(plan, False) == 0
    # Folds: of five, one is the test, and a fifth of the others validation.
    run.data.folds = types.SimpleNamespace(num_folds=5)
    write_classes(tmp_path, {"splits": {"train": {"a": 6}}})
    ratio = compare._test_to_train(plan, True)
    assert ratio == pytest.approx((1 / 5) / (4 / 5 * 4 / 5))
