"""Measures contenders on growing batches, and how their cost grows.

A case is a name and the size of a batch: its classes, the instances of each
class, and its dimensions, such as "triplet 12x10x500".
"""

import math
import statistics

from benchmarks import _loss_step as loss_step
from benchmarks import _speed_table as speed_table
from benchmarks._aims import OURS
from benchmarks._benchmark import NOT_RUN
from benchmarks._benchmark import PLANNED
from benchmarks._benchmark import SMALLER
from benchmarks._worker import LARGEST_BYTES

LIMIT = f"share of the limit, {OURS}"

DIMS = (22, 128, 500)
# Classes and instances of a class.
BATCHES = ((12, 10), (64, 8), (128, 8), (256, 8), (512, 8))
QUICK = ((3, 6), (4, 6))
SECONDS_A_CASE, LEAST_ROWS = 4, 512
# Limits of the expected cost of a step.
LARGEST, UNITS = (10.0, LARGEST_BYTES), ("s", "bytes")


def split_case(case):
    """Returns the name, the rows of a batch, its size in words and its dim."""
    name, batch = case.split()
    num_classes, num_per_class, dim = map(int, batch.split("x"))
    return name, num_classes * num_per_class, batch, dim


def cases_of(names, quick, dims_of=lambda name: DIMS):
    """Returns all cases, the smallest batches first."""
    return [
        f"{name} {num_classes}x{num_per_class}x{dim}"
        for num_classes, num_per_class in (QUICK if quick else BATCHES)
        for name in names
        for dim in (dims_of(name)[:1] if quick else dims_of(name))
    ]


def measure(run, together, cases, functions_of, argument_of, check, always=()):
    """Yields each case with its measurements, which the caller adds.

    A contender is not run if it was stopped on a smaller batch, or if its step
    would take too much time or memory by its growth so far.

    Args:
        run: The run of a benchmark.
        together: Processes of the contenders.
        cases: Names of cases.
        functions_of: Function from a name to the contenders by name.
        argument_of: Function from a case to the argument of its contenders.
        check: Called with a case and its measurements; may give a contender
            with a wrong value a reason in place of its seconds.
        always: Contenders that run on every batch.
    """
    measured = {}
    for case, found in run.all_cases().items():  # of an earlier run
        if case in cases:
            name, rows, _, dim = split_case(case)
            measured.setdefault((name, dim), {})[rows] = found
    for case in run.each(cases):
        name, rows, batch, dim = split_case(case)
        of_sizes = measured.setdefault((name, dim), {})
        smaller = costs_of_smaller(of_sizes, rows)
        functions = functions_of(name)
        reasons = {
            contender: reason
            for contender, costs in smaller.items()
            if contender in functions
            and contender not in always
            and (reason := too_costly(costs, rows))
        }
        found = loss_step.compare(
            together,
            {n: f for n, f in functions.items() if n not in reasons},
            argument_of(case),
            batch,
            min(SECONDS_A_CASE, run.seconds),
        )
        found |= {name: {"stopped": why} for name, why in reasons.items()}
        check(case, found)
        of_sizes[rows] = found
        yield case, found
    # Exponents of what was not measured now keep their commit.
    names = {split_case(case)[0] for case in run.cases}
    for case, grown in exponents(run.all_cases()).items():
        if case.partition(",")[0] in names:
            run.add(case, {}, grown)


def costs_of_smaller(of_sizes: dict, rows: int) -> dict:
    """Returns by contender what `too_costly` needs of the smaller batches."""
    smaller: dict = {}
    for size in sorted(size for size in of_sizes if size < rows):
        for contender, entry in of_sizes[size].items():
            if "stopped" in entry:
                reason = entry["stopped"].partition(" (")[0]
                smaller[contender] = f"{reason} {SMALLER}"
            elif not isinstance(smaller.get(contender), str):
                seconds = statistics.median(entry["seconds"])
                point = size, seconds, entry.get("peak_bytes") or 0
                smaller.setdefault(contender, []).append(point)
    return smaller


