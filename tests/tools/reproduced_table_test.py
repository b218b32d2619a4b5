"""The page of what was reproduced comes from the result files."""

import pytest

from tools import reproduced_table
from tools.generated_text import read_between


def test_the_page_has_the_tables_of_the_result_files():
    for name, text in reproduced_table.tables().items():
        marks = reproduced_table.MARKS[name]
        assert read_between(reproduced_table.PAGE, *marks) == text
        assert text.count("\n") > 5


def test_a_verdict_is_one_of_three():
    row = ("Table 1", "mostly", "", "")
    with pytest.raises(ValueError, match="Table 1: received.*'mostly'"):
        reproduced_table.table([row])
