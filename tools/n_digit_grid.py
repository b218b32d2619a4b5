"""Makes the published table of n-digit numbers with our results beside it.

The table has four methods, two and three digits, two and three dimensions,
three conditions, and classes seen and not seen in training.
`tools.n_digit_table` writes it into `docs/results/n_digit.md`.
"""

import pathlib
import statistics

from tools.paired_difference import cell_of_seeds
from tools.paired_episodes import mean_of_runs
from tools.paired_episodes import paired_runs
from tools.rerun_command import command_lines
from tools.rerun_command import rerun_command
from trainers.config import load_recipe
from trainers.workdirs.overrides import overrides
from trainers.workdirs.workdir import recipe_fields

ROOT = pathlib.Path(__file__).parents[1]
PAGE = ROOT / "docs" / "results" / "n_digit.md"
BEGIN, END = "<!-- n_digit grid: begin -->", "<!-- n_digit grid: end -->"
METHODS = {
    "stochastic_prototypes": "SPE",
    "prototypical": "PN",
    "hedged_instances": "HIB",
    "soft_contrastive": "soft contrastive",
}
SHAPES = [(2, 2), (2, 3), (3, 2), (3, 3)]
CONDITIONS = ("clean", "corrupt_support", "corrupt_query")
SPLITS = ("test_seen", "test_unseen")
CELLS = [(split, name) for name in CONDITIONS for split in SPLITS]
# Scott, Ridgeway & Mozer 2019, table of N-digit MNIST, by method and shape.
# The numbers are in the order of CELLS.
PUBLISHED = {
    f"n_digit_{n}_dim_{dim}_{method}": values
    for method, rows in {
        "stochastic_prototypes": (
            (93.0, 90.0, 92.4, 88.8, 53.7, 56.3),
            (94.2, 89.3, 93.8, 86.3, 58.2, 56.5),
            (80.2, 80.2, 76.7, 75.4, 40.2, 39.3),
            (89.0, 88.2, 87.8, 86.3, 48.1, 46.6),
        ),
        "prototypical": (
            (91.1, 82.0, 72.7, 70.9, 53.1, 51.1),
            (95.0, 89.5, 93.3, 86.3, 61.1, 57.9),
            (65.8, 64.3, 44.6, 42.9, 33.8, 33.0),
            (90.6, 89.1, 82.7, 79.6, 56.4, 54.8),
        ),
        # All other images of the split are supports (leave one out).
        "hedged_instances": (
            (87.9, 87.3, 81.6, 80.8, 49.9, 53.5),
            (95.2, 91.0, 94.3, 86.7, 57.8, 57.0),
            (65.0, 64.4, 54.0, 53.9, 31.8, 32.1),
            (87.3, 88.2, 81.2, 81.2, 49.9, 50.2),
        ),
        "soft_contrastive": (
            (88.2, 85.5, 76.2, 76.5, 43.5, 46.3),
            (95.0, 84.8, 92.2, 73.3, 51.6, 44.8),
            (65.8, 59.0, 49.5, 42.6, 29.3, 26.2),
            (87.3, 85.5, 77.6, 73.2, 44.7, 42.0),
        ),
    }.items()
    for (n, dim), values in zip(SHAPES, rows, strict=True)
}
EPISODES, LEAVE_ONE_OUT = "accuracy", "leave_one_out_accuracy"
# Fields that searches set.
SEARCHED = (
    "seed",
    "num_epochs",
    "optimizer.learning_rate.initial_learning_rate",
    "optimizer.learning_rate.decay_steps",
    "objective.beta",
)


def table(results: list[dict]) -> str:
    """Returns the Markdown between the marks, from results with configs."""
    chosen = {recipe: choose(recipe, results) for recipe in PUBLISHED}
    lines = []
    for split in SPLITS:
        lines += [*_accuracies(chosen, split), ""]
    lines += [*_differences(chosen), "", *budgets(chosen)]
    return "\n".join([*lines, *commands(chosen)])


