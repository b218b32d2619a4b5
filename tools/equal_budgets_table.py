"""Writes the tables of winners of searches with equal budgets.

    python -m tools.equal_budgets_table [FOLDER ...]

A FOLDER is a workdir of `tuning.winner`. The script first copies its numbers to
`benchmarks/results/equal_budgets`. From these files it then makes the tables of
`docs/results/equal_budgets.md`, and their figures. It refuses tables whose
methods had different budgets.
"""

import collections
import statistics

from tools import cross_validation_results as of_folds
from tools import cross_validation_table
from tools import equal_budgets_results as winners
from tools import search_table
from tools import untrained_networks
from tools import verification_results as of_pairs
from tools import verification_table
from tools.checkpoint_table import checkpoint_table
from tools.equal_budgets_results import collect
from tools.equal_budgets_results import load
from tools.generated_text import NOT_RUN
from tools.generated_text import ROOT
from tools.generated_text import remake_page
from tools.paired_difference import LEGENDS
from tools.paired_difference import difference_table
from tools.paired_difference import ratio_of_test_to_train
from tools.rerun_command import command_lines
from tools.verification_questions import SPEAKERS
from tools.verification_questions import answers
from trainers.config import load_recipe
from trainers.workdirs.workdir import as_json

PAGE = ROOT / "docs" / "results" / "equal_budgets.md"
OURS = of_folds.LOSSES["f_statistic"]
# The encoder of the paper's retrieval, with the values of the recipe.
WIDE_RECIPE = f"{OURS}, 70 of 500 dimensions"
BEFORE = (
    "Before the search are the rows of [disentangling and retrieval]"
    "(sprites_and_omniglot.md), which have their own numbers of batches. The "
    "rival is the loss with the highest mean recall@1."
)
BEGIN, END = "<!-- equal budgets: begin -->", "<!-- equal budgets: end -->"


def table(found: dict) -> str:
    """Returns the Markdown between the marks."""
    parts = []
    for dataset, title, rows in _disentangled(found):
        parts += ["", f"### {title}: disentangling", ""]
        parts += _searches(found, rows, dataset)
        every = rows | winners.former_disentangled(dataset)
        parts += cross_validation_table.disentangling(every)
        parts += _untrained(dataset, rows)
        parts += _checkpoints(title, every)
        parts += ["", _picture(dataset, "plane")]
    for dataset, title, rows in _retrieved(found):
        parts += ["", f"### {title}: recall of held-out classes, %", ""]
        parts += _searches(found, rows, dataset)
        parts += cross_validation_table.retrieval(
            rows | winners.former_retrieved(dataset)
        )
        parts += gap(of_folds.retrieved(of_folds.load(), dataset), rows)
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
        config = next(iter(of_data.values()))["config"]
        parts += [answers(measured, config, SPEAKERS), ""]
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
        every = rows | winners.former_disentangled(dataset)
        drawn[_name(dataset, "plane")] = plane_figure(every, title)
    for dataset, title, rows in _retrieved(found):
        every = rows | winners.former_retrieved(dataset)
        drawn[_name(dataset, "recall")] = recall_figure(every, title)
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
        rows = winners.disentangled(results, dataset)
        if rows:
            yield dataset, title, rows


def _untrained(dataset: str, rows: dict[str, dict]) -> list[str]:
    """Untrained networks of several seeds beside the F-statistic loss."""
    networks = untrained_networks.load()
    if OURS not in rows or dataset not in networks:
        return []
    return [
        "",
        "Untrained networks of several seeds:",
        "",
        *untrained_networks.tables(
            {dataset: networks[dataset]}, {dataset: rows[OURS]}
        ),
    ]


def _checkpoints(title: str, rows: dict[str, dict]) -> list[str]:
    """From which batches the checkpoints are, beside the F-statistic loss."""
    if OURS not in rows:
        return []
    return [
        "",
        f"#### {title}: after the last batch",
        "",
        "The checkpoint of a run has the largest sum on the validation "
        "classes. The same networks on these classes, there and after the "
        "last batch:",
        "",
        *checkpoint_table(rows, OURS),
        "",
        f"{LEGENDS['folds']} These numbers are of validation classes, so the "
        "correction uses their number, not the number of test classes.",
    ]


def _retrieved(found: dict):
    results = of_folds.together(winners.of_evaluation(found, "retrieval"))
    for dataset, title in of_folds.RETRIEVAL.items():
        rows = of_folds.retrieved(results, dataset, winners.RETRIEVING)
        if rows:
            yield dataset, title, rows


def _searches(found: dict, rows: dict[str, dict], dataset: str) -> list[str]:
    """The search of each row of a table, in a table of its own."""
    names = {results["recipe"]: name for name, results in rows.items()}
    searches = winners.searches(found, [*names], dataset)
    first = next(iter(searches.values()))
    lines = [
        f"{first['trials']} trials each over `{first['space']}`, "
        f"{first['trial_batches']:,} batches a trial, chosen by "
        f"`{first['objective']}` on fold 0; `{first['monitor']}` chose the "
        f"epoch of a trial. {first['batches']:,} batches for each winner. "
        "Trials by best epoch: how many had their best score after the first "
        "epoch, after the second, and so on; trials that ended with an error "
        "are left out.",
        "",
        "| winner | of the search | checkpoints after batches | values "
        "| trials by best epoch | trials |",
        "|---|---:|---|---|---|---|",
    ]
    commands = {}
    for recipe, search in searches.items():
        name = names[recipe]
        config, folds = winners.run_of(found, recipe, dataset)
        batches = winners.checkpoint_batches(found, recipe, dataset)
        lines.append(
            f"| {name} | {search['objective_value']:.4f} | "
            f"{', '.join(f'{batch:,}' for batch in batches)} | "
            f"{_values(search['values'], config)} | "
            f"{' | '.join(_trials(recipe, search))} |"
        )
        run = recipe + _other_data(recipe, dataset)
        commands[f"{name}, search"] = search_table.command(
            recipe, search, search["trials"], f"runs/search_{run}"
        )
        commands[f"{name}, winner"] = (
            f"python -m tuning.winner --search runs/search_{run} "
            f"--batches {search['batches']} "
            + f"--folds {' '.join(folds)} " * bool(folds)
            + f"--workdir runs/winner_{run}"
        )
    return [*lines, *command_lines(commands), ""]


