"""Writes the comparisons of docs/results/comparisons.md, and their figures.

    python -m tools.comparison_table runs/characters runs/recordings

Copies `comparison.json` of each workdir of `embeddings-tf compare` to
`benchmarks/results/comparisons/NAME.json`, with the name of the workdir, and
writes all of them into the page.
"""

import functools
import pathlib
import shlex

from tools.generated_text import ROOT
from tools.generated_text import hardware
from tools.generated_text import remake_page
from tools.keep_result import keep_result
from tools.keep_result import results_by_name
from tools.run_files import run_file
from trainers.goals.goals import GOALS

RESULTS = ROOT / "benchmarks" / "results" / "comparisons"
PAGE = ROOT / "docs" / "results" / "comparisons.md"
MARKS = "<!-- comparisons: begin -->", "<!-- comparisons: end -->"
load = functools.partial(results_by_name, RESULTS)


def collect(folder: pathlib.Path, replace: bool) -> None:
    """Copies the comparison of a workdir."""
    found = run_file(folder, "comparison.json", "compare the methods")
    name = folder.resolve().name
    keep_result(RESULTS / f"{name}.json", found, replace=replace)


def command(name: str, result: dict) -> str:
    """Returns the command that makes a comparison again."""
    words = ["compare", result["data"], "--goal", result["goal"]]
    if result["split"] != "classes":
        words += ["--split", result["split"]]
    if {*result["methods"]} != {*GOALS[result["goal"]].compare}:
        words += ["--methods", *result["methods"]]
    words += ["--workdir", f"runs/{name}", "--repeats"]
    fields = [f"--config.{field}" for field in result["overrides"]]
    return shlex.join(
        ["embeddings-tf", *words, str(len(result["seeds"])), *fields]
    )


def text_of(name: str, result: dict) -> list[str]:
    """Returns the table of one comparison."""
    direction = "higher" if result["higher_is_better"] else "lower"
    best = next(iter(result["methods"]))
    commits = ", ".join(c[:7] for c in result["commits_of_trainings"])
    lines = [
        f"`{result['data']}`, goal `{result['goal']}`, "
        f"{len(result['seeds'])} repeats: {result['number']}, {direction} is "
        f"better.",
        "",
        f"| method | mean | difference from `{best}` | 95 % interval "
        "| examples |",
        "|---|---:|---:|---:|---:|",
    ]
    for method, row in result["methods"].items():
        cells = " | "
        if row["interval"] is not None:
            low, high = row["interval"]
            cells = f"{row['difference']:+.3f} | {low:+.3f} to {high:+.3f}"
        lines.append(
            f"| `{method}` | {row['mean']:.3f} | {cells} "
            f"| {result['budgets'][method]['examples']:,} |"
        )
    return [
        *lines,
        "",
        f"![{result['number']} of {len(result['methods'])} methods in every "
        f"repeat]"
        f"(../figures/comparison_{name}.png)",
        "",
        f"    {command(name, result)}",
        "",
        f"Trained at {commits}, on {hardware([result])}, load "
        f"{result['load']:.1f}.",
        "",
    ]


def table(found: dict[str, dict]) -> str:
    """Returns the Markdown between the marks."""
    lines = [line for item in found.items() for line in text_of(*item)]
    return "\n".join(lines).rstrip()


def figures(found: dict[str, dict]) -> dict:
    """Draws every repeat of every comparison."""
    from embeddings_tf import viz

    return {
        f"comparison_{name}": viz.paired_comparison_figure(
            {n: row["values"] for n, row in result["methods"].items()},
            result["number"],
        )
        for name, result in found.items()
    }


if __name__ == "__main__":
    remake_page(__doc__, collect, load, PAGE, MARKS, table, figures)