def choose(recipe: str, results: list[dict]) -> list[dict]:
    """Returns the runs of the setting with the best validation accuracy.

    Only evaluated runs with the largest `num_epochs` count, stopped early or
    not. Runs that differ from the recipe in other training fields than
    SEARCHED are ignored. The runs are sorted by seed.
    """
    settings = {}
    for run in results:
        if run["recipe"] != recipe or "evaluation" not in run:
            continue
        differing = {
            name: value
            for name, value in overrides(recipe, run["config"]).items()
            if not name.startswith("evaluation.")
        }
        if set(differing) <= set(SEARCHED):
            differing.pop("seed", None)
            epochs = run["config"]["num_epochs"]
            key = epochs, tuple(sorted(differing.items()))
            settings.setdefault(key, []).append(run)
    if not settings:
        return []
    longest = max(epochs for epochs, _ in settings)
    of_longest = [runs for key, runs in settings.items() if key[0] == longest]
    best = max(
        of_longest,
        key=lambda runs: statistics.mean(
            run["training"]["best_value"] for run in runs
        ),
    )
    return sorted(best, key=lambda run: run["seed"])


def values(runs, split, condition, rule) -> list[float]:
    """Returns accuracies in %, one per run; empty if a run lacks the rule."""
    cells = [run["evaluation"][split][condition] for run in runs]
    if not all(rule in cell for cell in cells):
        return []
    return [100 * cell[rule] for cell in cells]


def published_rule(method: str) -> str:
    """Returns the rule by which the paper's numbers of a method were made.

    `method` is a key of METHODS, or the name of a recipe of the method.
    """
    pairs = method.endswith(("hedged_instances", "soft_contrastive"))
    return LEAVE_ONE_OUT if pairs else EPISODES


def _accuracies(chosen, split) -> list[str]:
    lines = [
        f"| {split.removeprefix('test_')} classes | method, rule | "
        + " | ".join(f"N{n}D{dim}" for n, dim in SHAPES)
        + " | mean |",
        "|---|---|" + "---:|" * 5,
    ]
    for condition in CONDITIONS:
        for method, name in METHODS.items():
            published = published_rule(method)
            rules = dict.fromkeys((published, EPISODES))
            for rule in rules:
                said = "leave one out" if rule == LEAVE_ONE_OUT else "episodes"
                cells = _row(chosen, method, split, condition, rule, published)
                lines.append(
                    f"| {condition.replace('_', ' ')} | {name}, {said} | "
                    + " | ".join(cells)
                    + " |"
                )
    return lines


def _row(chosen, method, split, condition, rule, published_rule) -> list[str]:
    """`ours (published)` for each shape, and of the means."""
    ours, published = [], []
    for n, dim in SHAPES:
        recipe = f"n_digit_{n}_dim_{dim}_{method}"
        of_seeds = values(chosen[recipe], split, condition, rule)
        ours.append(statistics.mean(of_seeds) if of_seeds else None)
        published.append(PUBLISHED[recipe][CELLS.index((split, condition))])
    complete = None not in ours
    ours.append(statistics.mean(ours) if complete else None)
    published.append(statistics.mean(published))
    return [
        " ".join(
            ([] if mine is None else [f"**{mine:.1f}**"])
            + ([f"({theirs + 1e-9:.1f})"] if rule == published_rule else [])
        )
        for mine, theirs in zip(ours, published, strict=True)
    ]


def _differences(chosen) -> list[str]:
    lines = [
        "| SPE - PN, points | classes | "
        + " | ".join(f"N{n}D{dim}" for n, dim in SHAPES)
        + " | mean |",
        "|---|---|" + "---:|" * 5,
    ]
    for split, condition in CELLS:
        where = CELLS.index((split, condition))
        pairs = []
        for n, dim in SHAPES:
            spe, pn = (
                f"n_digit_{n}_dim_{dim}_{method}"
                for method in ("stochastic_prototypes", "prototypical")
            )
            published = PUBLISHED[spe][where] - PUBLISHED[pn][where]
            pair = chosen[spe], chosen[pn], split, condition
            pairs.append((pair, published))
        lines.append(
            f"| {condition.replace('_', ' ')} | {split.removeprefix('test_')} "
            "| " + " | ".join(difference_cells(pairs)) + " |"
        )
    return lines


