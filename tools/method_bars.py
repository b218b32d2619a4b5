"""Draws the bars of Figure 6, with within-subject error bars.

    python -m tools.method_bars

Each bar is the mean accuracy over the four tasks of a table of Scott, Ridgeway
& Mozer 2019: shots and classes of Omniglot, digits and dimensions of n-digit
numbers. All methods have the same tasks, so error bars follow Masson & Loftus
2003. Everything comes from result files; run `tools.n_digit_table` and
`tools.omniglot_table` first. A panel with fewer than two complete methods is
left out.
"""

import statistics

from tools import n_digit_grid
from tools import n_digit_table
from tools import omniglot_table
from tools.generated_text import NOT_RUN
from tools.generated_text import ROOT
from tools.generated_text import remake_page
from tools.n_digit_grid import CONDITIONS
from tools.n_digit_grid import EPISODES
from tools.n_digit_grid import choose
from tools.n_digit_grid import values

PAGE = ROOT / "docs" / "results" / "prototypes.md"
BEGIN, END = "<!-- method bars: begin -->", "<!-- method bars: end -->"
TITLES = {
    "omniglot": "Omniglot, 2 dimensions: 1 and 5 supports, 5 and 20 classes",
    "n_digit_seen": "Seen numbers: 2 and 3 digits, 2 and 3 dimensions",
    "n_digit_unseen": "Unseen numbers: 2 and 3 digits, 2 and 3 dimensions",
}

# Words of the legend for the short names of the tables.
LEGEND = {
    "SPE": "stochastic\nprototypes (SPE)",
    "PN": "prototypical\nnetworks (PN)",
    "HIB": "hedged instance\nembeddings (HIB)",
}


def load() -> dict[str, dict]:
    """Returns, by panel, condition and method, accuracies of the tasks."""
    panels = {"omniglot": _omniglot(omniglot_table.load())}
    runs = n_digit_table.every_run()
    for split in n_digit_grid.SPLITS:
        panels[f"n_digit_{split.removeprefix('test_')}"] = _n_digit(runs, split)
    return complete(panels)


def complete(panels: dict[str, dict]) -> dict[str, dict]:
    """Keeps methods with all tasks, and panels with two of them."""
    found = {
        panel: {
            condition: {
                method: [*map(statistics.mean, tasks)]
                for method, tasks in methods.items()
                if all(tasks)
            }
            for condition, methods in conditions.items()
        }
        for panel, conditions in panels.items()
    }
    return {
        panel: conditions
        for panel, conditions in found.items()
        if min(map(len, conditions.values())) > 1
    }


def _omniglot(results) -> dict:
    return {
        condition: {
            name: [
                values(
                    choose(
                        omniglot_table.recipe(supports, method, condition),
                        results,
                    ),
                    omniglot_table.split(supports, classes),
                    condition,
                    EPISODES,
                )
                for supports, classes in omniglot_table.COLUMNS
            ]
            # In one order, so that a method has one colour.
            for method, name in n_digit_grid.METHODS.items()
            if method in omniglot_table.METHODS
        }
        for condition in CONDITIONS
    }


def _n_digit(results, split: str) -> dict:
    return {
        condition: {
            name: [
                values(
                    choose(f"n_digit_{n}_dim_{dim}_{method}", results),
                    split,
                    condition,
                    n_digit_grid.published_rule(method),
                )
                for n, dim in n_digit_grid.SHAPES
            ]
            for method, name in n_digit_grid.METHODS.items()
        }
        for condition in CONDITIONS
    }


def text(found: dict[str, dict]) -> str:
    """Returns the Markdown between the marks."""
    if not found:
        return NOT_RUN
    lines = []
    for panel in found:
        lines += [
            f"![{TITLES[panel]}](../figures/{_name(panel)}.png)",
            "",
        ]
    return "\n".join(lines).rstrip()


def figures(found: dict[str, dict]) -> dict:
    """Returns the figures by file name."""
    from embeddings_tf import viz

    return {
        _name(panel): viz.within_subject_bars_figure(
            {
                condition.replace("_", " "): {
                    LEGEND.get(name, name): of for name, of in methods.items()
                }
                for condition, methods in conditions.items()
            },
            "accuracy, %",
            title=TITLES[panel],
        )
        for panel, conditions in found.items()
    }


def _name(panel: str) -> str:
    return f"prototypes_bars_{panel}"


def main() -> None:
    collect = "collect it with tools.n_digit_table or tools.omniglot_table"
    remake_page(__doc__, collect, load, PAGE, (BEGIN, END), text, figures)


if __name__ == "__main__":
    main()
