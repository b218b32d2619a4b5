"""Writes the table of time and memory of scoring with a learned distance.

    python -m tools.scoring_table

The benchmarks `pair_distance` and `all_trials` also write this table.
"""

import json

from benchmarks._side_by_side import shown
from tools.generated_text import ROOT
from tools.generated_text import hardware
from tools.generated_text import write_between

RESULTS = ROOT / "benchmarks" / "results"
PAGE = ROOT / "docs" / "learned_distance.md"
BEGIN, END = "<!-- scoring table: begin -->", "<!-- scoring table: end -->"


def load() -> dict[str, dict]:
    """Returns the results of the two benchmarks, as far as they were run."""
    paths = [RESULTS / f"{n}.json" for n in ("pair_distance", "all_trials")]
    return {p.stem: json.loads(p.read_text()) for p in paths if p.exists()}


def table(found: dict[str, dict]) -> str:
    """Returns the Markdown between the marks."""
    trials = found["all_trials"]
    subset = trials["subset"]
    lines = ["| what | measured | commit |", "|---|---|---|"]
    machines = {"all_trials": trials}

    def row(what, measured, result):
        lines.append(f"| {what} | {measured} | {result['commit'][:7]} |")

    if pairs := found.get("pair_distance"):
        (made,) = pairs["made"].values()
        machines["pair_distance"] = made
        for what, measured in _pairs(pairs):
            row(what, measured, made)
    row(
        f"`stream_trials`, all {trials['trials']:,} pairs of "
        f"{trials['embeddings']:,} embeddings",
        f"{shown(trials['streaming_seconds'], 0)} s" + _peak(trials),
        trials,
    )
    row(
        "equal error rate of these pairs",
        f"{100 * trials['equal_error_rate']:.4f} %, within "
        f"{100 * trials['equal_error_rate_bound']:.4f}",
        trials,
    )
    row(
        f"equal error rate of {subset['trials']:,} pairs, and by scikit-learn",
        f"{100 * subset['equal_error_rate']:.4f} %, within "
        f"{100 * subset['equal_error_rate_bound']:.4f}; "
        f"{100 * subset['equal_error_rate_scikit_learn']:.4f} %",
        trials,
    )
    loads = ", ".join(
        f"{machine['load_average_before']:.1f} (`{name}`)"
        for name, machine in machines.items()
    )
    machine = hardware(machines.values())
    lines += ["", f"Hardware: {machine}; load before: {loads}."]
    return "\n".join(lines)


def _pairs(result: dict):
    """Returns what the benchmark `pair_distance` found."""
    from benchmarks import pair_distance
    from benchmarks._speed_table import cell

    for found in pair_distance.BENCHMARK.rows(result):
        what = found["what"]
        if found["unit"] == "s":
            what += f", {pair_distance.ROWS} x {pair_distance.COLUMNS:,} pairs"
        text = cell(found)
        yield what, text + "; short" * (found["met"] is False)


def _peak(trials: dict) -> str:
    """Returns the peak of memory, where the machine could measure it."""
    if trials["peak_bytes"] is None:
        return ""
    return f", {trials['peak_bytes'] / 2**20:.0f} MiB at the peak"


def main() -> None:
    write_between(PAGE, BEGIN, END, table(load()))
    print(f"wrote {PAGE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
