"""The error among accepted answers in docs/trust.md."""

import numpy as np
import pytest

from tests.read_between import read_between
from tools import accepted_answers


def test_the_page_has_the_table_of_the_results():
    found = accepted_answers.load()
    page = read_between(accepted_answers.PAGE, *accepted_answers.MARKS)
    assert page == accepted_answers.table(found)


def test_errors_keep_the_promises():
    for result in accepted_answers.load().values():
        for row in result["promises"]:
            assert row["error"] <= row["error_rate"]
            assert row["divisions_above"] <= 1 - result["level"]


@pytest.mark.parametrize("is_certain", [True, False])
def test_measured_by_loop(is_certain, monkeypatch):
    """Answers that are right if and only if they are confident."""
    monkeypatch.setattr(accepted_answers, "NUM_DIVISIONS", 3)
    confidence = np.tile([0.0, 1, 1, 1], 800)
    # Otherwise the confidence says nothing, and half of the answers is wrong.
    wrong = confidence == 0 if is_certain else np.tile([True, False], 1600)
    answers = confidence, wrong, np.repeat(np.arange(800), 4)
    found = accepted_answers.measure(answers, answers)
    assert found["error_of_all"] == (0.25 if is_certain else 0.5)
    for row in found["promises"]:
        assert row["accepted"] == (0.75 if is_certain else 0)
        assert row["error"] == row["divisions_above"] == 0
