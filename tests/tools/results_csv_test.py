"""The CSV of all results agrees with the result files."""

import csv
import json
import re
import statistics
from unittest import mock

import pytest

from tests.read_between import read_between
from tests.tools.prototype_claims_test import unknown_run
from tools import cross_validation_results
from tools import equal_budgets_results
from tools import n_digit_grid
from tools import readme_results
from tools import results_csv
from tools import verification_results


@pytest.fixture(scope="module")
def lines():
    with results_csv.FILE.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def line(lines, **wanted):
    (found,) = (x for x in lines if wanted.items() <= x.items())
    return found


def test_the_file_is_up_to_date():
    found = results_csv.FILE.read_text(encoding="utf-8").splitlines()
    expected = results_csv.text().splitlines()
    # The whole difference of two long texts takes pytest many minutes.
    differing = [
        (a, b) for a, b in zip(found, expected, strict=False) if a != b
    ]
    assert not differing[:3]
    assert len(found) == len(expected)


def test_means_over_seeds_then_folds_are_those_of_the_tables(lines):
    recipe, data = "sprites_f_statistic", "sprites/weapon_visible"
    found = line(
        lines,
        experiment="cross_validation",
        recipe=recipe,
        data=data,
        number="test.modularity",
    )
    results = cross_validation_results.load()[recipe, data]
    values = cross_validation_results.values(results, "test.modularity")
    assert (found["folds"], found["seeds"]) == ("4", "2")
    assert float(found["mean"]) == pytest.approx(statistics.fmean(values))
    error = statistics.stdev(values) / len(values) ** 0.5
    assert float(found["standard_error"]) == pytest.approx(error)


def test_published_numbers_are_in_the_table(lines):
    found = line(
        lines,
        recipe="n_digit_2_dim_2_stochastic_prototypes",
        protocol="rate 0.003, 8000 episodes",
        number="test_unseen.corrupt_query.accuracy",
    )
    assert float(found["published"]) == 0.563
    assert found["seeds"] == "2"
    other = line(
        lines,
        experiment="cross_validation",
        recipe="sprites_triplet",
        data="sprites/all_frames",
        number="test.modularity",
    )
    assert other["published"] == "", "the paper prints none"


@pytest.mark.parametrize("method", n_digit_grid.METHODS)
def test_published_numbers_have_the_rule_of_the_paper(method):
    """HIB and the contrastive loss were scored with one left out."""
    recipe = f"n_digit_2_dim_2_{method}"
    rules = ["accuracy", "leave_one_out_accuracy"]
    if method in ("hedged_instances", "soft_contrastive"):
        rules.reverse()
    right, wrong = (
        results_csv._published(recipe, f"test_unseen.clean.{rule}")
        for rule in rules
    )
    percent = {
        "stochastic_prototypes": 90.0,
        "prototypical": 82.0,
        "hedged_instances": 87.3,
        "soft_contrastive": 85.5,
    }
    assert right == pytest.approx(percent[method] / 100)
    assert wrong is None


@pytest.mark.parametrize(
    ("recipe", "number", "percent"),
    [
        # Table D.1: clean, 5-shot 20-class; corrupt queries, 1-shot 5-class.
        ("omniglot_5_shot_dim_2_stochastic_prototypes",
         "test_20_class_5_shot.clean.accuracy", 55.3),
        ("omniglot_1_shot_dim_2_prototypical_corrupted",
         "test.corrupt_query.accuracy", 48.9),
        # These models are tested on other images, or were not in the table.
        ("omniglot_1_shot_dim_2_prototypical_corrupted",
         "test.clean.accuracy", None),
        ("omniglot_1_shot_dim_64_prototypical", "test.clean.accuracy", None),
    ],
)  # fmt: skip
def test_published_numbers_of_characters(recipe, number, percent):
    found = results_csv._published(recipe, number)
    assert found == (percent and pytest.approx(percent / 100))


def test_unknown_inputs_have_lines(tmp_path, monkeypatch):
    (tmp_path / "out_of_distribution").mkdir()
    run = unknown_run(0.9)
    machine = {"commit": "0123456789", "processor": "a processor"}
    run["training"] = machine
    file = tmp_path / "out_of_distribution" / "run.json"
    file.write_text(json.dumps(run))
    monkeypatch.setattr(results_csv, "RESULTS", tmp_path)
    rows = {row["number"]: row for row in results_csv.numbers()}
    row = rows["test.mnist.predicted_variance.auroc"]
    assert row["value"] == 0.9
    assert row["protocol"].endswith("10000 episodes, test, others=mnist")
    assert "--config.evaluation.name=out_of_distribution" in row["command"]
    assert not [name for name in rows if not name.startswith("test.")]


def test_every_line_has_a_command(lines):
    assert len(lines) > 900
    assert all(x["command"].startswith("python -m trainers.") for x in lines)


def test_every_published_task_of_the_characters_is_there(lines):
    """Also of runs that were evaluated in another way, too."""
    published = [
        row
        for row in lines
        if row["experiment"] == "omniglot" and row["published"]
    ]
    assert len(published) == 24
    assert {row["protocol"] for row in published} == {
        "rate 0.005, 5000 episodes"
    }


def test_the_readme_has_the_results_of_the_file(lines):
    module = readme_results
    between = read_between(module.PAGE, module.BEGIN, module.END)
    assert between.strip() == module.table(lines)
    (shown,) = re.findall(r"characters, 12 tasks \| ([\d.]+) %", between)
    accuracies = [
        float(row["mean"])
        for row in lines
        if row["experiment"] == "omniglot"
        and row["published"]
        and "stochastic" in row["recipe"]
    ]
    assert float(shown) == round(100 * statistics.fmean(accuracies), 1)


@pytest.mark.parametrize("data", readme_results.VERIFIED)
def test_the_rival_of_the_distance_has_its_best_score(data):
    dataset, _, rival, searched, advised = readme_results.VERIFIED[data]
    every = verification_results.load()
    if searched:
        every = equal_budgets_results.verified(equal_budgets_results.load())
    errors = {
        score: statistics.fmean(
            run["equal_error_rate"] for run in measures.values()
        )
        for (method, score), measures in verification_results.rows(
            every, dataset, verification_results.FOLDS
        ).items()
        if method == rival and score in ("cosine", "cosine, AS-norm", "PLDA")
    }
    best = min(errors, key=errors.get)
    text = readme_results.PAGE.read_text(encoding="utf-8")
    (line,) = [each for each in text.splitlines() if data in each]
    assert f" {100 * errors[best]:.1f} %, our triplet loss by {best}," in line
    if advised is not None:
        rows = verification_results.rows(
            every, dataset, verification_results.FOLDS
        )
        runs = rows[advised, "learned distance"].values()
        error = statistics.fmean(run["equal_error_rate"] for run in runs)
        assert f" {100 * error:.1f} %, trained together with" in line


def test_arguments_of_an_own_objective_tell_runs_apart():
    config = {
        "optimizer": {"learning_rate": {"initial_learning_rate": 1e-3}},
        "num_epochs": 10,
        "steps_per_epoch": 100,
        "objective": {"name": "own.py:Own", "noise_rate": 0.5},
    }
    recipe = "uncertainty_omniglot_dim_64_stochastic_prototypes"
    with mock.patch.object(
        results_csv.n_digit_table, "other_settings", lambda run: []
    ):
        found = results_csv._protocol("uncertainty", recipe, config, "run", 0)
    assert found == "rate 0.001, 1000 episodes, noise_rate=0.5"
