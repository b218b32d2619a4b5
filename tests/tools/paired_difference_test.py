"""Paired t-tests against SciPy, and what the tables show of them."""

import math

import numpy as np
import pytest
from scipy import stats

from tools import cross_validation_results
from tools.paired_difference import PairedDifference
from tools.paired_difference import as_cell
from tools.paired_difference import cell_of_seeds
from tools.paired_difference import difference_table
from tools.paired_difference import of_differences
from tools.paired_difference import paired_difference
from tools.paired_difference import ratio_of_test_to_train as ratio_of
from tools.verification_results import paired_by
from tools.verification_results import paired_numbers
from trainers.data.folds import split_classes
from trainers.recipes import every_recipe

RNG = np.random.default_rng(0)
FIRST = dict(enumerate(RNG.normal(0.5, 0.1, 5)))
SECOND = dict(enumerate(RNG.normal(0.4, 0.1, 5)))


def test_plain_test_is_scipy_s():
    expected = stats.ttest_rel([*FIRST.values()], [*SECOND.values()])
    found = paired_difference(FIRST, SECOND)
    differences = np.array([*FIRST.values()]) - [*SECOND.values()]
    assert found.p == pytest.approx(expected.pvalue)
    assert found.mean == pytest.approx(differences.mean())
    assert found.standard_error == pytest.approx(stats.sem(differences))
    assert (found.count, found.p_corrected) == (5, None)


@pytest.mark.parametrize("ratio", [0.25, 0.3125])
def test_corrected_test(ratio):
    """SciPy's statistic, with the variance times 1 + k * ratio."""
    k = 5
    expected = stats.ttest_rel([*FIRST.values()], [*SECOND.values()])
    t = expected.statistic / math.sqrt(1 + k * ratio)
    found = paired_difference(FIRST, SECOND, ratio)
    assert found.p_corrected == pytest.approx(2 * stats.t.sf(abs(t), k - 1))
    assert found.p_corrected > found.p


def test_no_correction_without_shared_data():
    found = paired_difference(FIRST, SECOND, 0.0)
    assert found.p_corrected == pytest.approx(found.p)


def test_only_shared_folds_count():
    found = paired_difference({1: 3.0, 2: 5.0, 3: 9.0}, {2: 4.0, 3: 5.0, 4: 0})
    assert (found.count, found.mean) == (2, 2.5)
    assert paired_difference({1: 1.0}, {2: 1.0}) is None
    assert as_cell(None, 2) == ""


def test_one_pair_has_no_test():
    found = paired_difference({1: 0.5}, {1: 0.25}, 0.3)
    assert (found.standard_error, found.p, found.p_corrected) == (None,) * 3
    assert as_cell(found, 2) == "+0.25"


@pytest.mark.parametrize("difference", [0.5, 0.0])
def test_equal_differences_have_no_test(difference):
    found = of_differences([difference] * 3, 0.25)
    assert (found.mean, found.standard_error) == (difference, 0)
    assert (found.p, found.p_corrected) == (None, None)
    assert as_cell(found, 1) == f"+{difference} ± 0.0"
    each = f"+{difference}"
    cell = cell_of_seeds([difference] * 2)
    assert cell == f"**{each}** ± 0.0 [{each}, {each}]"


def test_differences_that_are_equal_but_for_rounding_have_no_test():
    """All are 0.1: 0.3 - 0.2, 0.9 - 0.8, 0.4 - 0.3."""
    found = paired_difference(
        {1: 0.3, 2: 0.9, 3: 0.4}, {1: 0.2, 2: 0.8, 3: 0.3}
    )
    assert found.standard_error > 0 and found.p is None


@pytest.mark.parametrize(
    ("p", "shown"),
    [
        (1e-9, "<.001"),
        (0.0009, "<.001"),
        (0.0012, ".001"),
        (0.0494, ".049"),
        (0.0499, "<.050"),
        (0.0501, ".050"),
        (0.9996, "1.000"),
    ],
)
def test_a_p_below_the_level_is_not_shown_as_the_level(p, shown):
    found = PairedDifference(3, 1.0, 0.5, p, None)
    assert as_cell(found, 1) == f"+1.0 ± 0.5 ({shown})"


def test_cell():
    found = paired_difference({1: 0.5, 2: 0.7}, {1: 0.4, 2: 0.3}, 0.3125)
    # Differences .1 and .4: mean .25, standard error .15.
    plain = 2 * stats.t.sf(0.25 / 0.15, 1)
    corrected = 2 * stats.t.sf(0.25 / math.sqrt(0.045 * (0.5 + 0.3125)), 1)
    expected = f"(.{round(1000 * plain)}; .{round(1000 * corrected)})"
    assert as_cell(found, 1, 100) == f"+25.0 ± 15.0 {expected}"
    sure = paired_difference(
        dict(enumerate([1.0, 1.001, 1.002, 1.0])), dict.fromkeys(range(4), 0.0)
    )
    assert as_cell(sure, 2).endswith("(<.001)")


