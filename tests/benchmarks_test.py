"""Printed numbers are those of the result files."""

from benchmarks import n_digit_table


def test_the_recipes_table_is_generated_from_the_result_files():
    text = n_digit_table.README.read_text()
    between = text.partition(n_digit_table.BEGIN)[2].partition(
        n_digit_table.END
    )[0]
    assert between.strip() == n_digit_table.table(n_digit_table.runs()).strip()
