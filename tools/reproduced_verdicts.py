"""Verdicts about figures and tables of papers, and which folds were run."""

from collections.abc import Iterable

from tools import claims
from tools.generated_text import ROOT
from tools.paired_difference import PairedDifference

RESULTS = ROOT / "benchmarks" / "results"
NOT_ATTEMPTED, NO_EXPERIMENT = "not attempted", "no experiment"
NO_VERDICT = "run, without a verdict"
# Stands before a verdict on an experiment that no paper has.
NOT_IN_PAPER = "not in the paper: "
NO_DATA = "the data was not available"
JUDGED = ", our judgement"
# Verdicts that are computed, or said by us where a rule cannot say them.
VERDICTS = ("reproduced", "in part", "undecided", "not reproduced", "not run")
PARTS = (
    *VERDICTS,
    *(f"{found}{JUDGED}" for found in (*VERDICTS, NOT_ATTEMPTED)),
    *(f"{claims.of_one_seed(found, 1)}{JUDGED}" for found in VERDICTS),
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

    Cells of "higher" hold by `claims.num_held`, with p-values that are
    corrected for folds. A cell of "level" holds within `claims.NEAR` points.
    If no cell holds, and no test decides against one, the claim is undecided.

    Args:
        higher: Differences that the claim has above 0.
        level: Differences that the claim has near 0, of fractions.
    """
    higher, level = list(higher), list(level)
    tested = [cell for cell in higher if cell is not None]
    near = [cell for cell in level if cell is not None]
    of, num_near = len(higher) + len(level), sum(map(_is_near, near))
    # Uncorrected only if every cell of the claim holds.
    holds_else = num_near == len(level)
    held = num_near + claims.num_held(
        ((cell.mean > 0, cell.p_corrected) for cell in tested),
        len(higher) if holds_else else of,
    )
    against = claims.num_held(
        [(cell.mean <= 0, cell.p_corrected) for cell in tested]
        + [(not _is_near(cell), cell.p_corrected) for cell in near],
        of,
    )
    num_run = len(tested) + len(near)
    if num_run and not held and not against:
        return "undecided"
    return claims.verdict(held, num_run, of)


def _is_near(cell: PairedDifference) -> bool:
    return 100 * abs(cell.mean) <= claims.NEAR


def named_folds(folds: Iterable[str]) -> str:
    """`fold 1`, or `folds 1, 2`, sorted."""
    folds = sorted(folds)
    return "fold" + "s" * (len(folds) != 1) + f" {', '.join(folds)}"
