"""Makes the table of validation numbers at checkpoints and at the end.

A run keeps the checkpoint whose validation number is best. For a reader who
asks whether methods differ, or their checkpoints, the table has the numbers
there and after the last batch.
"""

import statistics
from collections.abc import Mapping

from tools import cross_validation_results as of_folds
from tools.paired_difference import as_cell
from tools.paired_difference import paired_difference
from tools.paired_difference import ratio_of_test_to_train

NUMBERS = {
    "val_modularity": "modularity",
    "val_explicitness": "explicitness",
    "val_corrected_modularity_plus_explicitness": "corrected + explicitness",
}


def checkpoint_table(rows: Mapping[str, Mapping], ours: str) -> list[str]:
    """Returns the lines of the table.

    Args:
        rows: Results over folds of each method; the first seed counts.
        ours: The method whose difference to the others is tested after the
            last batch.
    """
    numbers = {
        number: title
        for number, title in NUMBERS.items()
        if all(_is_known(results, number) for results in rows.values())
    }
    heads = ["method", "folds"]
    for title in numbers.values():
        heads += [title, "after the last batch", f"{ours} minus it"]
    marks = "|---" + "|---:" * (len(heads) - 1) + "|"
    lines = [f"| {' | '.join(heads)} |", marks]
    ratio = ratio_of_test_to_train(rows[ours]["config"], "validation")
    for name, results in rows.items():
        cells = [name, ", ".join(results["folds"])]
        for number in numbers:
            there = _numbers(results, number, at_checkpoint=True)
            last = _numbers(results, number, at_checkpoint=False)
            cells += [f"{_mean(there):.3f}", f"{_mean(last):.3f}"]
            other = _numbers(rows[ours], number, at_checkpoint=False)
            difference = paired_difference(other, last, ratio)
            cells.append("" if name == ours else as_cell(difference, 3))
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _is_known(results: Mapping, number: str) -> bool:
    runs = of_folds.runs_of(results)
    return all(number in run["training"]["history"][-1] for run in runs)


def _numbers(results: Mapping, number: str, at_checkpoint: bool) -> dict:
    """A number of the validation classes, by fold."""
    found = {}
    for fold, (run, *_) in results["folds"].items():
        training = run["training"]
        # Epochs count from 1, entries of the history from 0.
        entry = training["best_epoch"] - 1 if at_checkpoint else -1
        found[fold] = training["history"][entry][number]
    return found


def _mean(numbers: Mapping[str, float]) -> float:
    return statistics.fmean(numbers.values())
