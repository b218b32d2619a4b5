"""Contenders take turns, and a bad one does not end a comparison."""

import math
import os
import time

import numpy as np
import pytest

from benchmarks import _side_by_side as side_by_side
from benchmarks import _worker as worker

# Contenders; they run in processes of their own.


def ready(value=1.0):
    return {"value": value}


def step(seconds):
    return {"seconds": seconds}


def fail():
    raise RuntimeError("no such operator\nwith a long explanation")


def hang():
    time.sleep(60)


def end():
    os._exit(3)


def grow(size):
    return len(np.ones(size // 8))


def hold(size):
    held = np.ones(size // 8)
    time.sleep(60)
    return len(held)


def prepare(first, _):
    function, *arguments = first
    return function(*arguments)


def turn(_, second):
    function, *arguments = second
    return function(*arguments)


class TestContenders:
    @pytest.mark.slow
    def test_others_go_on_when_one_fails_hangs_or_ends(self):
        contenders = dict(
            ours=[(ready,), (step, 2.0)],
            theirs=[(ready,), (step, 6.0)],
            cannot_start=[(fail,), (step, 1.0)],
            fails_later=[(ready,), (fail,)],
            hangs=[(ready,), (hang,)],
            ends=[(end,), (step, 1.0)],
        )
        with side_by_side.SideBySide() as together:
            found = together.compare(prepare, turn, contenders, 0, limit=2)
        assert found["ours"] == {"seconds": 5 * [2.0], "value": 1.0}
        assert side_by_side.ratio(found, "theirs", "ours")["median"] == 3
        error = "failed: RuntimeError: no such operator"
        assert found["cannot_start"] == {"stopped": error}
        assert found["fails_later"] == {"stopped": error}
        assert found["hangs"] == {"stopped": "over 2 s"}
        assert found["ends"] == {"stopped": "the process ended with code 3"}
        assert side_by_side.ratio(found, "hangs", "ours") is None

    @pytest.mark.slow
    @pytest.mark.skipif(
        not os.path.exists("/proc/self/statm"), reason="reads Linux's /proc"
    )
    def test_a_process_that_takes_too_much_memory_is_ended(self, monkeypatch):
        monkeypatch.setattr(worker, "LARGEST_BYTES", 2**29)
        process = worker.Worker()
        assert process.call(grow, 8000) == 1000
        with pytest.raises(worker.Stopped, match=r"over 0\.5 GiB"):
            process.call(hold, 2**30)
        assert process.resident_bytes() == 0

    def test_rounds_end_with_the_time_but_not_before_the_fifth(self):
        def rounds(seconds, **options):
            contenders = dict(ours=[(ready,), (step, 1.0)])
            with side_by_side.SideBySide(**options) as together:
                found = together.compare(
                    prepare, turn, contenders, seconds, most_rounds=7
                )
            return len(found["ours"]["seconds"])

        assert rounds(0) == side_by_side.LEAST_ROUNDS == 5
        assert rounds(60) == 7
        assert rounds(60, most_rounds=2) == 2

    def test_another_value_than_ours_is_refused(self):
        found = {
            "ours": {"value": 2.0, "seconds": [1]},
            "near": {"value": 2.0001, "seconds": [1]},
            "far": {"value": 2.1, "seconds": [1]},
            "nan": {"value": math.nan, "seconds": [1]},
        }
        side_by_side.refuse_other_values(found, "ours", found, 1e-4)
        assert "seconds" in found["near"]
        assert found["far"] == {"stopped": "another value: 2.1, not 2"}
        assert "stopped" in found["nan"]


def test_ratios_are_paired_within_rounds():
    # The load doubles in the third round, for both.
    found = {
        "ours": {"seconds": [1, 1, 2, 1, 1]},
        "theirs": {"seconds": [3, 2, 6, 4, 3]},
    }
    ratios = [3, 2, 3, 4, 3]
    values = side_by_side.ratio(found, "theirs", "ours")
    assert values["median"] == np.median(ratios)
    assert [values["low"], values["high"]] == [
        *np.quantile(ratios, [0.25, 0.75])
    ]
    assert side_by_side.fastest(found, ["theirs", "ours", "absent"]) == "ours"
