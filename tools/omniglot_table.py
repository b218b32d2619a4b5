"""Writes the tables of `docs/results/omniglot.md` from the result files.

    python -m tools.omniglot_table [FOLDER ...]

A FOLDER is a workdir. The script first copies its numbers to
`benchmarks/results/omniglot`. It then makes the tables from these files only.
"""

import functools
import pathlib
import statistics

from tools import n_digit_table
from tools.generated_text import commits
from tools.generated_text import hardware
from tools.generated_text import remake_page
from tools.keep_result import results_of
from tools.n_digit_grid import CONDITIONS
from tools.n_digit_grid import EPISODES
from tools.n_digit_grid import budgets
from tools.n_digit_grid import choose
from tools.n_digit_grid import commands
from tools.n_digit_grid import difference_cells
from tools.n_digit_grid import values

ROOT = pathlib.Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "omniglot"
PAGE = ROOT / "docs" / "results" / "omniglot.md"
BEGIN, END = "<!-- omniglot table: begin -->", "<!-- omniglot table: end -->"
METHODS = {"prototypical": "PN", "stochastic_prototypes": "SPE"}
# Supports of each class, and classes.
COLUMNS = [(1, 5), (5, 5), (1, 20), (5, 20)]
# Scott, Ridgeway & Mozer 2019, Table D.1, in the order of COLUMNS.
PUBLISHED = {
    ("clean", "prototypical"): (75.7, 82.6, 45.0, 55.9),
    ("clean", "stochastic_prototypes"): (76.9, 82.3, 49.7, 55.3),
    ("corrupt_support", "prototypical"): (50.0, 65.9, 23.6, 31.7),
    ("corrupt_support", "stochastic_prototypes"): (50.7, 73.9, 25.6, 41.6),
    ("corrupt_query", "prototypical"): (48.9, 52.3, 21.7, 25.6),
    ("corrupt_query", "stochastic_prototypes"): (47.8, 52.3, 22.8, 26.8),
}
# For 64 dimensions the paper says only that both methods are near the ceiling.
NOT_PUBLISHED_DIM = 64
load = functools.partial(results_of, RESULTS)


def recipe(num_support: int, method: str, condition: str, dim: int = 2) -> str:
    """Returns the recipe whose model is tested under a condition."""
    # Only models of two dimensions are trained on corrupted images.
    ending = "_corrupted" if condition != "clean" and dim == 2 else ""
    return f"omniglot_{num_support}_shot_dim_{dim}_{method}{ending}"


def recipes() -> list[str]:
    """Returns the recipes of the table."""
    kinds = [(condition, 2) for condition in CONDITIONS[:2]]
    # The second and the third condition have the same models.
    return [
        recipe(num_support, method, condition, dim)
        for condition, dim in [*kinds, ("clean", NOT_PUBLISHED_DIM)]
        for method in METHODS
        for num_support in (1, 5)
    ]


def split(num_support: int, num_classes: int) -> str:
    """Returns the name of a column's results."""
    if num_classes == 5:
        return "test"
    return f"test_{num_classes}_class_{num_support}_shot"


def table(results: list[dict]) -> str:
    """Returns the Markdown between the marks, from results with configs."""
    chosen = {name: choose(name, results) for name in recipes()}
    head = " | ".join(f"{k}-shot {n}-class" for k, n in COLUMNS)
    lines = [
        f"| supports, queries | method | {head} | mean |",
        "|---|---|" + "---:|" * 5,
    ]
    lines += [
        _row(chosen, condition, method, PUBLISHED[condition, method])
        for condition in CONDITIONS
        for method in METHODS
    ]
    lines += [
        _row(chosen, condition, method, None, NOT_PUBLISHED_DIM)
        for condition in CONDITIONS
        for method in METHODS
    ]
    lines += ["", f"| SPE - PN, points | {head} | mean |"]
    lines += ["|---|" + "---:|" * 5]
    lines += [_differences(chosen, condition) for condition in CONDITIONS]
    lines += [
        _differences(chosen, condition, NOT_PUBLISHED_DIM)
        for condition in CONDITIONS
    ]
    lines += ["", *budgets(chosen)]
    training = [run["training"] for runs in chosen.values() for run in runs]
    if training:
        lines += ["", f"Commit {commits(training)}; {hardware(training)}."]
    return "\n".join([*lines, *commands(chosen)])


def _row(chosen, condition, method, published, dim=2) -> str:
    """`ours (published)` for each column, and of the means."""
    ours = []
    for num_support, num_classes in COLUMNS:
        found = values(
            chosen[recipe(num_support, method, condition, dim)],
            split(num_support, num_classes),
            condition,
            EPISODES,
        )
        ours.append(statistics.mean(found) if found else None)
    ours.append(None if None in ours else statistics.mean(ours))
    theirs = [None] * len(ours)
    if published is not None:
        theirs = [*published, statistics.mean(published)]
    cells = [
        " ".join(
            ([] if mine is None else [f"**{mine:.1f}**"])
            + ([] if their is None else [f"({their + 1e-9:.1f})"])
        )
        for mine, their in zip(ours, theirs, strict=True)
    ]
    name = METHODS[method] + (f", {dim} dimensions" if dim != 2 else "")
    return (
        f"| {condition.replace('_', ' ')} | {name} | "
        + " | ".join(cells)
        + " |"
    )


def _differences(chosen, condition, dim=2) -> str:
    pairs = []
    for place, (num_support, num_classes) in enumerate(COLUMNS):
        models = [
            chosen[recipe(num_support, method, condition, dim)]
            for method in ("stochastic_prototypes", "prototypical")
        ]
        published = None
        if dim != NOT_PUBLISHED_DIM:
            pn, spe = (
                PUBLISHED[condition, method][place] for method in METHODS
            )
            published = spe - pn
        pair = *models, split(num_support, num_classes), condition
        pairs.append((pair, published))
    name = condition.replace("_", " ")
    name += f", {dim} dimensions" if dim != 2 else ""
    return f"| {name} | " + " | ".join(difference_cells(pairs)) + " |"


def main() -> None:
    collect = functools.partial(n_digit_table.collect, folder=RESULTS)
    remake_page(__doc__, collect, load, PAGE, (BEGIN, END), table)


if __name__ == "__main__":
    main()
