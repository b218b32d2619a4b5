"""Options, result files, rows and tables of all speed benchmarks.

A result has cases; a case has contenders; a contender has the `seconds` of
each round, or the reason why it `stopped`. Everything printed follows from
these: medians, paired ratios, and whether an aim is met.
"""

import argparse
import contextlib
import dataclasses
import importlib.metadata
import json
import os
import pathlib
import time
from collections.abc import Callable

from benchmarks import _side_by_side as side_by_side
from benchmarks import _speed_table as speed_table
from benchmarks._aims import OURS
from benchmarks._aims import PEERS
from benchmarks._aims import XLA
from benchmarks._aims import faster
from benchmarks._aims import time_over
from benchmarks._provenance import provenance
from benchmarks._worker import OVER_LIMIT
from tools.generated_text import hardware
from tools.generated_text import write_between

ROOT = pathlib.Path(__file__).parents[1]
# Stands for every contender of a case that was not measured.
NOT_RUN = "all"
# Reasons of contenders that were not tried begin or end so.
PLANNED, SMALLER = "not run: about", "(smaller batch)"
PAGE = ROOT / "docs" / "results" / "speed.md"


@dataclasses.dataclass(frozen=True)
class Comparison:
    """A ratio of the seconds of two contenders.

    Attributes:
        ours: Name of a contender.
        theirs: Name of another, or names, of which the fastest counts.
        by_time: Whether the ratio is our time over theirs, else theirs over
            ours: how many times faster ours is.
    """

    ours: str
    theirs: str | tuple[str, ...]
    by_time: bool = False

    @property
    def what(self):
        other = self.theirs if isinstance(self.theirs, str) else PEERS
        return (time_over if self.by_time else faster)(self.ours, other)

    def of(self, contenders):
        theirs = self.theirs
        if not isinstance(theirs, str):
            theirs = side_by_side.fastest(contenders, theirs)
        pair = (self.ours, theirs) if self.by_time else (theirs, self.ours)
        return side_by_side.ratio(contenders, *pair)


@dataclasses.dataclass(frozen=True)
class Benchmark:
    """A speed benchmark.

    Attributes:
        name: Name of the module and of the result file.
        minutes: Budget of a run.
        comparisons: Ratios of each case.
        packages: Names of distributions whose versions are kept.
        page, mark: Where the table belongs.
        table: Function from the result to the table, instead of `table_of`.
        note: Sentence below the table.
        limits_are_results: Whether a case may exceed a limit in every variant.
    """

    name: str
    minutes: float
    comparisons: tuple[Comparison, ...] = ()
    packages: tuple[str, ...] = ()
    page: pathlib.Path = PAGE
    mark: str = ""
    table: Callable | None = None
    note: str = ""
    limits_are_results: bool = False

    @property
    def marks(self):
        mark = self.mark or self.name
        return f"<!-- {mark}: begin -->", f"<!-- {mark}: end -->"

    @property
    def path(self):
        return side_by_side.RESULTS / f"{self.name}.json"

    def rows(self, result):
        """Returns the rows of `speed.csv`."""
        return speed_table.rows(self.name, result, self.comparisons)

    def text(self, result):
        """Returns the Markdown between the marks."""
        rows = self.rows(result)
        table = self.table or (lambda _, rows: speed_table.table(rows))
        made = result["made"].values()
        commits = sorted({_short(m["commit"]) for m in made})
        loads = [m["load_average_before"] for m in made]
        versions = "".join(
            f", {name} {version}"
            for name, version in result["versions"].items()
        )
        return (
            f"{table(result, rows)}\n\n`{result['command']}`, commit "
            f"{', '.join(commits)}, {hardware(made)}, load "
            f"{min(loads):.1f} to {max(loads):.1f}{versions}. {self.note}"
        ).strip()

    def write_page(self):
        """Writes the table of the result file, and what all results share."""
        result = json.loads(self.path.read_text())
        write_between(self.page, *self.marks, self.text(result))
        print(f"Wrote {self.page.relative_to(ROOT)}")

    @contextlib.contextmanager
    def run(self, about, arguments=None):
        """Parses the command line; writes the result at the end."""
        run = Run(self, about, arguments)
        complete = False
        try:
            yield run
            complete = True
        finally:
            run.finish(complete)
        if failures := run.failures():
            raise SystemExit("\n".join(failures))


