"""Lets contenders take turns, so that all see the same load of the machine.

Each contender runs in its own process. A round is one turn of each contender;
every other round has the reverse order. A ratio is the median over rounds of
the ratio within a round, with quartiles. A contender that fails, or exceeds
the limits of `_worker.py`, keeps its reason in place of its seconds.
"""

import concurrent.futures
import contextlib
import ctypes
import json
import multiprocessing
import pathlib
import statistics
import time

from benchmarks._worker import LARGEST_SECONDS
from benchmarks._worker import SECONDS_TO_START
from benchmarks._worker import Stopped
from benchmarks._worker import Worker

RESULTS = pathlib.Path(__file__).parent / "results"
LEAST_ROUNDS, SECONDS_A_TURN = 5, 0.1


# The following functions run in the processes of the contenders.


def timed(step, at_least=SECONDS_A_TURN):
    """Returns the median seconds of the steps of one turn."""
    seconds = []
    while sum(seconds) < at_least:
        started = time.perf_counter()
        step()
        seconds.append(time.perf_counter() - started)
    return {"seconds": statistics.median(seconds)}


def peak_bytes(step):
    """Returns the growth of the resident set in a step, or None.

    Memory that the allocator keeps is returned to the system first.
    """
    try:
        ctypes.CDLL("libc.so.6").malloc_trim(0)
        # Resets the high-water mark to the current resident set.
        pathlib.Path("/proc/self/clear_refs").write_text("5")
        before = high_water_mark()
        step()
        return high_water_mark() - before
    except OSError:
        return None


def high_water_mark():
    status = pathlib.Path("/proc/self/status").read_text()
    line = next(s for s in status.splitlines() if s.startswith("VmHWM:"))
    return 1024 * int(line.split()[1])


# The following functions run in the comparing process.


class SideBySide(contextlib.AbstractContextManager):
    """The processes of contenders, by name.

    Args:
        patience: Factor of all limits of time.
        most_rounds: Limit of the rounds of every comparison, if any.
    """

    def __init__(self, patience=1, most_rounds=None):
        self._workers, self._patience = {}, patience
        self._most_rounds = most_rounds

    def call(self, name, function, *arguments, seconds=LARGEST_SECONDS):
        """Runs a function in the process of a contender."""
        if name not in self._workers:
            self._workers[name] = Worker()
        try:
            return self._workers[name].call(
                function, *arguments, seconds=self._patience * seconds
            )
        except Stopped:
            del self._workers[name]
            raise

    def compare(
        self,
        prepare,
        turn,
        contenders,
        seconds,
        most_rounds=12,
        limit=LARGEST_SECONDS,
        limit_to_start=SECONDS_TO_START,
    ):
        """Returns seconds of each round by contender, or why it stopped.

        Args:
            prepare: Called once by each contender; returns more entries of
                the result.
            turn: Returns the `seconds` of a turn and more entries.
            contenders: Arguments of both functions by name.
            seconds: Rounds after the fifth start only within this time.
            most_rounds: Largest number of rounds.
            limit: Seconds that a turn may take.
            limit_to_start: Seconds that `prepare` may take, with
                imports and compiling.
        """
        found = {name: {"seconds": []} for name in contenders}

        def take(name, function, seconds):
            try:
                return self.call(
                    name, function, *contenders[name], seconds=seconds
                )
            except Stopped as error:
                found[name] = {"stopped": str(error)}
                return {}

        for name in contenders:
            answer = take(name, prepare, limit_to_start)
            found[name] |= answer
        ends = time.monotonic() + seconds
        for round_ in range(min(most_rounds, self._most_rounds or most_rounds)):
            if round_ >= LEAST_ROUNDS and time.monotonic() > ends:
                break
            running = [name for name in found if "seconds" in found[name]]
            for name in running[:: -1 if round_ % 2 else 1]:
                answer = take(name, turn, limit)
                if answer:
                    found[name]["seconds"].append(answer.pop("seconds"))
                    found[name] |= answer
        print(".", end="", flush=True)
        return found

    def __exit__(self, *_):
        for worker in self._workers.values():
            worker.close()
        self._workers.clear()


def process(**options):
    """An executor of one process, for measurements without limits."""
    return concurrent.futures.ProcessPoolExecutor(
        1, multiprocessing.get_context("spawn"), **options
    )


def spread(values):
    """Returns the median, the quartiles and the number of values."""
    values = list(values)
    low, _, high = (
        statistics.quantiles(values, method="inclusive")
        if len(values) > 1
        else 3 * values
    )
    return {
        "median": statistics.median(values),
        "low": low,
        "high": high,
        "rounds": len(values),
    }


def shown(values, digits):
    """`median (quartile to quartile)`, with so many digits."""
    found = spread(values)
    middle, low, high = (
        f"{found[name]:,.{digits}f}" for name in ("median", "low", "high")
    )
    return f"{middle} ({low} to {high})"


def ratio(contenders, over, under):
    """Returns the spread of paired ratios, None without both."""
    pairs = [contenders.get(name, {}).get("seconds") for name in (over, under)]
    if not all(pairs):
        return None
    return spread(a / b for a, b in zip(*pairs, strict=True))


def fastest(contenders, names):
    """Returns the name with the least median seconds, None without any."""
    seconds = {
        name: statistics.median(contenders[name]["seconds"])
        for name in names
        if contenders.get(name, {}).get("seconds")
    }
    return min(seconds, key=seconds.get) if seconds else None


def refuse_other_values(contenders, reference, names, tolerance=1e-4):
    """Gives contenders with another value than the reference a reason."""
    expected = contenders[reference].get("value")
    for name in names:
        value = contenders.get(name, {}).get("value")
        if None in (expected, value):
            continue
        if not abs(value - expected) <= tolerance * abs(expected):
            reason = f"another value: {value:.7g}, not {expected:.7g}"
            contenders[name] = {"stopped": reason}


def load(name):
    """Reads the result file."""
    return json.loads((RESULTS / f"{name}.json").read_text())
