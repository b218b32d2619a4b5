"""Writes the results in the README, from `docs/results/results.csv`.

    python -m tools.readme_results

Run it after `tools.results_csv`.
"""

import csv
import statistics

from tools import results_csv
from tools.generated_text import ROOT
from tools.generated_text import write_between

PAGE = ROOT / "README.md"
BEGIN, END = "<!-- results: begin -->", "<!-- results: end -->"
LEARNING_RATE = "rate 0.003"  # of SPE on numbers
# Recipe, data, protocol and number of each error rate.
ERRORS = {
    "speakers (AN4)": (
        ("an4_learned_distance", "learned_distance"),
        ("an4_triplet", "plda"),
    ),
    "characters": (
        ("omniglot_verification_without_classifier", "learned_distance"),
        ("omniglot_verification_triplet", "plda"),
    ),
}


def found() -> list[dict]:
    """Returns the lines of the file."""
    with results_csv.FILE.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def table(rows: list[dict]) -> str:
    lines = [
        "| method | measured | ours | compared with |",
        "|---|---|---:|---|",
        _accuracy(rows, "n_digit", "numbers of 2 and 3 digits"),
        _accuracy(rows, "omniglot", "handwritten characters"),
    ]
    modularity = [
        _one(rows, recipe, "folds", "test.modularity", "sprites/all_frames")
        for recipe in ("sprites_f_statistic", "sprites_triplet")
    ]
    lines.append(
        "| F-statistic loss | modularity, game characters | "
        f"{modularity[0]:.2f} | {modularity[1]:.2f}, our triplet loss |"
    )
    for data, pair in ERRORS.items():
        own, other = (
            100 * _one(rows, recipe, "folds", f"test.{score}.equal_error_rate")
            for recipe, score in pair
        )
        lines.append(
            f"| learned distance | equal error rate, {data} | {own:.1f} % "
            f"| {other:.1f} %, our triplet loss with PLDA |"
        )
    return "\n".join(lines)


def _accuracy(rows: list[dict], experiment: str, data: str) -> str:
    """The mean accuracy of stochastic prototypes over published tasks."""
    chosen = [
        row
        for row in rows
        if row["experiment"] == experiment
        and row["published"]
        and "stochastic_prototypes" in row["recipe"]
        and (
            experiment != "n_digit" or row["protocol"].startswith(LEARNING_RATE)
        )
    ]
    ours, published = (
        100 * statistics.fmean(float(row[column]) for row in chosen)
        for column in ("mean", "published")
    )
    return (
        f"| stochastic prototypes | accuracy, {data}, {len(chosen)} tasks "
        f"| {ours:.1f} % | {published:.1f} %, published |"
    )


def _one(
    rows: list[dict], recipe: str, protocol: str, number: str, data: str = ""
) -> float:
    (row,) = (
        row
        for row in rows
        if row["recipe"] == recipe
        and row["protocol"] == protocol
        and row["number"] == number
        and data in row["data"]
    )
    return float(row["mean"])


def main() -> None:
    write_between(PAGE, BEGIN, END, table(found()))
    print(PAGE)


if __name__ == "__main__":
    main()
