"""Writes the tables of random searches from their result files.

    python -m tools.search_table [FOLDER ...]

A FOLDER is a workdir of `tuning.search`. The script first copies its numbers to
`benchmarks/results/searches`, and its winner, as a recipe. It then makes the
tables in `docs/tuning.md` from these files only.
"""

import pathlib
import re
import shlex
import shutil

from tools.generated_text import ROOT
from tools.generated_text import hardware
from tools.generated_text import remake_page
from tools.keep_result import keep_result
from tools.keep_result import results_by_name
from tools.run_files import run_results
from trainers.config import load_recipe

RESULTS = ROOT / "benchmarks" / "results" / "searches"
PAGE = ROOT / "docs" / "tuning.md"
BEGIN, END = "<!-- searches: begin -->", "<!-- searches: end -->"
NUM_SHOWN = 10


def collect(workdir: pathlib.Path, replace: bool = False) -> None:
    """Copies the numbers of a search, and its winner, to the repository."""
    results = run_results(workdir)
    name = name_of(results)
    keep_result(RESULTS / f"{name}.json", results, replace=replace)
    shutil.copyfile(workdir / "best.py", RESULTS / f"{name}_best.py")


def name_of(results: dict) -> str:
    """Names a search by recipe, space, and what is not the recipe's own.

    That is the objective, the data set, and the seeds of values and trainings.
    """
    run = load_recipe(results["recipe"])
    given = dict(field.split("=", 1) for field in results["overrides"])
    dataset = given.get("dataset", given.get("data.dataset", ""))
    parts = [pathlib.Path(results["recipe"]).stem, results["space"]]
    if results["objective"] != run.training.monitor:
        parts.append(results["objective"])
    if dataset not in ("", run.data.dataset):
        parts.append(re.sub(r"\W+", "_", dataset))
    for field in ("search_seed", "seed"):
        if results[field]:
            parts.append(f"{field}_{results[field]}")
    return "-".join(parts)


def load() -> dict[str, dict]:
    """Returns the result files by name."""
    return results_by_name(RESULTS)


def table(found: dict[str, dict]) -> str:
    """Returns the Markdown between the marks."""
    parts = []
    for name, results in found.items():
        parts += ["", *_section(name, results)]
    return "\n".join(parts)


def _section(name: str, results: dict) -> list[str]:
    trials = results["trials"]
    completed = sorted(
        (row for row in trials if row["status"] == "completed"),
        key=lambda row: row["objective"],
        reverse=results["direction"] == "max",
    )
    names = list(dict.fromkeys(n for row in trials for n in row["values"]))
    statuses = [row["status"] for row in trials]
    counts = ", ".join(
        f"{statuses.count(status)} {status}"
        for status in dict.fromkeys(statuses)
    )
    lines = [
        f"### `{results['recipe']}` over `{results['space']}`"
        + _unusual(name, results),
        "",
        f"{len(trials)} trials ({counts}); "
        + (
            f"the {NUM_SHOWN} best and the last"
            if len(completed) > NUM_SHOWN + 1
            else "all"
        )
        + f" of the completed, by `{results['objective']}` "
        f"({results['direction']}):",
        "",
        "| rank | " + " | ".join(names) + " | objective | best epoch "
        "| minutes | trial |",
        "|---:|" + "---|" * len(names) + "---:|" * 4,
    ]
    shown = list(enumerate(completed, start=1))
    for rank, row in shown[:NUM_SHOWN] + shown[NUM_SHOWN:][-1:]:
        cells = [_cell(row["values"].get(name, "")) for name in names]
        lines.append(
            f"| {rank} | {' | '.join(cells)} | {row['objective']:.4f} | "
            f"{row['best_epoch']} of {row['epochs']} | "
            f"{row['seconds'] / 60:.1f} | {row['trial']} |"
        )
    commits = sorted({row["commit"][:7] for row in completed})
    prints = sorted({row.get("data_fingerprint", "") for row in completed})
    data = f"data {' '.join(prints)}; " if any(prints) else ""
    folder = RESULTS.relative_to(ROOT)
    lines += [
        "",
        f"    {command(results['recipe'], results, len(trials), 'DIR')}",
        "",
        f"Seed of the trainings {results['seed']}; "
        f"{results['seconds'] / 60:.0f} minutes in all; {data}commit "
        f"{' '.join(commits)}; {hardware(completed)}. Every trial: "
        f"[{name}.json](../{folder}/{name}.json); the winner: "
        f"[{name}_best.py](../{folder}/{name}_best.py).",
    ]
    return lines


def command(recipe: str, search: dict, num_trials: int, workdir: str) -> str:
    """Returns the command of a search.

    Args:
        recipe: Its recipe.
        search: What `results.json` has about it.
        num_trials: Number of trials.
        workdir: Folder of the search.
    """
    overrides = "".join(
        f" {shlex.quote(f'--config.{field}')}" for field in search["overrides"]
    )
    workers = search.get("workers")
    with_workers = f" --workers {workers}" if workers else ""
    return (
        f"python -m tuning.search --config {recipe} "
        f"--space {search['space']} --trials {num_trials} "
        f"--objective {search['objective']} "
        f"--direction {search['direction']} "
        f"--seed {search['search_seed']}{with_workers} "
        f"--workdir {workdir}{overrides}"
    )


def name_of_kept(recipe: str, search: dict) -> str | None:
    """Returns the name of the result file of a winner's search, if kept."""
    same = ("space", "objective", "search_seed", "overrides")
    for name, results in load().items():
        if results["recipe"] == recipe and all(
            results[field] == search[field] for field in same
        ):
            return name
    return None


def _unusual(name: str, results: dict) -> str:
    """What the name has beyond recipe and space, for the heading."""
    start = f"{pathlib.Path(results['recipe']).stem}-{results['space']}"
    rest = name.removeprefix(start).strip("-").replace("-", ", ")
    return f", {rest}" if rest else ""


def _cell(value) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def main() -> None:
    remake_page(__doc__, collect, load, PAGE, (BEGIN, END), table)


if __name__ == "__main__":
    main()
