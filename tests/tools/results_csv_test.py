"""The CSV of all results agrees with the result files."""

import csv
import statistics

import pytest

from tools import cross_validation_results
from tools import n_digit_grid
from tools import results_csv


@pytest.fixture(scope="module")
def lines():
    with results_csv.FILE.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def line(lines, **wanted):
    (found,) = (x for x in lines if wanted.items() <= x.items())
    return found


def test_the_file_is_up_to_date():
    assert results_csv.FILE.read_text(encoding="utf-8") == results_csv.text()


def test_means_over_seeds_then_folds_are_those_of_the_tables(lines):
    recipe, data = "sprites_f_statistic", "sprites/weapon_visible"
    found = line(lines, recipe=recipe, data=data, number="test.modularity")
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
        lines, recipe="sprites_triplet", data="sprites/all_frames",
        number="test.modularity",
    )  # fmt: skip
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


def test_every_line_has_a_command(lines):
    assert len(lines) > 900
    assert all(x["command"].startswith("python -m trainers.") for x in lines)
