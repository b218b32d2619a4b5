"""Where the F-statistic loss stands after equal searches."""

import json

import numpy as np
import pytest
from scipy import stats

from tests.read_between import read_between
from tools import equal_budgets_answers
from tools import equal_budgets_results


@pytest.mark.parametrize(
    "name", ["disentangling", "disentangling, weapon visible", "retrieval"]
)
def test_the_page_has_the_tables_of_the_result_files(name):
    module = equal_budgets_answers
    between = read_between(module.PAGE, *module.marks(name))
    assert between.strip() == module.tables()[name]


@pytest.mark.parametrize(
    ("differences", "word"),
    [
        ((0.11, 0.1, 0.09, 0.1), "ahead"),
        ((-0.11, -0.1, -0.09, -0.1), "behind"),
        ((0.12, -0.1, 0.09, -0.02), "open"),
    ],
)
def test_a_difference_is_ahead_behind_or_open(differences, word):
    second = dict.fromkeys("1234", 0.5)
    first = {
        fold: 0.5 + difference
        for fold, difference in zip("1234", differences, strict=True)
    }
    values = np.array(differences)
    error = np.sqrt(values.var(ddof=1) * (1 / 4 + 0.3))
    p = 2 * stats.t.sf(abs(values.mean()) / error, 3)
    shown = f"{p:.3f}".removeprefix("0") if p >= 0.001 else "<.001"
    se = values.std(ddof=1) / 2
    assert equal_budgets_answers.standing(first, second, 0.3, 100, 1) == (
        f"{word}: {100 * values.mean():+.1f} ± {100 * se:.1f} ({shown})"
    )


def test_without_shared_folds_nothing_is_said():
    standing = equal_budgets_answers.standing
    assert standing({"1": 0.5}, {"2": 0.4}, 0.3, 100, 1) == ""
    assert standing({"1": 0.5}, {"1": 0.4}, 0.3, 100, 1) == "no test: +10.0"


def test_a_winner_stands_against_the_same_loss_before():
    """The first is the winner: a higher recall of it is ahead."""
    folder = equal_budgets_results.RESULTS.parent
    name = "omniglot_retrieval_triplet-omniglot"
    files = (f"equal_budgets/{name}-seed_0", f"cross_validation/{name}")
    after, before = (
        json.loads((folder / f"{file}.json").read_text())["folds"]
        for file in files
    )
    recalls = [
        [run["evaluation"]["test"]["recall_at_1"] for run in folds.values()]
        for folds in (after, {fold: before[fold] for fold in after})
    ]
    points = 100 * (np.mean(recalls[0]) - np.mean(recalls[1]))
    text = equal_budgets_answers.tables()["retrieval"]
    (line,) = [
        each
        for each in text.splitlines()
        if each.startswith("| triplet: the winner against")
    ]
    assert points > 0
    assert line.split(" | ")[-1].startswith(f"ahead: {points:+.1f} ± ")


def test_a_former_winner_stays_in_the_table():
    """Its search was run again: the row of the former winner stays."""
    folder = equal_budgets_results.RESULTS
    name = "-sprites-all_frames-seed_0.json"
    files = f"sprites_f_statistic{name}", f"former/sprites_histogram{name}"
    ours, former = (
        json.loads((folder / file).read_text())["folds"] for file in files
    )
    explicitness = [
        [run["evaluation"]["test"]["explicitness"] for run in folds.values()]
        for folds in (ours, former)
    ]
    difference = np.mean(explicitness[0]) - np.mean(explicitness[1])
    text = equal_budgets_answers.tables()["disentangling"]
    (line,) = [
        each
        for each in text.splitlines()
        if each.startswith("| histogram, former winner |")
    ]
    assert line.split(" | ")[3].startswith(f"ahead: {difference:+.3f} ± ")
