"""Cells of the tables of claims."""

from tools import claims


def test_a_long_cell_has_a_line_for_each_part():
    part = "triplet +0.1 (a) [c](d) (.002; .004. A note [a; b](page.md))"
    text = f"{part}; {part}. Others: {part}, f. 3"
    longer = "; ".join([text] * 4)
    lines = claims.in_lines(longer).split("<br>")
    one = [f"{part};", f"{part}.", f"Others: {part}, f. 3;"]
    assert lines == [*one * 3, *one[:2], one[2].removesuffix(";")]


def test_a_short_cell_is_one_line():
    assert claims.in_lines("a; b. C") == "a; b. C"
