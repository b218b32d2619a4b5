"""Writes the results in the README, from `docs/results/results.csv`.

    python -m tools.readme_results

Run it after `tools.results_csv`.
"""

import collections
import csv
import re
import statistics

from tools import cross_validation_results as folds
from tools import equal_budgets_results as winners
from tools import n_digit_grid
from tools import n_digit_table
from tools import omniglot_table
from tools import results_csv
from tools import untrained_networks
from tools import verification_results
from tools.generated_text import ROOT
from tools.generated_text import write_between
from tools.n_digit_grid import EPISODES
from tools.n_digit_grid import choose
from tools.n_digit_grid import differences
from tools.n_digit_grid import mean_differences
from tools.n_digit_grid import values
from tools.paired_difference import PairedDifference
from tools.paired_difference import means_of_shared_seeds
from tools.paired_difference import of_differences
from tools.paired_difference import paired_difference
from tools.paired_difference import ratio_of_test_to_train
from tools.paired_difference import rounded
from tools.paired_episodes import mean_of_runs
from tools.reproduced_verdicts import NOT_IN_PAPER

PAGE = ROOT / "README.md"
BEGIN, END = "<!-- results: begin -->", "<!-- results: end -->"
PAPERS = {
    "https://arxiv.org/abs/1909.11702": "stochastic prototypes",
    "https://arxiv.org/abs/1802.05312": "the F-statistic loss",
    "https://arxiv.org/abs/2002.09469": "the learned distance",
}
CLAIMS = ROOT / "docs" / "results" / "reproduced.md"
SPE, PN = "stochastic_prototypes", "prototypical"
# Methods of verification that are compared, alike except for the method,
# whether their values were searched, and the method that the pages advise.
VERIFIED = {
    "speakers (AN4); both with a classifier; equal searches": (
        *("an4", "learned distance", "triplet and classifier", True, None),
    ),
    "handwritten characters; both without a classifier; values not searched": (
        *("omniglot", "learned distance, no classifier", "triplet", False),
        "lifted structure, together with the distance",
    ),
}
# Of these scores of embeddings, the one with the least error is the rival's.
RIVAL_SCORES = ("cosine", "cosine_as_norm", "plda")
SPRITES = "sprites/all_frames"
RIVALS = {
    "sprites_histogram": "our histogram loss",
    "sprites_triplet": "our triplet loss",
    "sprites_beta_vae": "our beta-VAE",
}
LEGEND = (
    "Below, p compares ours with every other number that we measured, over "
    "folds of the data or seeds. With one seed, p is over test episodes, and "
    "says nothing about another training. "
    "[What the words mean](docs/index.md#words)."
)


def found() -> list[dict]:
    """Returns the lines of the file."""
    with results_csv.FILE.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def table(rows: list[dict]) -> str:
    numbers, characters = n_digit_table.every_run(), omniglot_table.load()
    lines = [
        "| method | measured | ours | compared with | how sure |",
        "|---|---|---:|---|---|",
        _accuracy(
            rows, "n_digit", "numbers of 2 and 3 digits", _cells(numbers)
        ),
        _accuracy(
            rows,
            "omniglot",
            "handwritten characters",
            _cells_of_characters(characters),
        ),
        _disentangling(),
        *(_error(data, *pair) for data, pair in VERIFIED.items()),
    ]
    return "\n".join([f"{claims()} {LEGEND}", "", *lines])


def claims() -> str:
    """Counts the verdicts on the claims of the papers."""
    text = CLAIMS.read_text(encoding="utf-8")
    held, others, one_seed = {}, collections.Counter(), 0
    for link, method in PAPERS.items():
        of_paper = text.partition(f"({link})")[2].partition("end -->")[0]
        verdicts = [
            verdict
            for verdict in re.findall(
                r"(?m)^\| [^|]+ \| \*\*([^*]+)\*\*", of_paper
            )
            if not verdict.startswith(NOT_IN_PAPER)
        ]
        kinds = [verdict.partition(",")[0] for verdict in verdicts]
        held[method] = kinds.count("reproduced")
        others.update(kinds)
        one_seed += sum(v.startswith("reproduced, one") for v in verdicts)
    most = max(held, key=held.__getitem__)
    others.pop("no experiment", 0)
    total = others.total()
    reproduced, in_part = (others.pop(k, 0) for k in ("reproduced", "in part"))
    rest = [f"{count} {kind}" for kind, count in others.most_common()]
    return (
        f"The papers make [{total} claims](docs/results/reproduced.md): "
        f"{reproduced} are reproduced in our runs "
        f"({held[most]} of them about {most}; {one_seed} with one training "
        f"only), {in_part} in part, {', '.join(rest)}."
    )


def _cells(runs: list[dict]) -> list[tuple]:
    """Runs of both methods, split and condition of each published task."""
    return [
        (
            *(
                choose(f"n_digit_{n}_dim_{dim}_{method}", runs)
                for method in (SPE, PN)
            ),
            split,
            condition,
        )
        for n, dim in n_digit_grid.SHAPES
        for split, condition in n_digit_grid.CELLS
    ]


def _cells_of_characters(runs: list[dict]) -> list[tuple]:
    """The same of characters."""
    return [
        (
            *(
                choose(
                    omniglot_table.recipe(column[0], method, condition), runs
                )
                for method in (SPE, PN)
            ),
            omniglot_table.split(*column),
            condition,
        )
        for column in omniglot_table.COLUMNS
        for condition in n_digit_grid.CONDITIONS
    ]


