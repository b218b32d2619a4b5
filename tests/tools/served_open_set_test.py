from tools import served_open_set
from tools.generated_text import read_between
from tools.keep_result import kept_results


def results():
    found = kept_results(served_open_set.RESULTS)
    return {path.stem: result for path, result in found.items()}


def test_the_page_has_the_table_of_the_results():
    marks = served_open_set.BEGIN, served_open_set.END
    page = read_between(served_open_set.PAGE, *marks)
    assert page == served_open_set.table(results())


def test_reached_rates_keep_the_promise():
    """The mean over divisions, up to two of its standard errors.

    The calibration classes are the same in all divisions, so the promise, an
    average over calibration classes too, has the deviation of one division.
    """
    assert results()
    for result in results().values():
        for row in result["promises"]:
            assert row["unknown_accepted"] <= (
                row["promised"] + 2 * row["unknown_accepted_deviation"]
            )


def test_noise_is_unknown():
    for result in results().values():
        for row in result["promises"]:
            assert row["served_first_division"]["noise_unknown"] > 0.95
