"""Claims of papers: what our result files say about each, and a verdict.

A claim is reproduced if every cell of it was run and holds, in part if some
cells hold, and not run without results.
"""

import statistics
from collections.abc import Iterable

from tools.paired_difference import LEVEL
from tools.paired_difference import PairedDifference
from tools.paired_difference import as_cell
from tools.paired_episodes import NOTES

# Points below a published number that still count as that number.
NEAR = 2.0
# Marks of differences whose p is not over seeds.
STARS = {name: r"\*" * (1 + n) for n, name in enumerate(NOTES)}
# A claim, the evidence, and the verdict.
Claim = tuple[str, str, str]


def verdict(held: int, measured: int, of: int | None = None) -> str:
    """Returns a verdict from numbers of cells.

    Args:
        held: Cells in which the claim holds.
        measured: Cells that were run.
        of: All cells; None: as many as were run.
    """
    if not measured:
        return "not run"
    if held == measured == (measured if of is None else of):
        return "reproduced"
    return "in part" if held else "not reproduced"


def published_cells(
    cells: dict[str, tuple[float | None, float]],
) -> tuple[str, str]:
    """Returns evidence and verdict of accuracies beside published ones.

    The evidence names each cell that is below the paper.

    Args:
        cells: Ours, None if not run, and the published number, in %, by the
            name of the cell.
    """
    run = {name: pair for name, pair in cells.items() if pair[0] is not None}
    if not run:
        return f"0 of {len(cells)} cells run", verdict(0, 0, len(cells))
    above = sum(ours >= theirs for ours, theirs in run.values())
    near = sum(ours >= theirs - NEAR for ours, theirs in run.values())
    ours, theirs = (
        statistics.mean(column) for column in zip(*run.values(), strict=True)
    )
    text = (
        f"{len(run)} of {len(cells)} cells run: {above} at or above the paper, "
        f"{near - above} within {NEAR:g} points, {len(run) - near} lower; "
        f"their mean {ours:.1f}, published {theirs:.1f}"
    )
    below = [
        f"{name} {ours:.1f} ({theirs:.1f})"
        for name, (ours, theirs) in run.items()
        if ours < theirs
    ]
    if below:
        text += f"; below the paper: {', '.join(below)}"
    return text, verdict(near, len(run), len(cells))


def published_differences(
    cells: dict[str, tuple[PairedDifference | None, float]],
) -> tuple[str, str]:
    """Returns evidence and verdict of differences beside published ones.

    A cell holds if `is_higher`. Without a cell that holds, differences that are
    all above 0 are "in the same direction". The evidence names each cell, and
    those short of the published difference again, with both numbers. The
    verdict says if a p is of one seed: it is then over test episodes.

    Args:
        cells: Our difference, None if not run, and the published difference,
            in points, by the name of the cell.
    """
    run = {name: pair for name, pair in cells.items() if pair[0] is not None}
    if not run:
        return f"0 of {len(cells)} cells run", verdict(0, 0, len(cells))
    differences = {name: ours for name, (ours, _) in run.items()}
    positive = sum(ours.mean > 0 for ours in differences.values())
    sure = sum(map(is_higher, differences.values()))
    short = [
        f"{name} {ours.mean:+.1f} ({theirs:+.1f})"
        for name, (ours, theirs) in run.items()
        if ours.mean < theirs
    ]
    of_one_seed = any(
        ours.over != "runs" or ours.count < 2 for ours in differences.values()
    )
    text = (
        f"{len(run)} of {len(cells)} cells run: higher in {positive}, with p "
        f"below {LEVEL:g} in {sure}, in {len(run) - len(short)} by at least "
        "the published difference; points, standard error and p"
        + " over seeds" * (not of_one_seed)
        + f": {differences_text(differences)}"
    )
    if short:
        text += f". Short of the published difference: {', '.join(short)}"
    text += notes(differences.values())
    found = verdict(sure, len(run), len(cells))
    if not sure and positive == len(run):
        found = "in the same direction"
    return text, found + ", one seed" * (of_one_seed and bool(sure))


def is_higher(found: PairedDifference) -> bool:
    """Whether a difference is above 0, with a p below `LEVEL`.

    The test is over seeds, or with one seed over test episodes.
    """
    return found.mean > 0 and found.p is not None and found.p < LEVEL


def differences_text(found: dict[str, PairedDifference]) -> str:
    """Returns `name difference ± standard error (p)` of each difference."""
    return ", ".join(
        f"{name} {as_cell(each, 1)}{STARS.get(each.over, '')}"
        for name, each in found.items()
    )


def notes(found: Iterable[PairedDifference]) -> str:
    """Returns what the stars of `differences_text` mean; empty without any."""
    over = {each.over for each in found}
    return "".join(
        f". {STARS[name]} {note}"
        for name, note in NOTES.items()
        if name in over
    )


def mean_or_none(found: list[float]) -> float | None:
    """Returns the mean; None of nothing, a cell that was not run."""
    return statistics.mean(found) if found else None


def claims_table(found: list[tuple[str, str, str, str]]) -> str:
    """Returns the Markdown between the marks.

    Args:
        found: Claims, each with what a reproduction takes.
    """
    lines = [
        "| in the paper | verdict | ours | what a reproduction takes |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| {claim} | **{found}** | {evidence} | {takes} |"
        for claim, evidence, found, takes in found
    ]
    return "\n".join(lines)
