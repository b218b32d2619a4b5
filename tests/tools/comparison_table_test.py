"""The page of comparisons has the tables of the result files."""

import shlex

import numpy as np
import pytest

from tests.read_between import read_between
from tools import comparison_table
from tools.generated_text import FIGURES
from trainers import command_line
from trainers import compare
from trainers.goals import goals
from trainers.measures.paired_methods import paired_methods

FOUND = comparison_table.load()


def test_the_page_has_the_tables_of_the_results():
    page = read_between(comparison_table.PAGE, *comparison_table.MARKS)
    assert page == comparison_table.table(FOUND)
    assert len(FOUND) == 2


@pytest.mark.parametrize("name", FOUND)
def test_numbers_follow_from_the_repeats(name):
    result = FOUND[name]
    values = {n: row["values"] for n, row in result["methods"].items()}
    assert result["test_to_train"] == pytest.approx(1 / 3)
    expected = paired_methods(
        values, result["higher_is_better"], result["test_to_train"]
    )
    assert result["methods"] == expected
    assert [*result["methods"]] == [*expected], "best first"
    assert {len(column) for column in values.values()} == {len(result["seeds"])}
    means = [np.mean(column) for column in values.values()]
    assert np.all(np.diff(means) * (-1) ** result["higher_is_better"] >= 0)


@pytest.mark.parametrize("name", FOUND)
def test_five_methods_of_the_goal_at_one_commit(name):
    result = FOUND[name]
    assert set(result["methods"]) == set(goals.GOALS[result["goal"]].compare)
    assert len(result["methods"]) == 5
    (commit,) = result["commits_of_trainings"]
    assert len(commit) == 40, "clean"
    assert (FIGURES / f"comparison_{name}.png").stat().st_size > 1000


def test_the_command_names_chosen_methods():
    (name, result), *_ = FOUND.items()
    assert "--methods" not in comparison_table.command(name, result)
    chosen = dict([*result["methods"].items()][:2])
    result = result | {"methods": chosen}
    words = shlex.split(comparison_table.command(name, result))
    arguments = command_line.parse(compare.parser(), words[2:])
    assert arguments.methods == [*chosen]
    assert "of 2 methods in every repeat" in "\n".join(
        comparison_table.text_of(name, result)
    )
