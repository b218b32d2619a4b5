"""Writes what was reproduced of the F-statistic loss and the learned distance.

    python -m tools.reproduced_table

Every number in these two tables of `docs/results/reproduced.md` comes from the
result files in `benchmarks/results`.
"""

from tools import cross_validation_results as folds
from tools import equal_budgets_results as winners
from tools import verification_results as trials
from tools.claims import claims_table
from tools.generated_text import ROOT
from tools.generated_text import write_between
from tools.reproduced_f_statistic import f_statistic_rows
from tools.reproduced_learned_distance import learned_distance_rows
from tools.reproduced_verdicts import PARTS

PAGE = ROOT / "docs" / "results" / "reproduced.md"
MARKS = {
    name: (f"<!-- {name}: begin -->", f"<!-- {name}: end -->")
    for name in ("F-statistic", "learned distance")
}


def table(rows: list[tuple]) -> str:
    """Returns Markdown of `(what, verdict, our numbers, what it takes)`."""
    for what, verdict, *_ in rows:
        if verdict not in PARTS:
            raise ValueError(f"{what}: received the verdict {verdict!r}")
    return claims_table(
        [(what, ours, verdict, takes) for what, verdict, ours, takes in rows]
    )


def searched_results() -> dict:
    """Returns the winners of equal searches, as `folds.load` does.

    The recipe of a former winner ends with `_former_winner`.
    """
    every = winners.load()
    former = {
        (f"{recipe}_former_winner", dataset): results
        for (recipe, dataset), results in winners.former_winners().items()
    }
    return former | folds.together(
        winners.of_evaluation(every, "disentanglement")
        | winners.of_evaluation(every, "retrieval")
    )


def tables() -> dict[str, str]:
    """Returns the text of both tables by name."""
    pairs = trials.load(), winners.verified(winners.load())
    return {
        "F-statistic": table(
            f_statistic_rows(folds.load(), searched_results())
        ),
        "learned distance": table(learned_distance_rows(*pairs)),
    }


def main() -> None:
    for name, text in tables().items():
        write_between(PAGE, *MARKS[name], text)
    print(f"wrote {PAGE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
