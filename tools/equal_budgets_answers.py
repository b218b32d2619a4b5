"""Writes whether the F-statistic loss is ahead after equal searches.

    python -m tools.equal_budgets_answers

Every difference and test of these tables of `docs/results/equal_budgets.md`
comes from the winners of searches in `benchmarks/results/equal_budgets`, and
from the same losses before a search in `benchmarks/results/cross_validation`.
"""

import statistics

from tools import cross_validation_results as of_folds
from tools import equal_budgets_results as winners
from tools import untrained_networks
from tools.cross_validation_results import COMPARED
from tools.cross_validation_results import RETRIEVAL
from tools.equal_budgets_table import OURS
from tools.equal_budgets_table import PAGE
from tools.equal_budgets_table import WIDE_RECIPE
from tools.generated_text import ROOT
from tools.generated_text import collect_folders
from tools.generated_text import write_between
from tools.paired_difference import LEVEL
from tools.paired_difference import Values
from tools.paired_difference import paired_difference
from tools.paired_difference import ratio_of_test_to_train
from tools.paired_difference import rounded


def standing(
    first: Values,
    second: Values,
    ratio: float | None,
    scale: float,
    digits: int,
) -> str:
    """Returns "ahead", "behind" or "open", the difference, and its p-value.

    "No test" stands for a difference without one, such as of a single fold.

    Args:
        first: A number by fold, of which more is better.
        second: The same of the other method.
        ratio: Test classes divided by training classes.
        scale: Factor of the numbers, such as 100 for per cent.
        digits: Digits after the point.
    """
    found = paired_difference(first, second, ratio)
    if found is None:
        return ""
    p = found.p_corrected
    word = "no test" if p is None else "open"
    if p is not None and p <= LEVEL:
        word = "ahead" if found.mean > 0 else "behind"
    text = f"{word}: {scale * found.mean:+.{digits}f}"
    if found.standard_error is not None:
        text += f" ± {scale * found.standard_error:.{digits}f}"
    return text if p is None else f"{text} ({rounded(p)})"


def disentangling(results: dict, dataset: str = "sprites/all_frames") -> str:
    """Returns where the F-statistic loss stands against each searched method.

    Args:
        results: Winners of disentangling by recipe and data set.
        dataset: Name of the data set.
    """
    rows = winners.disentangled(results, dataset)
    rows |= winners.former_disentangled(dataset)
    ours = rows.pop(OURS)
    ratio = ratio_of_test_to_train(ours["config"])
    networks = untrained_networks.load()[dataset]
    rivals = {
        name: [
            of_folds.by_fold(other, f"test.{measure}") for measure in COMPARED
        ]
        for name, other in rows.items()
    }
    rivals["mean of ten untrained networks"] = [
        untrained_networks.of_mean_network(networks, measure)
        for measure in COMPARED
    ]
    lines = []
    for name, numbers in rivals.items():
        cells = [
            standing(
                of_folds.by_fold(ours, f"test.{measure}"), theirs, ratio, 1, 3
            )
            for measure, theirs in zip(COMPARED, numbers, strict=True)
        ]
        lines.append([name, *cells])
    return _table(["F-statistic against", *COMPARED.values()], lines)


def retrieval(before: dict, after: dict) -> str:
    """Returns where the F-statistic loss stands in recall@1, in points.

    Args:
        before: Results of losses before a search, as `of_folds.load`.
        after: The same of the winners.
    """
    columns = {}
    for dataset, title in RETRIEVAL.items():
        rows = of_folds.rankings(
            of_folds.retrieved(after, dataset, winners.RETRIEVING)
            | winners.former_retrieved(dataset)
        )
        if OURS in rows:
            columns[title] = (
                rows,
                of_folds.rankings(of_folds.retrieved(before, dataset)),
            )
    losses = [*dict.fromkeys(n for rows, _ in columns.values() for n in rows)]
    recipes = {
        loss: loss.removesuffix(f", {winners.FORMER_WINNER}") for loss in losses
    } | {winners.WIDE_WINNER: WIDE_RECIPE}
    every_ours = (OURS, f"{OURS}, {winners.FORMER_WINNER}", winners.WIDE_WINNER)
    lines = []
    for ours in every_ours:
        if ours not in losses:
            continue
        lines.append(
            [f"{ours}, recall@1 in %"]
            + [
                f"{_mean(rows[ours]):.1f}" if ours in rows else ""
                for rows, _ in columns.values()
            ]
        )
        rivals = [loss for loss in losses if loss not in every_ours]
        rivals += [OURS] * (ours != OURS)
        lines += [
            [f"{ours} against {loss}"]
            + [_against(rows, ours, rows, loss) for rows, _ in columns.values()]
            for loss in rivals
        ]
    lines += [
        [f"{loss}: the winner against the recipe's values"]
        + [
            _against(rows, loss, old, recipes[loss])
            for rows, old in columns.values()
        ]
        for loss in losses
    ]
    return _table(["", *columns], [line for line in lines if any(line[1:])])


def _against(rows: dict, name: str, others: dict, other: str) -> str:
    """Where a row stands against another; nothing if one was not run."""
    if name not in rows or other not in others:
        return ""
    first, second = (
        of_folds.by_fold(results, f"{ranking}.recall_at_1")
        for results, ranking in (rows[name], others[other])
    )
    ratio = ratio_of_test_to_train(rows[name][0]["config"])
    return standing(first, second, ratio, 100, 1)


def _mean(row: tuple[dict, str]) -> float:
    results, ranking = row
    found = of_folds.values(results, f"{ranking}.recall_at_1")
    return 100 * statistics.fmean(found)


def _table(headings: list[str], lines: list[list[str]]) -> str:
    rule = ["---", *["---:"] * (len(headings) - 1)]
    return "\n".join(
        f"| {' | '.join(row)} |" for row in (headings, rule, *lines)
    )


def tables() -> dict[str, str]:
    """Returns the text of the tables by name."""
    found = winners.load()
    parts = {
        name: of_folds.together(winners.of_evaluation(found, name))
        for name in ("disentanglement", "retrieval")
    }
    disentangled = parts["disentanglement"]
    return {
        "disentangling": disentangling(disentangled),
        "disentangling, weapon visible": disentangling(
            disentangled, "sprites/weapon_visible"
        ),
        "retrieval": retrieval(of_folds.load(), parts["retrieval"]),
    }


def marks(name: str) -> tuple[str, str]:
    """Returns the lines of the page before and after a table."""
    mark = f"<!-- answers, {name}"
    return f"{mark}: begin -->", f"{mark}: end -->"


def main() -> None:
    collect_folders(__doc__, "collect them with tools.equal_budgets_table")
    for name, text in tables().items():
        write_between(PAGE, *marks(name), f"\n{text}\n")
    print("wrote", PAGE.relative_to(ROOT))


if __name__ == "__main__":
    main()