def _other_data(recipe: str, dataset: str) -> str:
    """A part of a folder's name, unless the data set is the recipe's own."""
    own = of_pairs.data_of(recipe, as_json(load_recipe(recipe)))
    return f"-{dataset.replace('/', '-')}" * (dataset != own)


def _values(drawn: dict, config: dict) -> str:
    """The values of a winner, with the `num_dims` that its share gives."""
    shown = {
        name: f"{value:.3g}" if isinstance(value, float) else str(value)
        for name, value in drawn.items()
    }
    objective = config.get("objective", {})
    loss = config.get("loss") or objective.get("encoder_loss") or {}
    if "share_of_dims" in shown and "num_dims" in loss:
        shown["num_dims"] = f"{loss['num_dims']} of {config['encoder']['dim']}"
    return ", ".join(f"{name} {value}" for name, value in shown.items())


def _trials(recipe: str, search: dict) -> tuple[str, str]:
    """Trials by best epoch and a link to them, or that they were not kept."""
    name = search_table.name_of_kept(recipe, search)
    if name is None:
        return "not kept", "not kept"
    folder = search_table.RESULTS.relative_to(ROOT)
    link = f"[{name}.json](../../{folder}/{name}.json)"
    return _by_best_epoch(search_table.load()[name]["trials"]), link


def _by_best_epoch(trials: list[dict]) -> str:
    """How many trials had their best epoch first, second, and so on."""
    completed = [trial for trial in trials if trial["status"] == "completed"]
    best = collections.Counter(trial["best_epoch"] for trial in completed)
    last = max(trial["epochs"] for trial in completed)
    return ", ".join(str(best[epoch]) for epoch in range(1, last + 1))


def gap(before: dict[str, dict], after: dict[str, dict]) -> list[str]:
    """Returns what the searches changed, and our gap to the best rival.

    Args:
        before: Results of retrieval by loss, without a search.
        after: The same of the winners.
    """
    if OURS not in before or OURS not in after:
        return []
    ks = after[OURS]["config"]["evaluation"]["k"]
    recalls = cross_validation_table.recalls
    rankings_before = of_folds.rankings(before)
    pairs = {
        f"{name}, after minus before": recalls(
            ranking, rankings_before[name], ks
        )
        for name, ranking in of_folds.rankings(after).items()
        if name in rankings_before
    }
    gaps = []
    for when, rows in (("before", before), ("after", after)):
        rivals = [name for name in rows if not name.startswith(OURS)]
        if not rivals:
            return []
        best = max(rivals, key=lambda name: _recall_at_1(rows[name]))
        found = recalls((rows[best], "test"), (rows[OURS], "test"), ks)
        pairs[f"{when}: {best} minus {OURS}"] = found
        gaps.append([_by_fold(*pair) for pair in found])
    pairs["gap before minus gap after"] = [*zip(*gaps, strict=True)]
    if winners.WIDE_WINNER in after:
        wide = recalls(
            (after[best], "test"), (after[winners.WIDE_WINNER], "test"), ks
        )
        pairs[f"gap before minus gap after, {winners.WIDE_WINNER}"] = [
            (of_before, _by_fold(*pair))
            for of_before, pair in zip(gaps[0], wide, strict=True)
        ]
    pairs |= {
        f"after: {best} minus {name}": recalls(
            (after[best], "test"), (results, "test"), ks
        )
        for name, results in after.items()
        if name not in (best, OURS)
    }
    if WIDE_RECIPE in before:
        first = max(
            (name for name in before if not name.startswith(OURS)),
            key=lambda name: _recall_at_1(before[name]),
        )
        pairs[f"before: {first} minus {WIDE_RECIPE}"] = recalls(
            (before[first], "test"), (before[WIDE_RECIPE], "test"), ks
        )
        for name, results in after.items():
            pairs[f"before: {WIDE_RECIPE}, minus after: {name}"] = recalls(
                (before[WIDE_RECIPE], "test"), (results, "test"), ks
            )
    ratio = ratio_of_test_to_train(after[OURS]["config"])
    names = [f"recall@{k}" for k in ks]
    lines = difference_table(None, names, pairs, ratio, 2, 100)
    return [*lines, "", BEFORE]


def _recall_at_1(results: dict) -> float:
    return statistics.fmean(of_folds.values(results, "test.recall_at_1"))


def _by_fold(first: dict, second: dict) -> dict:
    """Differences by fold."""
    return {fold: first[fold] - second[fold] for fold in first}


def _name(dataset: str, what: str) -> str:
    return f"equal_budgets_{dataset.replace('/', '_')}_{what}"


def _picture(dataset: str, what: str) -> str:
    return f"![{what}](../figures/{_name(dataset, what)}.png)"


def main() -> None:
    remake_page(__doc__, collect, load, PAGE, (BEGIN, END), table, figures)


if __name__ == "__main__":
    main()
