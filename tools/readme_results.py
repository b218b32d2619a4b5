"""Writes the results in the README, from `docs/results/results.csv`.

    python -m tools.readme_results

Run it after `tools.results_csv`.
"""

import csv
import re
import statistics

from tools import results_csv
from tools.generated_text import ROOT
from tools.generated_text import write_between

PAGE = ROOT / "README.md"
BEGIN, END = "<!-- results: begin -->", "<!-- results: end -->"
PROTOCOL = "rate 0.003, 8000 episodes"  # of SPE on numbers
PAPERS = {
    "https://arxiv.org/abs/1909.11702": "stochastic prototypes",
    "https://arxiv.org/abs/1802.05312": "the F-statistic loss",
    "https://arxiv.org/abs/2002.09469": "the learned distance",
}
CLAIMS = ROOT / "docs" / "results" / "reproduced.md"
# Recipes and scores that are compared, alike except for the method.
ERRORS = {
    "speakers (AN4), trained with a classifier": (
        ("an4_learned_distance", "learned_distance"),
        ("an4_triplet_classifier", "plda"),
    ),
    "handwritten characters, without": (
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
    own, other, untrained = (
        _one(rows, recipe, "folds", f"{split}.modularity", "sprites/all_frames")
        for recipe, split in (
            ("sprites_f_statistic", "test"),
            ("sprites_triplet", "test"),
            ("sprites_f_statistic", "test_untrained"),
        )
    )
    lines.append(
        f"| F-statistic loss | modularity, game characters | {own:.2f} | "
        f"{other:.2f}, our triplet loss; {untrained:.2f}, no training |"
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
    return "\n".join([*claims(), "", *lines])


def claims() -> list[str]:
    """Counts the verdicts on the claims of the papers."""
    text = CLAIMS.read_text(encoding="utf-8")
    held, in_part, total = {}, 0, 0
    for link, method in PAPERS.items():
        of_paper = text.partition(f"({link})")[2].partition("end -->")[0]
        verdicts = re.findall(r"(?m)^\| [^|]+ \| \*\*([^*]+)\*\*", of_paper)
        verdicts = [v for v in verdicts if v != "no experiment"]
        held[method] = sum(v.startswith("reproduced") for v in verdicts)
        in_part += sum(v.startswith("in part") for v in verdicts)
        total += len(verdicts)
    most = max(held, key=held.__getitem__)
    return [
        f"Of {total} claims in the papers, {sum(held.values())} are reproduced "
        f"[in our runs](docs/results/reproduced.md) ({held[most]} of them "
        f"about {most}), and {in_part} are reproduced in part. The others are "
        "undecided or were not run, some for lack of data."
    ]


def _accuracy(rows: list[dict], experiment: str, data: str) -> str:
    """The mean accuracy of stochastic prototypes over published tasks."""
    chosen = [
        row
        for row in rows
        if row["experiment"] == experiment
        and row["published"]
        and "stochastic_prototypes" in row["recipe"]
        and (experiment != "n_digit" or row["protocol"] == PROTOCOL)
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
