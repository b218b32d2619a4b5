"""The sweep over `num_dims` of the F-statistic loss, 500 dimensions.

The paper says that all values from 2 to 100 of 500 work about as well.
"""

import re
import statistics

from tools import claims
from tools.cross_validation_results import paired
from tools.cross_validation_results import values
from tools.paired_difference import PairedDifference
from tools.paired_difference import difference_table
from tools.paired_difference import paired_difference
from tools.paired_difference import ratio_of_test_to_train
from trainers.measures.standard_error import standard_error
from trainers.recipes import every_recipe

RECIPE = re.compile(r"omniglot_retrieval_f_statistic_(\d+)_of_500")
MEASURE = "test.recall_at_1"
# The paper's value for persons, to which others are compared.
REFERENCE = 70
CLAIMED = range(2, 101)
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


def differences(results: dict[int, dict]) -> dict[int, PairedDifference]:
    """Recall@1 of each `num_dims` minus that of `REFERENCE`, by fold."""
    if REFERENCE not in results:
        return {}
    ours = results[REFERENCE]
    ratio = ratio_of_test_to_train(ours["config"])
    found = {
        num_dims: paired_difference(
            *paired((theirs, MEASURE), (ours, MEASURE)), ratio
        )
        for num_dims, theirs in results.items()
        if num_dims != REFERENCE
    }
    return {n: each for n, each in found.items() if each is not None}


def verdict(results: dict[int, dict]) -> str:
    """Returns the verdict of "about as well", by `claims.NEAR` points."""
    claimed = [n for n in NUM_DIMS if n in CLAIMED and n != REFERENCE]
    run = {n: d for n, d in differences(results).items() if n in claimed}
    held = sum(100 * abs(each.mean) <= claims.NEAR for each in run.values())
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


def figure(results: dict[int, dict]):
    """Draws recall@1 over `num_dims`, with standard errors over folds."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    by_fold = [
        [100 * value for value in values(found, MEASURE)]
        for found in results.values()
    ]
    axes.errorbar(
        [*results],
        [statistics.fmean(numbers) for numbers in by_fold],
        [standard_error(numbers) or 0.0 for numbers in by_fold],
        marker="o",
        capsize=3,
    )
    axes.axvspan(min(CLAIMED), max(CLAIMED), alpha=0.12, label="2 to 100")
    axes.set(
        xscale="log",
        xlabel="num_dims of 500 dimensions",
        ylabel="recall@1 of held-out characters, %",
        title="Omniglot: mean and standard error over folds",
    )
    axes.set_xticks([*results], [str(n) for n in results])
    axes.minorticks_off()
    axes.grid(alpha=0.3)
    axes.legend()
    return figure