class Run:
    """A run of a benchmark, with the cases that were measured so far."""

    def __init__(self, benchmark, about, arguments):
        parser = argparse.ArgumentParser(
            description=about,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        parser.add_argument("cases", nargs="*", help="parts of names of cases")
        parser.add_argument(
            "--quick", action="store_true", help="tiny sizes; writes nothing"
        )
        parser.add_argument(
            "--minutes", type=float, default=benchmark.minutes, help="budget"
        )
        options = parser.parse_args(arguments)
        self.quick, self.words = options.quick, options.cases
        self.minutes = 0 if self.quick else options.minutes
        self.benchmark, self.parser = benchmark, parser
        self.cases, self.made, self.more = {}, {}, {}
        self.started = time.monotonic()
        # Seconds for the rounds of a case beyond the fifth.
        self.seconds = 0.0
        self._provenance, self._load = provenance(), os.getloadavg()[0]

    def side_by_side(self):
        """Returns processes for contenders; tiny sizes have no limits."""
        if self.quick:
            return side_by_side.SideBySide(patience=20, most_rounds=2)
        return side_by_side.SideBySide()

    def each(self, cases):
        """Yields the chosen cases while the budget lasts."""
        chosen = [
            case
            for case in cases
            if not self.words or any(word in case for word in self.words)
        ]
        if not chosen:
            self.parser.error(
                f"no case contains {' or '.join(self.words)}; there are: "
                f"{', '.join(cases)}"
            )
        ends = self.started + 60 * self.minutes
        for number, case in enumerate(chosen):
            left = ends - time.monotonic()
            self.seconds = max(0, left / (len(chosen) - number))
            if left <= 0 and not self.quick:
                reason = f"not measured: {self.minutes:g} minutes were used up"
                self.add(case, {NOT_RUN: {"stopped": reason}})
                continue
            yield case

    def add(self, case, contenders, rows=()):
        """Keeps the measurements of a case.

        Args:
            case: Name of the case.
            contenders: Result of `SideBySide.compare`.
            rows: Further values: dictionaries with `what`, `unit`, `median`.
        """
        self.cases[case], self.more[case] = contenders, list(rows)
        self.made[case] = {
            "load_average_before": self._load,
            **self._provenance,
        }
        self._load = os.getloadavg()[0]

    def all_cases(self):
        """Returns the measured cases, and those that the result file keeps."""
        path, kept = self.benchmark.path, {}
        if self.words and path.exists() and not self.quick:
            kept = json.loads(path.read_text())["cases"]
        return kept | self._measured(self.cases, kept)

    def _measured(self, values, kept):
        """Returns the values of cases; kept ones if the time was used up."""
        return {
            case: value
            for case, value in values.items()
            if case not in kept or NOT_RUN not in self.cases[case]
        }

    def failures(self):
        """Returns the cases where ours failed, or every contender was stopped.

        A variant of ours that exceeds a limit, as XLA may while it compiles, is
        a result if another variant of ours was measured. A contender that a
        smaller case had ruled out is a result, too.
        """
        ours = {comparison.ours for comparison in self.benchmark.comparisons}
        ours |= {OURS, XLA}
        found = []
        for case, contenders in self.cases.items():
            stopped = {
                name: entry["stopped"]
                for name, entry in contenders.items()
                if "stopped" in entry and name != NOT_RUN
            }
            every = len(stopped) == len(contenders)
            measured = any(name in ours for name in contenders.keys() - stopped)
            is_result = measured or self.benchmark.limits_are_results
            found += [
                f"{case}: {name}: {reason}"
                for name, reason in stopped.items()
                if (every or name in ours)
                and not _is_ruled_out(reason)
                and not (is_result and reason.startswith(OVER_LIMIT))
            ]
        return found

    def finish(self, complete):
        """Prints the table; writes the result file, its page and the CSV.

        An incomplete run keeps the other cases of the result file, and the
        earlier values of cases for which no time was left.
        """
        if not self.cases:
            return
        print()
        benchmark = self.benchmark
        result = {
            "command": f"python -m benchmarks.{benchmark.name}",
            "cases": self.cases,
            "rows": self.more,
            "made": self.made,
            "versions": _versions(benchmark.packages),
            "seconds": time.monotonic() - self.started,
        }
        keep = self.words or not complete
        if keep and benchmark.path.exists() and not self.quick:
            before = json.loads(benchmark.path.read_text())
            for part in ("cases", "rows", "made"):
                measured = self._measured(result[part], before["cases"])
                result[part] = before[part] | measured
        if self.quick:
            print(speed_table.table(benchmark.rows(result)))
            print(benchmark.text(result))
            return
        from trainers.workdirs.json_files import write_json

        benchmark.path.parent.mkdir(exist_ok=True)
        write_json(benchmark.path, result)
        print(f"Wrote {benchmark.path.relative_to(ROOT)}")
        benchmark.write_page()
        speed_table.write()
        print(benchmark.text(result))


def _is_ruled_out(reason):
    return reason.startswith(PLANNED) or reason.endswith(SMALLER)


def _short(commit):
    return commit[:7] + "-dirty" * commit.endswith("-dirty")


def _versions(packages):
    found = {}
    for package in packages:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[package] = importlib.metadata.version(package)
    return found
