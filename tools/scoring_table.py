"""Writes the table of time and memory of scoring with a learned distance.

    python -m tools.scoring_table

The benchmarks `pair_distance` and `all_trials` also write this table.
"""

import json

from benchmarks import _spread as spread
from tools.generated_text import ROOT
from tools.generated_text import hardware
from tools.generated_text import write_between

RESULTS = ROOT / "benchmarks" / "results"
PAGE = ROOT / "docs" / "learned_distance.md"
BEGIN, END = "<!-- scoring table: begin -->", "<!-- scoring table: end -->"


def load() -> dict[str, dict]:
    """Returns the results of the two benchmarks."""
    return {
        name: json.loads((RESULTS / f"{name}.json").read_text())
        for name in ("pair_distance", "all_trials")
    }


def table(found: dict[str, dict]) -> str:
    """Returns the Markdown between the marks."""
    pairs, trials = found["pair_distance"], found["all_trials"]
    subset = trials["subset"]
    num_pairs = pairs["rows"] ** 2
    lines = ["| what | measured | commit |", "|---|---|---|"]

    def row(what, measured, result):
        lines.append(f"| {what} | {measured} | {result['commit'][:7]} |")

    names = {"median_seconds", "quartiles_seconds"}
    of_pairs = {name: pairs[name]["all_pairs"] for name in names & pairs.keys()}
    row(
        f"`all_pairs`, {num_pairs:,} pairs",
        spread.cell(of_pairs, 1e6 / num_pairs, 2) + " microseconds a pair",
        pairs,
    )
    row(
        "time relative to the products of the hidden layers alone",
        f"{pairs['ratio_to_bare']:.2f} times (aim: at most {pairs['aim']})",
        pairs,
    )
    row(
        "time of concatenated pairs, in blocks, relative to `all_pairs`",
        f"{pairs['faster_than_concatenated']:.2f} times",
        pairs,
    )
    if peak := pairs["peak_bytes_of_10000_x_10000"]:
        result = pairs["result_bytes_of_10000_x_10000"]
        row(
            "`all_pairs`, 10,000 x 10,000 scores (narrower layers)",
            f"{_mib(peak)} at the peak, of which the result is {_mib(result)}",
            pairs,
        )
    row(
        f"`stream_trials`, all {trials['trials']:,} pairs of "
        f"{trials['embeddings']:,} embeddings",
        f"{trials['streaming_seconds']:.0f} s, "
        f"{_mib(trials['peak_bytes'])} at the peak",
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
    lines += [
        "",
        f"Hardware: {hardware([pairs, trials])}; {spread.load_of(pairs)} the "
        f"pairs, {spread.load_of(trials)} the trials. Times are medians "
        "(quartiles, where they were recorded).",
    ]
    return "\n".join(lines)


def _mib(num_bytes: int) -> str:
    return f"{num_bytes / 2**20:.0f} MiB"


def main() -> None:
    write_between(PAGE, BEGIN, END, table(load()))
    print(f"wrote {PAGE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