def test_table_has_a_row_for_each_method_with_shared_folds():
    ours, theirs = {"1": 0.5, "2": 0.7}, {"1": 0.4, "2": 0.4}
    pairs = {"rival": [(ours, theirs)], "elsewhere": [(ours, {"3": 1.0})]}
    lines = difference_table("ours", ["recall"], pairs, 0.3, 1, 100)
    expected = as_cell(paired_difference(ours, theirs, 0.3), 1, 100)
    assert lines[1:4] == [
        "| ours minus | folds | recall |",
        "|---|---:|---:|",
        f"| rival | 2 | {expected} |",
    ]
    assert "Nadeau" in lines[-1] and len(lines) == 6


def test_cell_of_seeds():
    # .5 and 1.5: mean 1, standard error .5, t = 2 with one degree of freedom.
    p = round(1000 * 2 * stats.t.sf(2.0, 1))
    assert cell_of_seeds([0.5, 1.5]) == f"**+1.0** ± 0.5, p .{p} [+0.5, +1.5]"
    assert cell_of_seeds([2.0]) == "**+2.0** [+2.0]"


def test_ratio_of_the_folds():
    config = every_recipe()["omniglot_retrieval_triplet"].config().to_dict()
    sizes = [
        {k: len(v) for k, v in split_classes(1623, fold).items()}
        for fold in range(5)
    ]
    expected = np.mean([s["test"] / s["train"] for s in sizes])
    assert ratio_of(config) == pytest.approx(expected)
    # Two digits for the test and six for training; one speaker of five.
    folds = {"num_folds": 5}
    for dataset, ratio in (("mnist", 2 / 6), ("spoken_digit", 1 / 3)):
        found = ratio_of({"dataset": dataset, "folds": folds})
        assert found == pytest.approx(ratio)
    with pytest.raises(ValueError, match="received folds of cub200"):
        ratio_of({"dataset": "cub200", "folds": folds})
    config["folds"]["test_split"] = "test"
    assert ratio_of(config) is None
    assert ratio_of({}) is None


def sprites(*numbers):
    """Results of one fold, a number for each seed."""
    runs = [
        {"seed": seed, "evaluation": {"test": {"modularity": value}}}
        for seed, value in enumerate(numbers)
    ]
    return {"folds": {"1": runs}}


def test_folds_pair_equal_seeds():
    ours, theirs = sprites(0.9, 0.5), sprites(0.7)
    rows = [(results, "test.modularity") for results in (ours, theirs)]
    assert cross_validation_results.paired(*rows) == ({"1": 0.9}, {"1": 0.7})
    assert cross_validation_results.by_fold(*rows[0]) == {"1": 0.7}
    seeds = cross_validation_results.shared_seeds({"a": ours, "b": theirs})
    assert seeds == [0]
    kept = cross_validation_results.with_seeds(ours, seeds)
    assert cross_validation_results.values(kept, "test.modularity") == [0.9]


def test_verification_pairs_shared_seeds_by_fold():
    ours = {
        ("fold_1", 0): {"eer": 0.1},
        ("fold_1", 1): {"eer": 0.3},
        ("fold_1", 2): {"eer": 0.9},
        ("fold_2", 0): {"eer": 0.5},
    }
    theirs = {key: {"eer": 1.0} for key in ours if key[1] < 2}
    assert paired_numbers(ours, theirs, "eer") == (
        {"fold_1": 0.2, "fold_2": 0.5},
        {"fold_1": 1.0, "fold_2": 1.0},
    )
    one = {("official", seed): {"eer": seed} for seed in (0, 1)}
    assert paired_numbers(one, one, "eer", "seeds") == ({0: 0, 1: 1},) * 2
    assert paired_by(ours, theirs) == ["folds", "seeds of folds"]
    assert paired_by(one, one) == ["seeds"]
    first = {key: found for key, found in ours.items() if key[1] == 0}
    assert paired_by(first, theirs) == ["folds"]


def test_verification_pairs_shared_folds_by_seed():
    ours = {
        ("fold_1", 0): {"eer": 0.1},
        ("fold_1", 1): {"eer": 0.3},
        ("fold_2", 0): {"eer": 0.5},
        ("fold_2", 1): {"eer": 0.9},
        ("fold_3", 1): {"eer": 0.7},
    }
    theirs = {key: {"eer": 1.0} for key in ours if key[0] != "fold_3"}
    found = paired_numbers(ours, theirs, "eer", "seeds of folds")
    assert found == ({0: 0.3, 1: 0.6}, {0: 1.0, 1: 1.0})


def test_a_cell_with_fewer_folds_than_its_row_says_so():
    four = dict.fromkeys(range(4), 1.0), dict.fromkeys(range(4), 0.5)
    two = {0: 1.0, 1: 2.0}, {0: 0.5, 1: 1.0}
    one = {3: 1.0}, {3: 0.5}
    lines = difference_table(
        "a", ["x", "y", "z"], {"b": [four, two, one]}, 0, 1
    )
    (row,) = (line for line in lines if line.startswith("| b |"))
    cells = row.split(" | ")
    assert cells[1] == "4" and "folds" not in cells[2]
    assert cells[3].endswith(", 2 folds") and cells[4] == "+0.5, 1 fold |"
