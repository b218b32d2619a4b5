"""Claims of papers: what our result files say about each, and a verdict.

A claim is reproduced if every cell of it was run and holds, in part if some
cells hold, and not run without results.
"""

import statistics

from tools.paired_difference import LEVEL
from tools.paired_difference import PairedDifference
from tools.paired_difference import as_cell
from tools.paired_episodes import NOTES

# Points below a published number that still count as that number.
NEAR = 2.0
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


def published_cells(pairs: list[tuple[float | None, float]]) -> tuple[str, str]:
    """Returns evidence and verdict of accuracies beside published ones.

    Args:
        pairs: Ours, None if not run, and the published number, in %.
    """
    run = [(ours, theirs) for ours, theirs in pairs if ours is not None]
    if not run:
        return f"0 of {len(pairs)} cells run", verdict(0, 0, len(pairs))
    above = sum(ours >= theirs for ours, theirs in run)
    near = sum(ours >= theirs - NEAR for ours, theirs in run)
    ours, theirs = (
        statistics.mean(column) for column in zip(*run, strict=True)
    )
    text = (
        f"{len(run)} of {len(pairs)} cells run: {above} at or above the paper, "
        f"{near - above} within {NEAR:g} points, {len(run) - near} lower; "
        f"their mean {ours:.1f}, published {theirs:.1f}"
    )
    return text, verdict(near, len(run), len(pairs))


def published_differences(
    pairs: list[tuple[PairedDifference | None, float]],
) -> tuple[str, str]:
    """Returns evidence and verdict of differences beside published ones.

    A cell holds if our mean difference is above 0 and its test, over seeds or
    with one seed over test episodes, has a p below `LEVEL`. Without a cell that
    holds, differences that are all above 0 are "in the same direction".

    Args:
        pairs: Our difference, None if not run, and the published difference,
            in points.
    """
    run = [(ours, theirs) for ours, theirs in pairs if ours is not None]
    if not run:
        return f"0 of {len(pairs)} cells run", verdict(0, 0, len(pairs))
    positive = sum(ours.mean > 0 for ours, _ in run)
    sure = sum(
        ours.mean > 0 and ours.p is not None and ours.p < LEVEL
        for ours, _ in run
    )
    large = sum(ours.mean >= theirs for ours, theirs in run)
    stars = {name: r"\*" * (1 + n) for n, name in enumerate(NOTES)}
    cells = ", ".join(
        as_cell(ours, 1) + stars.get(ours.over, "") for ours, _ in run
    )
    text = (
        f"{len(run)} of {len(pairs)} cells run: higher in {positive}, with p "
        f"below {LEVEL:g} in {sure}, in {large} by at least the published "
        f"difference; points, standard error and p over seeds: {cells}"
    )
    for name, note in NOTES.items():
        if any(ours.over == name for ours, _ in run):
            text += f". {stars[name]} {note}"
    found = verdict(sure, len(run), len(pairs))
    if not sure and positive == len(run):
        found = "in the same direction"
    return text, found


def mean_or_none(found: list[float]) -> float | None:
    """Returns the mean; None of nothing, a cell that was not run."""
    return statistics.mean(found) if found else None


def claims_table(found: list[Claim]) -> str:
    """Returns the Markdown between the marks."""
    lines = ["| in the paper | verdict | ours |", "|---|---|---|"]
    lines += [
        f"| {claim} | **{found}** | {evidence} |"
        for claim, evidence, found in found
    ]
    return "\n".join(lines)
