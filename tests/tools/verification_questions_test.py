"""Questions to runs of verification, and their answers."""

import numpy as np
import pytest
from scipy import stats

from tests.read_between import read_between
from tools import verification_questions
from tools.paired_difference import paired_difference
from tools.verification_questions import TABLES
from tools.verification_questions import answer
from tools.verification_questions import differences

FOLDS = ("fold_1", "fold_2", "fold_3", "fold_4")
SEEDS = (0, 1, 2)


def row(error):
    """Measures by run and seed; `error` is an array (folds, seeds)."""
    return {
        (fold, seed): {"equal_error_rate": float(error[f, s])}
        for f, fold in enumerate(FOLDS[: len(error)])
        for s, seed in enumerate(SEEDS[: error.shape[1]])
    }


@pytest.mark.parametrize("name", TABLES)
def test_the_page_has_the_tables_of_the_result_files(name):
    module = verification_questions
    between = read_between(module.PAGE, *module.marks(name))
    assert between.strip() == module.table(module.load(), name)


def test_differences_are_over_folds_and_over_seeds():
    rng = np.random.default_rng(0)
    first, second = rng.uniform(0.1, 0.2, (2, 4, 3))
    found = differences(row(first), row(second), "equal_error_rate", 0.25)
    of_folds = (first - second).mean(axis=1)
    folds = found["folds"]
    assert folds.mean == pytest.approx(of_folds.mean())
    error = np.sqrt(of_folds.var(ddof=1) * (1 / 4 + 0.25))
    p = 2 * stats.t.sf(abs(of_folds.mean()) / error, 3)
    assert folds.p_corrected == pytest.approx(p)
    of_seeds = (first - second).mean(axis=0)
    p = stats.ttest_1samp(of_seeds, 0).pvalue
    assert found["seeds of folds"].p == pytest.approx(p)
    assert differences(row(first), row(second), "claimed", 0.25) == {}


def found(over_folds, over_seeds=()):
    """Tests of differences; the corrected one as if no data were shared."""
    result = {}
    for unit, values in (("folds", over_folds), ("seeds of folds", over_seeds)):
        if values:
            zeros = dict.fromkeys(range(len(values)), 0.0)
            ratio = 0.0 if unit == "folds" else None
            given = dict(enumerate(values))
            result[unit] = paired_difference(given, zeros, ratio)
    return result


LESS, MORE, MIXED = (-1.0, -1.1, -0.9), (1.0, 1.1, 0.9), (1.0, -1.1, -0.9)


@pytest.mark.parametrize(
    ("over_folds", "over_seeds", "said"),
    [
        (LESS, (), "yes"),
        (MORE, (), "no"),
        (MIXED, (), "open"),
        (LESS, LESS, "yes"),
        (MORE, MORE, "no"),
        (MIXED, MIXED, "open"),
        (LESS, MIXED, "yes over folds, open over seeds"),
        (MIXED, LESS, "open over folds, yes over seeds"),
        ((), MORE, "no"),
        ((), (-1.0,), "no test"),
    ],
)
def test_the_answer_is_what_the_tests_say(over_folds, over_seeds, said):
    assert answer(found(over_folds, over_seeds)) == said


def test_a_cell_has_both_p_values():
    name = "characters"
    text = verification_questions.table(verification_questions.load(), name)
    heading, line, *lines = text.splitlines()
    assert heading == (
        "| is | better than | answer | EER, points | EER of claims, points |"
    )
    assert line == "|---|---|---|---:|---:|"
    one_seed = verification_questions.table(
        verification_questions.load(), "other losses"
    ).splitlines()[2:]
    assert one_seed and all("; -) |" in row for row in one_seed)
    both = [row for row in lines if row.startswith("| the distance with ")]
    assert both and not any("-)" in row or "(-" in row for row in both)


def test_less_error_of_the_first_is_a_yes():
    ours, theirs = np.full((4, 3), 0.1), np.full((4, 3), 0.2)
    ours[0], ours[:, 0] = 0.11, 0.105
    names = ("learned_distance", "cosine")
    measured = {
        ("learned distance", shown): row(error)
        for shown, error in zip(
            ("learned distance", "cosine"), (ours, theirs), strict=True
        )
    }
    first, second = (("learned_distance", name) for name in names)
    config = {"dataset": "an4", "folds": {"num_folds": 5}}
    text = verification_questions.answers(
        measured, config, (("A", first, {"B": second}),)
    )
    line = text.splitlines()[-1]
    points = 100 * (ours - theirs).mean()
    assert line.startswith(f"| A | B | yes | {points:+.2f} ± ")


@pytest.mark.parametrize("name", TABLES)
def test_no_question_of_a_page_is_left_out(name):
    """AN4's own split has no run of the ablation."""
    *_, questions = TABLES[name]
    asked = {(ours, other) for ours, _, others in questions for other in others}
    text = verification_questions.table(verification_questions.load(), name)
    shown = {
        tuple(line.strip("| ").split(" | ")[:2])
        for line in text.splitlines()[2:]
    }
    ablation = {(verification_questions.WITH, verification_questions.WITHOUT)}
    assert asked - shown == (ablation if name == "official split" else set())
