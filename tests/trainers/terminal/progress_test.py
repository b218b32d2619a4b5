"""Long jobs say how much is done and how long the rest takes."""

import numpy as np
import pytest

from trainers.terminal import progress as module
from trainers.terminal.progress import CountedRows
from trainers.terminal.progress import Progress


@pytest.fixture
def clock(monkeypatch):
    """A clock that the test moves."""
    now = [0.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    return now


def test_a_line_every_ten_seconds_has_the_time_left(clock, capsys):
    progress = Progress(100, "score")
    for second in range(1, 26):
        clock[0] = float(second)
        progress.advance()
    # After 11 s, 11 of 100 are done; the other 89 take 89 s. Then after 22 s.
    assert capsys.readouterr().out.splitlines() == [
        "11 of 100 scores, 89 s left",
        "22 of 100 scores, 78 s left",
    ]


def test_short_jobs_are_silent(clock, capsys, monkeypatch):
    for is_terminal in (False, True):
        monkeypatch.setattr(
            module.sys.stdout, "isatty", lambda found=is_terminal: found
        )
        progress = Progress(3)
        for _ in range(3):
            clock[0] += 0.5
            progress.advance()
    assert capsys.readouterr().out == ""


def test_a_terminal_has_a_bar(clock, capsys, monkeypatch):
    monkeypatch.setattr(module.sys.stdout, "isatty", lambda: True)
    progress = Progress(2)
    for _ in range(2):
        clock[0] += 5
        progress.advance()
    assert "2/2" in capsys.readouterr().out


def test_functions_and_rows_are_counted():
    progress = Progress(100)
    assert progress.counting(max)(3, 5) == 5
    assert progress.done == 1
    scores = progress.counting_scores(np.add.outer)(np.zeros(3), np.ones(4))
    np.testing.assert_array_equal(scores, np.ones((3, 4)))
    assert progress.done == 1 + 3 * 4
    rows = CountedRows(np.arange(9), progress)
    assert len(rows) == 9
    assert rows[2:7].tolist() == [2, 3, 4, 5, 6]
    assert progress.done == 13 + 5
