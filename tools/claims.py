"""Claims of papers: what our result files say about each, and a verdict.

A claim is reproduced if every cell of it was run and holds, in part if some
cells hold, and not run without results.
"""

import re
import statistics
from collections.abc import Iterable

from tools.paired_difference import LEVEL
from tools.paired_difference import PairedDifference
from tools.paired_difference import as_cell
from tools.paired_episodes import NOTES

# Points below a published number that still count as that number.
NEAR = 2.0
# Cells below the paper that the evidence names.
NAMED = 3
# Characters of a cell that stays in one line.
LONG_CELL = 200
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


def of_one_seed(found: str, num_seeds: int) -> str:
    """Adds to a verdict that it rests on a single training."""
    is_measured = found in ("reproduced", "in part", "not reproduced")
    return f"{found}, one seed" if is_measured and num_seeds < 2 else found


def published_cells(
    cells: dict[str, tuple[float | None, float]], num_seeds: int
) -> tuple[str, str]:
    """Returns evidence and verdict of accuracies beside published ones.

    Ours are rounded as published numbers are. The evidence names the cells that
    are below the paper; if they are many, only how far all cells are from it.

    Args:
        cells: Ours, None if not run, and the published number, in %, by the
            name of the cell.
        num_seeds: The fewest trainings that a cell rests on.
    """
    run = {
        name: (round(ours, 1), theirs)
        for name, (ours, theirs) in cells.items()
        if ours is not None
    }
    if not run:
        return f"0 of {len(cells)} cells run", verdict(0, 0, len(cells))
    more = {
        name: round(ours - theirs, 1) for name, (ours, theirs) in run.items()
    }
    above = sum(each >= 0 for each in more.values())
    near = sum(each >= -NEAR for each in more.values())
    ours, theirs = (
        statistics.mean(cells[name][place] for name in run) for place in (0, 1)
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
    if len(below) > NAMED:
        text += f"; ours minus published: {ends(more.values())} points"
    elif below:
        text += f"; below the paper: {', '.join(below)}"
    return text, of_one_seed(verdict(near, len(run), len(cells)), num_seeds)


def ends(found: Iterable[float]) -> str:
    """`-1.5 to +2.0`: the least and the largest number."""
    found = list(found)
    return f"{min(found):+.1f} to {max(found):+.1f}"


def published_differences(
    cells: dict[str, tuple[PairedDifference | None, float]],
    *,
    names_all: bool = True,
) -> tuple[str, str]:
    """Returns evidence and verdict of differences beside published ones.

    Cells hold by `num_higher`. Without a cell that holds, differences that are
    all above 0 are "in the same direction". The evidence names each cell, and
    those short of the published difference again, with both numbers. The
    verdict says if a p is of one seed: it is then over test episodes.

    Args:
        cells: Our difference, None if not run, and the published difference,
            in points, by the name of the cell.
        names_all: Whether the evidence names every cell; if not, those that
            are not above 0.
    """
    run = {name: pair for name, pair in cells.items() if pair[0] is not None}
    if not run:
        return f"0 of {len(cells)} cells run", verdict(0, 0, len(cells))
    differences = {name: ours for name, (ours, _) in run.items()}
    positive = sum(ours.mean > 0 for ours in differences.values())
    sure = num_higher(differences.values(), len(cells))
    short = [
        f"{name} {ours.mean:+.1f} ({theirs:+.1f})"
        for name, (ours, theirs) in run.items()
        if ours.mean < theirs
    ]
    is_one_seed = any(
        ours.over != "runs" or ours.count < 2 for ours in differences.values()
    )
    text = (
        f"{len(run)} of {len(cells)} cells run: higher in {positive}; "
        f"statistically certain in {sure}; by at least the published "
        f"difference in {len(run) - len(short)}"
    )
    named = differences
    if not names_all:
        named = {n: ours for n, ours in differences.items() if ours.mean <= 0}
    if named:
        text += (
            "; not higher" * (not names_all)
            + "; points, standard error and p"
            + " over seeds" * (not is_one_seed)
            + f": {differences_text(named)}"
        )
    if short and names_all:
        text += f". Short of the published difference: {', '.join(short)}"
    text += notes(named.values())
    found = verdict(sure, len(run), len(cells))
    if not sure and positive == len(run):
        found = "in the same direction"
    return text, of_one_seed(found, 1 if is_one_seed else 2)


def num_held(
    cells: Iterable[tuple[bool, float | None]], of: int | None = None
) -> int:
    """Number of the cells of a claim that hold.

    All hold if each difference has the right sign and a p below `LEVEL`.
    Otherwise the tests of the claim are corrected for their number (Holm
    1979): among many cells without a difference, some have a small p.

    Args:
        cells: Whether the sign is right, and the p, for each cell that was run;
            None: without a test.
        of: All cells of the claim; None: as many as were run.
    """
    cells = sorted((1.0 if p is None else p, is_right) for is_right, p in cells)
    of = len(cells) if of is None else of
    if len(cells) == of and all(right and p < LEVEL for p, right in cells):
        return of
    held = 0
    for place, (p, is_right) in enumerate(cells):
        if p >= LEVEL / (of - place):
            break
        held += is_right
    return held


def num_higher(found: Iterable[PairedDifference], of: int) -> int:
    """Number of differences that are above 0, by `num_held`.

    The tests are over seeds, or with one seed over test episodes.
    """
    return num_held(((each.mean > 0, each.p) for each in found), of)


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
        f"| {claim} | **{found}** | {in_lines(evidence)} | {in_lines(takes)} |"
        for claim, evidence, found, takes in found
    ]
    return "\n".join(lines)


def in_lines(text: str) -> str:
    """Breaks the text of a long cell after each part and each sentence.

    Text in brackets, such as two p-values, stays in one line.
    """
    if len(text) <= LONG_CELL:
        return text
    lines, depth = [""], 0
    marked = re.sub(r"(?<=;) |(?<=\.) (?=[A-Z])", "\n", text)
    for part in re.split(r"([()\[\]\n])", marked):
        if part == "\n":
            if not depth:
                lines.append("")
                continue
            part = " "
        depth += (part in ("(", "[")) - (part in (")", "]"))
        lines[-1] += part
    return "<br>".join(lines)
