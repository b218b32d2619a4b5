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
    progress = Progress(3)
    for seconds in (5, 2, 0.01):
        clock[0] += seconds
        progress.advance()
    out = capsys.readouterr().out
    assert out.endswith("\n")
    assert [line.rstrip() for line in out.rstrip("\n").split("\r")] == [
        "",
        f"[{6 * '='}{14 * ' '}] 1 of 3 episodes",
        f"[{13 * '='}{7 * ' '}] 2 of 3 episodes, 2 s left",
        f"[{20 * '='}] 3 of 3 episodes",
    ]
    lengths = [len(line) for line in out.rstrip("\n").split("\r")[2:]]
    assert lengths[0] == lengths[1], "blanks replace the rest of a line"


def test_a_slow_first_unit_does_not_count(clock, capsys):
    """The first takes 20 s, as with tracing; the others a second each."""
    progress = Progress(100, "open-set episode")
    for seconds in [20] + 30 * [1]:
        clock[0] += seconds
        progress.advance()
    # Printed when more than ten seconds have passed.
    assert capsys.readouterr().out.splitlines() == [
        "1 of 100 open-set episodes",
        "12 of 100 open-set episodes, 88 s left",
        "23 of 100 open-set episodes, 77 s left",
    ]


def test_a_slow_first_block_does_not_count(clock, capsys):
    progress = Progress(1024, "image")
    for seconds in (20, 4, 8):
        clock[0] += seconds
        progress.advance(256)
    # After the first block, 512 images took 12 s; 256 are left.
    assert capsys.readouterr().out.splitlines() == [
        "256 of 1024 images",
        "768 of 1024 images, 6 s left",
    ]


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
