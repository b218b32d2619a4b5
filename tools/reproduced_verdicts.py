"""Verdicts about figures and tables of papers, and which folds were run."""

from collections.abc import Iterable

from tools import claims
from tools.generated_text import ROOT
from tools.paired_difference import PairedDifference
from tools.paired_difference import as_cell
from tools.paired_difference import paired_difference

RESULTS = ROOT / "benchmarks" / "results"
NOT_ATTEMPTED, NO_EXPERIMENT = "not attempted", "no experiment"
NO_VERDICT = "run, without a verdict"
NO_DATA = "the data was not available"
JUDGED = ", our judgement"
# Verdicts that are computed, or said by us where a rule cannot say them.
VERDICTS = ("reproduced", "in part", "not reproduced", "not run")
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


def of_differences(cells: Iterable[PairedDifference | None], of: int) -> str:
    """Returns the verdict of "higher" in cells; None: a cell that was not run.

    A cell holds if its difference is above 0 and the p-value, corrected for
    folds, is below `claims.LEVEL`.

    Args:
        cells: Differences that were measured.
        of: Cells of the claim.
    """
    run = [cell for cell in cells if cell is not None]
    held = sum(
        cell.mean > 0
        and cell.p_corrected is not None
        and cell.p_corrected < claims.LEVEL
        for cell in run
    )
    return claims.verdict(held, len(run), of)


def named_folds(folds: Iterable[str]) -> str:
    """`folds 1, 2`, sorted."""
    return "folds " + ", ".join(sorted(folds))


def cell(ours, theirs, ratio, digits, scale) -> str:
    """`difference ± standard error (p; corrected p)` of paired numbers."""
    found = paired_difference(ours, theirs, ratio)
    return as_cell(found, digits, scale)
