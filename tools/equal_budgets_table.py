"""Writes the tables of winners of searches with equal budgets.

    python -m tools.equal_budgets_table [FOLDER ...]

A FOLDER is a workdir of `tuning.winner`. The script first copies its numbers to
`benchmarks/results/equal_budgets`. From these files it then makes the tables of
`docs/results/equal_budgets.md`, and their figures. It refuses tables whose
methods had different budgets.
"""

from tools import cross_validation_results as of_folds
from tools import cross_validation_table
from tools import equal_budgets_results as winners
from tools import verification_results as of_pairs
from tools import verification_table
from tools.equal_budgets_results import collect
from tools.equal_budgets_results import load
from tools.generated_text import NOT_RUN
from tools.generated_text import ROOT
from tools.generated_text import remake_page

PAGE = ROOT / "docs" / "results" / "equal_budgets.md"
BEGIN, END = "<!-- equal budgets: begin -->", "<!-- equal budgets: end -->"


def table(found: dict) -> str:
    """Returns the Markdown between the marks."""
    parts = []
    for dataset, title, rows in _disentangled(found):
        parts += ["", f"### {title}: disentangling", ""]
        parts += _searches(found, rows, dataset)
        parts += cross_validation_table.disentangling(rows)
        parts += ["", _picture(dataset, "plane")]
    for dataset, title, rows in _retrieved(found):
        parts += ["", f"### {title}: recall of held-out classes, %", ""]
        parts += _searches(found, rows, dataset)
        parts += cross_validation_table.retrieval(rows)
        parts += ["", _picture(dataset, "recall")]
    runs = winners.verified(found)
    for dataset, protocol in dict.fromkeys(key[:2] for key in runs):
        of_data = verification_table.runs_of(runs, dataset, protocol)
        recipes = {
            of_pairs.method_of(key[2]): {"recipe": key[2]}
            for key, *_ in of_data
        }
        measured = of_pairs.rows(runs, dataset, protocol)
        parts += ["", f"### {of_pairs.title_of(dataset, protocol)}", ""]
        parts += _searches(found, recipes, dataset)
        parts += verification_table.measured_table(measured, of_data)
        parts += ["", _picture(dataset, "eer")]
    return "\n".join(parts) if parts else NOT_RUN


def figures(found: dict) -> dict:
    """Draws the figures of all tables; returns them by file name."""
    from tools.cross_validation_figures import plane_figure
    from tools.cross_validation_figures import recall_figure
    from tools.verification_figures import error_figure

    drawn = {}
    for dataset, title, rows in _disentangled(found):
        drawn[_name(dataset, "plane")] = plane_figure(rows, title)
    for dataset, title, rows in _retrieved(found):
        drawn[_name(dataset, "recall")] = recall_figure(rows, title)
    runs = winners.verified(found)
    for dataset, protocol in dict.fromkeys(key[:2] for key in runs):
        drawn[_name(dataset, "eer")] = error_figure(
            of_pairs.rows(runs, dataset, protocol),
            of_pairs.title_of(dataset, protocol),
        )
    return drawn


def _disentangled(found: dict):
    files = winners.of_evaluation(found, "disentanglement")
    results = of_folds.together(files)
    for dataset, title in of_folds.DISENTANGLING.items():
        rows = {
            name: results[recipe, dataset]
            for recipe, name in winners.DISENTANGLING.items()
            if (recipe, dataset) in results
        }
        if rows:
            yield dataset, title, rows


def _retrieved(found: dict):
    results = of_folds.together(winners.of_evaluation(found, "retrieval"))
    for dataset, title in of_folds.RETRIEVAL.items():
        if rows := of_folds.retrieved(results, dataset):
            yield dataset, title, rows


def _searches(found: dict, rows: dict[str, dict], dataset: str) -> list[str]:
    """The search of each row of a table, in a table of its own."""
    names = {results["recipe"]: name for name, results in rows.items()}
    searches = winners.searches(found, [*names], dataset)
    first = next(iter(searches.values()))
    lines = [
        f"{first['trials']} trials each over `{first['space']}`, "
        f"{first['trial_batches']:,} batches a trial, chosen by "
        f"`{first['objective']}` on fold 0; {first['batches']:,} batches for "
        "each winner.",
        "",
        "| winner | of the search | values |",
        "|---|---:|---|",
    ]
    for recipe, search in searches.items():
        values = ", ".join(
            f"{name} {value:.3g}" if isinstance(value, float) else
            f"{name} {value}"
            for name, value in search["values"].items()
        )  # fmt: skip
        lines.append(
            f"| {names[recipe]} | {search['objective_value']:.4f} | {values} |"
        )
    return [*lines, ""]


def _name(dataset: str, what: str) -> str:
    return f"equal_budgets_{dataset.replace('/', '_')}_{what}"


def _picture(dataset: str, what: str) -> str:
    return f"![{what}](../figures/{_name(dataset, what)}.png)"


def main() -> None:
    remake_page(__doc__, collect, load, PAGE, (BEGIN, END), table, figures)


if __name__ == "__main__":
    main()
