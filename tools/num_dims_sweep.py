"""The sweep over `num_dims` of the F-statistic loss, 500 dimensions.

The paper says that performance is relatively insensitive to d, which is
`num_dims`, for 2 < d < 100.
"""

import re
import statistics

from tools import claims
from tools.cross_validation_results import by_fold_and_seed
from tools.cross_validation_results import paired
from tools.cross_validation_results import runs_of
from tools.paired_difference import PairedDifference
from tools.paired_difference import difference_table
from tools.paired_difference import paired_difference
from tools.paired_difference import ratio_of_test_to_train
from tools.reproduced_verdicts import named_folds
from trainers.measures.standard_error import standard_error
from trainers.recipes import every_recipe

RECIPE = re.compile(r"omniglot_retrieval_f_statistic_(\d+)_of_500")
MEASURE = "test.recall_at_1"
# The paper's value for persons, to which others are compared.
REFERENCE = 70
CLAIMED = range(3, 100)
NUM_DIMS = sorted(
    int(match[1]) for match in map(RECIPE.fullmatch, every_recipe()) if match
)


def sweep(found: dict[tuple[str, str], dict]) -> dict[int, dict]:
    """Returns results by `num_dims`, of `cross_validation_results.load`."""
    of_recipes = {
        int(match[1]): results
        for (recipe, _), results in found.items()
        if (match := RECIPE.fullmatch(recipe))
    }
    return dict(sorted(of_recipes.items()))


def shared_folds(results: dict[int, dict]) -> dict[int, dict[str, float]]:
    """Returns recall@1 by `num_dims` and fold, of the runs that all have.

    Folds and seeds differ as much as values of `num_dims` do.
    """
    found = {n: by_fold_and_seed(each, MEASURE) for n, each in results.items()}
    runs = _shared_runs(results)
    if not runs:
        raise ValueError(
            f"the sweep over num_dims: received {[*results]} without a shared "
            "fold and seed; expected at least one that all values have. Run "
            "fold 1 of each"
        )
    folds = dict.fromkeys(fold for fold, _ in runs)
    return {
        num_dims: {
            fold: statistics.fmean(of[run] for run in runs if run[0] == fold)
            for fold in folds
        }
        for num_dims, of in found.items()
    }


def which_runs(results: dict[int, dict]) -> str:
    """`fold 1, one seed`: the runs that all values have."""
    runs = _shared_runs(results)
    seeds = len({seed for _, seed in runs})
    return (
        f"{named_folds({fold for fold, _ in runs})}, "
        f"{'one seed' if seeds == 1 else f'{seeds} seeds'}"
    )


def _shared_runs(results: dict[int, dict]) -> list[tuple[str, int]]:
    """Fold and seed of the runs that all values have."""
    found = [by_fold_and_seed(each, MEASURE) for each in results.values()]
    return sorted(set.intersection(*map(set, found)))


def differences(results: dict[int, dict]) -> dict[int, PairedDifference]:
    """Recall@1 of each `num_dims` minus that of `REFERENCE`, by fold."""
    if REFERENCE not in results:
        return {}
    ratio = ratio_of_test_to_train(results[REFERENCE]["config"])
    by_fold = shared_folds(results)
    ours = by_fold.pop(REFERENCE)
    found = {
        num_dims: paired_difference(theirs, ours, ratio)
        for num_dims, theirs in by_fold.items()
    }
    return {n: each for n, each in found.items() if each is not None}


def verdict(results: dict[int, dict]) -> str:
    """Returns the verdict of "insensitive" for the range of the paper.

    It holds if the largest and the smallest recall of the range differ by at
    most `claims.NEAR` points, and in part if not all of the range was run.
    """
    claimed = [n for n in NUM_DIMS if n in CLAIMED and n != REFERENCE]
    run = [d.mean for n, d in differences(results).items() if n in claimed]
    span = max([0.0, *run]) - min([0.0, *run])
    held = len(run) if 100 * span <= claims.NEAR else 0
    return claims.verdict(held, len(run), len(claimed))


def section(results: dict[int, dict]) -> list[str]:
    """Returns the lines of figure and differences; none of one result."""
    if len(results) < 2:
        return []
    lines = [
        "",
        "### Omniglot: recall@1 over `num_dims` of 500 dimensions",
        "",
        "![recall@1](../figures/omniglot_num_dims.png)",
    ]
    if REFERENCE not in results:
        return lines
    ours = results[REFERENCE]
    pairs = {
        f"{num_dims} of 500": [paired((ours, MEASURE), (theirs, MEASURE))]
        for num_dims, theirs in results.items()
        if num_dims != REFERENCE
    }
    ratio = ratio_of_test_to_train(ours["config"])
    return lines + difference_table(
        f"{REFERENCE} of 500", ["recall@1"], pairs, ratio, 2, 100
    )


def left(results: dict[int, dict], folds: list[str]) -> str:
    """Returns what was not run, and how long that takes; empty if all was."""
    missing = {
        num_dims: [
            fold
            for fold in folds
            if fold not in results.get(num_dims, {"folds": ()})["folds"]
        ]
        for num_dims in NUM_DIMS
    }
    by_folds: dict[tuple, list[str]] = {}
    for num_dims, of_one in missing.items():
        if of_one:
            by_folds.setdefault(tuple(of_one), []).append(str(num_dims))
    if not by_folds:
        return ""
    text = "; ".join(
        f"{named_folds(which)} with K = {', '.join(values)}"
        for which, values in by_folds.items()
    )
    seconds = [
        run["training"]["seconds"] + run["evaluation"]["seconds"]
        for found in results.values()
        for run in runs_of(found)
    ]
    if not seconds:
        return text
    fold, number = statistics.median(seconds), sum(map(len, missing.values()))
    return (
        f"{text}; about {fold / 60:.1f} minutes of one core a fold, "
        f"{number * fold / 60:.0f} in all"
    )


def figure(results: dict[int, dict]):
    """Draws recall@1 over `num_dims`, of the folds that all values have."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    by_fold = shared_folds(results)
    numbers = [
        [100 * value for value in of_one.values()]
        for of_one in by_fold.values()
    ]
    has_errors = len(numbers[0]) > 1
    title = "mean and standard error, " * has_errors + which_runs(results)
    axes.errorbar(
        [*by_fold],
        [*map(statistics.fmean, numbers)],
        [*map(standard_error, numbers)] if has_errors else None,
        marker="o",
        capsize=3,
    )
    axes.axvspan(
        min(CLAIMED) - 1, max(CLAIMED) + 1, alpha=0.12, label="2 < d < 100"
    )
    axes.set(
        xscale="log",
        xlabel="num_dims (d) of 500 dimensions",
        ylabel="recall@1 of held-out characters, %",
        title=f"Omniglot, {title}",
    )
    axes.set_xticks([*by_fold], [str(n) for n in by_fold])
    axes.minorticks_off()
    axes.grid(alpha=0.3)
    axes.legend(loc="lower center")
    return figure