def _accuracy(
    rows: list[dict], experiment: str, data: str, cells: list[tuple]
) -> str:
    """Mean accuracies of stochastic prototypes and prototypical networks.

    Raises:
        ValueError: If a published task was not run, or the file has other
            runs of it.
    """
    ours, theirs = (
        statistics.fmean(
            statistics.fmean(values(cell[place], *cell[2:], EPISODES))
            for cell in cells
        )
        for place in (0, 1)
    )
    published = {
        (row["recipe"], row["number"]): float(row["published"])
        for row in rows
        if row["experiment"] == experiment
        and row["published"]
        and SPE in row["recipe"]
    }
    if len(published) != len(cells):
        raise ValueError(
            f"{results_csv.FILE} has {len(published)} published tasks of "
            f"{experiment}; expected {len(cells)}. Run tools.results_csv"
        )
    means = mean_differences([differences(*cell) for cell in cells])
    test = mean_of_runs(cells) or of_differences(means)
    return (
        f"| stochastic prototypes | accuracy, {data}, {len(cells)} tasks "
        f"| {ours:.1f} % | {100 * statistics.fmean(published.values()):.1f} %, "
        f"published; {theirs:.1f} %, our prototypical networks | "
        f"{_p(test)} for the mean of the tasks, "
        f"{_seeds(len(means))}{' of both' * (len(means) > 1)} |"
    )


def _disentangling() -> str:
    """The winners of equal searches, and no training."""
    files = winners.of_evaluation(winners.load(), "disentanglement")
    every = folds.together(files)
    ours = every["sprites_f_statistic", SPRITES]
    ratio = ratio_of_test_to_train(ours["config"])
    own = ours, f"test.{folds.SUM}"
    pairs = {
        name: folds.paired(own, (every[recipe, SPRITES], own[1]))
        for recipe, name in RIVALS.items()
    }
    former = winners.former_winners()
    pairs |= {
        f"{name}, {winners.FORMER_WINNER}": folds.paired(
            own, (former[recipe, SPRITES], own[1])
        )
        for recipe, name in RIVALS.items()
        if (recipe, SPRITES) in former
    }
    networks = untrained_networks.load()[SPRITES]
    pairs["no training (mean of ten networks)"] = (
        folds.by_fold(*own),
        untrained_networks.of_mean_network(networks, folds.SUM),
    )
    rivals = [
        f"{statistics.fmean(other.values()):.2f}, {name}"
        for name, (_, other) in pairs.items()
    ]
    tests = [_p(paired_difference(*pair, ratio)) for pair in pairs.values()]
    return (
        "| F-statistic loss | modularity, corrected for chance, + explicitness "
        "(at most 2), game characters; equal searches | "
        f"{statistics.fmean(folds.values(*own)):.2f} | "
        f"{'; '.join(rivals)} | {'; '.join(tests)} |"
    )


def _error(
    data: str,
    dataset: str,
    ours: str,
    rival: str,
    searched: bool,
    advised: str | None,
) -> str:
    """The learned distance beside the best score of the triplet loss."""
    every = (
        winners.verified(winners.load())
        if searched
        else verification_results.load()
    )
    protocol = verification_results.FOLDS
    rows = verification_results.rows(every, dataset, protocol)
    ours = ours, verification_results.SCORES["learned_distance"]

    def numbers_beside(theirs):
        return verification_results.paired_numbers(
            rows[ours], rows[theirs], "equal_error_rate"
        )

    theirs = min(
        (
            (rival, verification_results.SCORES[score])
            for score in RIVAL_SCORES
            if (rival, verification_results.SCORES[score]) in rows
        ),
        key=lambda each: statistics.fmean(numbers_beside(each)[1].values()),
    )
    key = next(key for key in every if key[:2] == (dataset, protocol))
    ratio = ratio_of_test_to_train(next(iter(every[key].values()))["config"])
    others = {theirs: f"our triplet loss by {theirs[1]}, its best score"}
    if advised is not None:
        others[advised, ours[1]] = "trained together with lifted structure"
    said, tests = [], []
    for which, words in others.items():
        pair = numbers_beside(which)
        own, other = (100 * statistics.fmean(each.values()) for each in pair)
        said.append(f"{other:.1f} %, {words}")
        numbers = (
            {
                run: found["equal_error_rate"]
                for run, found in rows[each].items()
            }
            for each in (ours, which)
        )
        by_seed = means_of_shared_seeds(*numbers, key=1)
        sure = f"{_p(paired_difference(*pair, ratio))} over folds"
        if len(by_seed[0]) > 1:
            p = _p(paired_difference(*by_seed))
            sure += f", {p} over {len(by_seed[0])} seeds"
        else:
            sure += ", one seed"
        tests.append(sure)
    return (
        f"| learned distance | equal error rate, {data} | {own:.1f} % "
        f"| {'; '.join(said)} | {'; '.join(tests)} |"
    )


def _p(found: PairedDifference) -> str:
    """The p-value, corrected for folds that share training data."""
    p = found.p if found.p_corrected is None else found.p_corrected
    return f"p {rounded(p)}"


def _seeds(number: int) -> str:
    return "one seed" if number == 1 else f"{number} seeds"


def main() -> None:
    write_between(PAGE, BEGIN, END, table(found()))
    print(PAGE)


if __name__ == "__main__":
    main()
