"""Verdicts about figures and tables of papers, and which folds were run."""

from collections.abc import Iterable

from tools import claims
from tools.generated_text import ROOT
from tools.paired_difference import PairedDifference

RESULTS = ROOT / "benchmarks" / "results"
NOT_ATTEMPTED, NO_EXPERIMENT = "not attempted", "no experiment"
NO_VERDICT = "run, without a verdict"
NO_DATA = "the data was not available"
JUDGED = ", our judgement"
# Verdicts that are computed, or said by us where a rule cannot say them.
VERDICTS = ("reproduced", "in part", "undecided", "not reproduced", "not run")
PARTS = (
    *VERDICTS,
    *(f"{found}{JUDGED}" for found in (*VERDICTS, NOT_ATTEMPTED)),
    NOT_ATTEMPTED,
    NO_EXPERIMENT,
    NO_VERDICT,
)


def not_attempted(*recipes: str) -> str:
    """Returns "not attempted" if no result file has one of the recipes.

    Args:
        recipes: Beginnings of names of recipes, which may contain `*`.
    """
    found = any([*RESULTS.glob(f"*/{recipe}*.json")] for recipe in recipes)
    return NO_VERDICT if found else NOT_ATTEMPTED


def judged(found: str) -> str:
    """Marks a verdict that no rule gives from the result files."""
    return f"{found}{JUDGED}"


def of_differences(
    higher: Iterable[PairedDifference | None],
    level: Iterable[PairedDifference | None] = (),
) -> str:
    """Returns the verdict of a claim about differences; None: not run.

    A cell of "higher" holds if the difference is above 0 and its p-value,
    corrected for folds, is below `claims.LEVEL`. A cell of "level" holds within
    `claims.NEAR` points. If no cell holds, and no test decides against one, the
    claim is undecided.

    Args:
        higher: Differences that the claim has above 0.
        level: Differences that the claim has near 0, of fractions.
    """
    found = [(cell, _is_higher) for cell in higher]
    found += [(cell, _is_level) for cell in level]
    run = [(cell, holds(cell)) for cell, holds in found if cell is not None]
    held = sum(holds for _, holds in run)
    if run and not held and not any(_is_sure(cell) for cell, _ in run):
        return "undecided"
    return claims.verdict(held, len(run), len(found))


def _is_sure(cell: PairedDifference) -> bool:
    return cell.p_corrected is not None and cell.p_corrected < claims.LEVEL


def _is_higher(cell: PairedDifference) -> bool:
    return cell.mean > 0 and _is_sure(cell)


def _is_level(cell: PairedDifference) -> bool:
    return 100 * abs(cell.mean) <= claims.NEAR


def named_folds(folds: Iterable[str]) -> str:
    """`folds 1, 2`, sorted."""
    return "folds " + ", ".join(sorted(folds))