def too_costly(before, num_rows):
    """Returns why a contender is not run, given its smaller batches.

    Args:
        before: Reason, or `(rows, seconds, bytes)` of each smaller batch.
        num_rows: Rows of the next batch.
    """
    if isinstance(before, str):
        return before
    rows, *costs = before[-1]
    for number, (cost, largest) in enumerate(zip(costs, LARGEST, strict=True)):
        exponent = 2
        if len(before) > 1 and cost and before[-2][1 + number]:
            points = [(of[0], of[1 + number]) for of in before[-2:]]
            exponent = max(2, slope(points))
        expected = cost * (num_rows / rows) ** exponent
        if expected > largest:
            text = speed_table.value(expected, UNITS[number])
            return f"{PLANNED} {text} expected"


def exponents(cases):
    """Returns rows of the growth of time and memory by loss and dimension."""
    points = {}
    for case, contenders in cases.items():
        if not contenders:  # these rows, of an earlier run
            continue
        loss, rows, _, dim = split_case(case)
        for name, entry in contenders.items():
            if rows < LEAST_ROWS or "stopped" in entry:
                continue
            key = f"{loss}, {dim} dimensions", name
            measured = {
                "time": statistics.median(entry["seconds"]),
                "memory": entry.get("peak_bytes"),
            }
            for what, cost in measured.items():
                if cost:
                    points.setdefault((*key, what), []).append((rows, cost))
    found = {}
    for (case, name, what), costs in points.items():
        if len(costs) > 2:
            found.setdefault(case, []).append(
                {
                    "what": f"exponent of {what}, {name}",
                    "unit": "exponent",
                    "median": slope(costs),
                }
            )
    return found


def slope(points):
    """Returns the least-squares slope of log cost against log rows."""
    x, y = zip(*[map(math.log, point) for point in points], strict=True)
    return statistics.linear_regression(x, y).slope


def table(result, rows, head, dims_of, text_of):
    """Returns a row per name and dimensions, a column per number of rows.

    Args:
        result: The result file.
        rows: Its rows.
        head: Names the first column.
        dims_of: Dimensions of each name, in the order of the table.
        text_of: Function from a case, and a function from a case and a value's
            name to its cell, to the text of the case.
    """
    by_case = {(row["case"], row["what"]): row for row in rows}
    names = {c.split()[1].rpartition("x")[0] for c in result["cases"]} - {""}
    sizes = {name: math.prod(map(int, name.split("x"))) for name in names}
    sizes = dict(sorted(sizes.items(), key=lambda pair: pair[1]))
    heads = [f"{num_rows:,} rows" for num_rows in sizes.values()]
    heads = [head, "dim", *heads, "exponent", "its limit, largest batch"]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]

    def cell(case, what):
        row = by_case.get((case, what))
        return speed_table.cell(row | {"aim": ""}) if row else ""

    for name, dims in dims_of.items():
        for dim in dims:
            cases = [f"{name} {size}x{dim}" for size in sizes]
            cells = [text_of(case, cell) for case in cases]
            if not any(cells):
                continue
            grown = f"exponent of time, {OURS}"
            cells.append(cell(f"{name}, {dim} dimensions", grown))
            shares = [share for case in cases if (share := cell(case, LIMIT))]
            cells.append(shares[-1] if shares else "")
            cells = [name.replace("_", " "), str(dim), *cells]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def time_of(case, cell):
    """Returns our time, or why there is none."""
    return cell(case, OURS) or cell(case, NOT_RUN)


def limit_row(seconds, entry):
    """Returns the row of the share of the limit in our time, if measured."""
    if seconds is None or "seconds" not in entry:
        return []
    share = seconds / statistics.median(entry["seconds"])
    return [{"what": LIMIT, "unit": "share", "median": share}]
