"""Result files of studies, which measure a trained run in another way.

The evaluation of a recipe does not measure these numbers: for example the
promises of thresholds, or the ranks of losses. A random search is a study, too.
A rerun of a study is a file with the same name in another folder, such as
another checkout.
"""

import pathlib

from tools import comparison_table
from tools import out_of_distribution_table
from tools import search_table
from tools.rerun_command import rerun_command
from trainers.workdirs.numbers_by_name import numbers_by_name

# Folders of benchmarks/results, and the tool that measures a trained run.
OF_TRAINED = {
    "accepted": "accepted_answers",
    "hue_noise": "hue_noise_study",
    "open_set": "served_open_set",
    "trust": "trust_study",
}
# Studies that also need the evaluation of the run.
OF_EVALUATED = {
    "loss_ranks": "loss_rank_study",
    "novelty_weight": "novelty_weight_study",
    "wrong_neighbours": "wrong_neighbours_study",
}
OTHERS = {
    "searches": lambda name, search: search_table.command(
        search["recipe"], search, len(search["trials"]), f"runs/{name}"
    ),
    "comparisons": comparison_table.command,
    "out_of_distribution": lambda _, run: out_of_distribution_table.command(
        run
    ),
}
FOLDERS = sorted([*OF_TRAINED, *OF_EVALUATED, *OTHERS])
# The section with what was measured; without it, the whole file.
SECTIONS = ("study", out_of_distribution_table.SECTION)
# Sections about the making of a file; their numbers are not compared.
ABOUT = (
    "budgets",
    "config",
    "cores",
    "load",
    "protocol",
    "seconds",
    "settings",
    "training",
)


def is_study(path: pathlib.Path) -> bool:
    """Whether a result file is one of a study."""
    return path.parent.name in FOLDERS


def measured(content: dict) -> dict:
    """Returns the section with what was measured."""
    for name in SECTIONS:
        if name in content:
            return content[name]
    return content


def numbers(content: dict) -> dict[str, float]:
    """Returns the measured numbers by dotted name, also numbers in lists.

    The numbers of a search are the objectives of its trials.
    """
    if is_search(content):
        return {
            f"trials.{row['trial']}.objective": row["objective"]
            for row in content["trials"]
            if row.get("objective") is not None  # a failed trial has none
        }
    found = {n: v for n, v in measured(content).items() if n not in ABOUT}
    return numbers_by_name(_without_lists(found))


def is_search(content: dict) -> bool:
    """Whether the content is of a random search."""
    return "search_seed" in content


def drawn(search: dict) -> dict:
    """Returns what a search and its repetition share."""
    names = (
        "recipe",
        "space",
        "objective",
        "direction",
        "search_seed",
        "seed",
        "overrides",
    )
    return {
        **{name: search[name] for name in names},
        "values": {row["trial"]: row["values"] for row in search["trials"]},
    }


def command(path: pathlib.Path, content: dict) -> str:
    """Returns one shell line that repeats a study."""
    folder = path.parent.name
    if folder in OTHERS:
        return OTHERS[folder](path.stem, content)
    workdir = f"runs/{path.stem}"
    line = rerun_command(content["recipe"], content["config"], workdir)
    tool = OF_EVALUATED.get(folder)
    if tool is None:
        line, tool = line.rpartition(" && ")[0], OF_TRAINED[folder]
    return f"{line} && python -m tools.{tool} {workdir}"


def _without_lists(value):
    if isinstance(value, list):
        value = {str(number): of for number, of in enumerate(value)}
    if isinstance(value, dict):
        return {name: _without_lists(of) for name, of in value.items()}
    return value
