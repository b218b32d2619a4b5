"""The page of what was reproduced comes from the result files."""

import pytest

from tools import reproduced_table
from tools import reproduced_verdicts
from tools.generated_text import read_between
from tools.paired_difference import PairedDifference


def test_the_page_has_the_tables_of_the_result_files():
    for name, text in reproduced_table.tables().items():
        marks = reproduced_table.MARKS[name]
        assert read_between(reproduced_table.PAGE, *marks) == text
        assert text.count("\n") > 5


def test_a_verdict_is_one_of_a_list():
    row = ("Table 1", "mostly", "", "")
    with pytest.raises(ValueError, match="Table 1: received.*'mostly'"):
        reproduced_table.table([row])


def test_not_attempted_is_without_result_files(tmp_path, monkeypatch):
    monkeypatch.setattr(reproduced_verdicts, "RESULTS", tmp_path)
    names = "cuhk03_", "f_statistic_*_of_500"
    assert reproduced_verdicts.not_attempted(*names) == "not attempted"
    (tmp_path / "folds").mkdir()
    (tmp_path / "folds" / "f_statistic_3_of_500-omniglot.json").touch()
    found = reproduced_verdicts.not_attempted(*names)
    assert found == "run, without a verdict" in reproduced_verdicts.PARTS


def test_a_cell_holds_by_the_corrected_test():
    def cell(mean, corrected):
        return PairedDifference(4, mean, 0.1, 0.001, corrected)

    held, open_, below = cell(1, 0.01), cell(1, 0.2), cell(-1, 0.01)
    one = PairedDifference(1, 1.0, None, None, None)
    for cells, expected in (
        ([held, held], "reproduced"),
        ([held, None], "in part"),
        ([held, open_], "in part"),
        ([open_, below], "not reproduced"),
        ([one, below], "not reproduced"),
        ([open_, open_], "undecided"),
        ([one, None], "undecided"),
        ([None, None], "not run"),
    ):
        assert reproduced_verdicts.of_differences(cells) == expected


def test_a_cell_is_level_within_two_points():
    def cell(mean, corrected):
        return PairedDifference(4, mean, 0.01, 0.001, corrected)

    level, far, open_ = cell(-0.019, 0.01), cell(0.03, 0.01), cell(-0.03, 0.3)
    higher = cell(0.1, 0.01)
    for cells, expected in (
        ([level], "reproduced"),
        ([level, far], "in part"),
        ([far], "in part"),  # the cell of "higher" holds
        ([None], "in part"),
    ):
        found = reproduced_verdicts.of_differences([higher], cells)
        assert found == expected
    assert reproduced_verdicts.of_differences([], [far]) == "not reproduced"
    assert reproduced_verdicts.of_differences([], [open_]) == "undecided"


def test_named_folds():
    assert reproduced_verdicts.named_folds(["2", "1"]) == "folds 1, 2"