def difference_cells(pairs: list[tuple[tuple, float | None]]) -> list[str]:
    """Returns the cells of a row of differences, and of their mean.

    A cell is `ours (published)`, and without shared seeds `(published)`. The
    mean is over the seeds that all cells have; with one seed, its test is over
    episodes.

    Args:
        pairs: For each cell, the arguments of `differences` and the published
            difference in points, None if the paper has none.
    """
    cells = []
    for pair, published in pairs:
        found = [*differences(*pair).values()]
        ours = cell_of_seeds(found, paired_runs(*pair)) if found else ""
        cells.append(_beside(ours, published))
    means = mean_differences([differences(*pair) for pair, _ in pairs])
    of_one_seed = mean_of_runs([pair for pair, _ in pairs])
    published = [theirs for _, theirs in pairs]
    return [
        *cells,
        _beside(
            cell_of_seeds(means, of_one_seed) if means else "",
            None if None in published else statistics.mean(published),
        ),
    ]


def _beside(ours: str, published: float | None) -> str:
    theirs = "" if published is None else f"({published:+.1f})"
    return f"{ours} {theirs}".strip()


def differences(first, second, split, condition) -> dict[int, float]:
    """Returns first minus second, in points, for each seed of both."""
    by_seed = [
        {
            run["seed"]: 100 * run["evaluation"][split][condition][EPISODES]
            for run in runs
        }
        for runs in (first, second)
    ]
    return {
        seed: by_seed[0][seed] - by_seed[1][seed]
        for seed in sorted(set(by_seed[0]) & set(by_seed[1]))
    }


def mean_differences(cells: list[dict[int, float]]) -> list[float]:
    """Returns the mean over cells, for each seed that all cells have."""
    seeds = sorted(set.intersection(*map(set, cells)))
    return [statistics.mean(cell[seed] for cell in cells) for seed in seeds]


def commands(chosen: dict[str, list[dict]]) -> list[str]:
    """Returns commands that repeat the runs, or make a recipe's first run."""
    found = {}
    for recipe, runs in chosen.items():
        for run in runs:
            seed = run["seed"]
            found[f"{recipe}, seed {seed}"] = rerun_command(
                recipe, run["config"], f"runs/{recipe}_{seed}"
            )
        if not runs:
            config = recipe_fields(load_recipe(recipe))
            found[f"{recipe}, not run"] = rerun_command(
                recipe, config, f"runs/{recipe}"
            )
    return command_lines(found)


def budgets(chosen: dict[str, list[dict]]) -> list[str]:
    """Lists the training time and the searched settings of each recipe."""
    lines = [
        "| recipe | seeds | searched settings | steps | images a step "
        "| minutes | validation |",
        "|---|---|---|---:|---:|---:|---:|",
    ]
    for recipe, runs in chosen.items():
        if not runs:
            continue
        config, training = runs[0]["config"], [r["training"] for r in runs]
        batches = config["batches"]
        per_class = batches.get("num_per_class")
        if per_class is None:
            per_class = batches["num_support"] + batches["num_query"]
        # One number if no seed stopped early.
        steps = dict.fromkeys(str(t["steps"]) for t in training)
        rate = config["optimizer"]["learning_rate"]["initial_learning_rate"]
        found = {"learning rate": rate}
        if "beta" in config.get("objective", {}):
            found["beta"] = config["objective"]["beta"]
        lines.append(
            f"| `{recipe}` | {', '.join(str(r['seed']) for r in runs)} | "
            + ", ".join(f"{name} {value:g}" for name, value in found.items())
            + f" | {' '.join(steps)} | "
            f"{batches['num_classes'] * per_class} | "
            + " ".join(f"{t['seconds'] / 60:.0f}" for t in training)
            + " | "
            + " ".join(f"{100 * t['best_value']:.1f}" for t in training)
            + " |"
        )
    return lines
