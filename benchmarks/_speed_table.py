"""Rows and tables of all speed benchmarks: `results/speed.csv` and the docs."""

import csv
import importlib
import json

from benchmarks import _aims as aims
from benchmarks import _side_by_side as side_by_side
from tools.generated_text import ROOT
from tools.generated_text import write_between

# In this order `make bench` runs them.
BENCHMARKS = (
    "machine_limits",
    "rival_losses",
    "f_statistic_loss",
    "step_cost",
    "training_throughput",
    "error_rates",
    "recall_at_k",
    "loss_grid",
    "samplers",
    "evaluation_speed",
    "pair_distance",
    "start_up",
    "scale",
    # The last, because it may use up the time.
    "objective_grid",
)
PAGE = ROOT / "docs" / "results" / "speed.md"
BEGIN, END = "<!-- aims: begin -->", "<!-- aims: end -->"
PEAK = "peak memory of "
SPREAD = ("median", "low", "high")
NOT_MEASURED = "Not measured yet."
SHORT = "short of the aim"
COLUMNS = (
    *("benchmark", "case", "what", "unit", "median", "low", "high", "rounds"),
    *("aim", "met", "reason", "note"),
    *("load_average_before", "processor", "cores", "commit"),
)


def rows(benchmark, result, comparisons=()):
    """Returns times, peak memory, ratios and further values of a result."""
    found = []

    def add(case, what, unit, note="", **values):
        row = dict(benchmark=benchmark, case=case, what=what, unit=unit)
        row |= dict.fromkeys(("median", "low", "high", "rounds")) | values
        made = result["made"][case]
        row |= {name: made[name] for name in COLUMNS[-4:]}
        found.append(row | {"note": note} | aims.assess(row))

    for case, contenders in result["cases"].items():
        for name, entry in contenders.items():
            if "stopped" in entry:
                add(case, name, "s", note=entry["stopped"])
                continue
            add(case, name, "s", **side_by_side.spread(entry["seconds"]))
            if entry.get("peak_bytes") is not None:
                add(case, PEAK + name, "bytes", median=entry["peak_bytes"])
        for comparison in comparisons:
            if values := comparison.of(contenders):
                add(case, comparison.what, "ratio", **values)
        for row in result["rows"].get(case, ()):
            add(case, **row)
    return found


def table(rows):
    """Returns tables in Markdown.

    Cases that share values have a row each, a column per value. A case of its
    own has a row per value.
    """
    cells, remarks = {}, {}
    for row in rows:
        case, what = row["case"], row["what"]
        of_case, text = cells.setdefault(case, {}), cell(row)
        if row["reason"]:
            remarks.setdefault(case, []).append(row["reason"])
        if what.startswith(PEAK):
            of_case[what.removeprefix(PEAK)] += f", {text}"
            continue
        of_case[what] = text
    for case, reasons in remarks.items():
        cells[case][SHORT] = "; ".join(dict.fromkeys(reasons))
    groups = []
    for case, of_case in cells.items():
        if not groups or not of_case.keys() & groups[-1]["columns"].keys():
            groups.append({"columns": {}, "cases": []})
        groups[-1]["columns"] |= dict.fromkeys(of_case)
        groups[-1]["cases"].append(case)
    parts = []
    for group in groups:
        cases = group["cases"]
        if len(cases) == 1:
            head, lines = [cases[0], "measured"], cells[cases[0]].items()
        else:
            columns = [c for c in group["columns"] if c != SHORT]
            columns += [SHORT] * (SHORT in group["columns"])
            head = ["case", *columns]
            lines = [
                [case, *(cells[case].get(what, "") for what in columns)]
                for case in cases
            ]
        marks = "|---" + "|---:" * (len(head) - 1) + "|"
        lines = [f"| {' | '.join(line)} |" for line in (head, *lines)]
        parts.append("\n".join([lines[0], marks, *lines[1:]]))
    return "\n\n".join(parts)


def cell(row):
    """Returns the value with its quartiles and its aim."""
    if row["median"] is None:
        return row["note"].replace("|", "\\|")
    text = value(row["median"], row["unit"])
    if row["low"] is not None:
        text = _with_quartiles(row)
    if row["aim"]:
        text += f", aim: {row['aim']}"
    return text + (f"; {row['note']}" if row["note"] else "")


def _with_quartiles(row):
    """Returns the median and the quartiles, times in one unit."""
    if row["unit"] != "s":
        median, low, high = (value(row[name], row["unit"]) for name in SPREAD)
        return f"{median} ({low} to {high})"
    size, name = _unit_of_time(row["median"])
    median, low, high = (_three_digits(row[each] / size) for each in SPREAD)
    return f"{median} {name} ({low} to {high})"


def _three_digits(number):
    return f"{number:,.0f}" if number >= 999.5 else f"{number:.3g}"


def _unit_of_time(seconds):
    for size, name in ((1, "s"), (1e-3, "ms"), (1e-6, "us")):
        if seconds >= 0.9995 * size:
            return size, name
    return 1e-9, "ns"


def value(number, unit):
    """Returns a number with a unit that suits its size."""
    if unit == "s":
        size, name = _unit_of_time(number)
        return f"{_three_digits(number / size)} {name}"
    if unit == "bytes":
        gib = number >= 2**30
        return f"{number / 2 ** (30 if gib else 20):.3g} {'GM'[not gib]}iB"
    if unit == "share":
        return f"{100 * number:.3g} %"
    return f"{number:.3g}" + (f" {unit}" if unit not in PLAIN else "")


PLAIN = ("ratio", "exponent", "")


def all_rows():
    """Returns the rows of every result file."""
    found = []
    for name in BENCHMARKS:
        benchmark = importlib.import_module(f"benchmarks.{name}").BENCHMARK
        if benchmark.path.exists():
            found += benchmark.rows(json.loads(benchmark.path.read_text()))
    return found


def aims_table(rows):
    """Returns aims of single cases, counts of others, and all shortfalls."""
    heads = ["benchmark", "case", "what", "measured", "aim", "reason"]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    counts = {}
    for row in rows:
        if not row["aim"]:
            continue
        name, case, what = row["benchmark"], row["case"], row["what"]
        if (name, case, what) not in aims.AIMS:
            counts.setdefault((name, what, row["aim"]), []).append(row["met"])
            if row["met"]:
                continue
        shown = cell(row | {"aim": "", "note": ""})
        reason = "met" if row["met"] else f"short: {row['reason']}"
        cells = [f"`{name}`", case, what, shown, row["aim"], reason]
        lines.append(f"| {' | '.join(cells)} |")
    for (name, what, aim), met in counts.items():
        reached = f"{sum(met)} of {len(met)} cases"
        cells = [f"`{name}`", "all of this kind", what, reached, aim, ""]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) if len(lines) > 2 else NOT_MEASURED


def write():
    """Writes `speed.csv` and the table of aims."""
    rows = all_rows()
    path = side_by_side.RESULTS / "speed.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    write_between(PAGE, BEGIN, END, aims_table(rows))
    print(f"Wrote {path.relative_to(ROOT)} and {PAGE.relative_to(ROOT)}")
