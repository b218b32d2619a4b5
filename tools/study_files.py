"""Result files of studies, which measure a trained run in another way.

The evaluation of a recipe does not measure these numbers: for example the
promises of thresholds, or the ranks of losses. A random search is a study, too.
Most studies have a folder of `benchmarks/results`, with a file for each run.
A rerun of a study is a file with the same name in another folder, such as
another checkout.
"""

import pathlib

from tools import comparison_table
from tools import out_of_distribution_table
from tools import plda_adaptation
from tools import search_table
from tools import untrained_networks
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
# Studies of one file, directly in benchmarks/results, and their commands.
SINGLE = {
    "plda_adaptation": plda_adaptation.command,
    "untrained_networks": untrained_networks.command,
}
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
    return path.parent.name in FOLDERS or path.stem in SINGLE


def table_of(path: pathlib.Path) -> str:
    """Names the group of tables of a study, by its folder or its file."""
    return path.stem if path.stem in SINGLE else path.parent.name


def kept_path(file: pathlib.Path) -> pathlib.PurePath:
    """Returns the path of a study in benchmarks/results."""
    if file.stem in SINGLE:
        return pathlib.PurePath(file.name)
    return pathlib.PurePath(file.parent.name, file.name)


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
    return {
        name: number
        for name, number in numbers_by_name(_without_lists(found)).items()
        if name.rpartition(".")[2] not in ABOUT
    }


def makings(content: dict) -> list[dict]:
    """Returns the sections that say where and by which code they were made.

    The measurement is the first, and its training may follow.
    """
    found = measured(content)
    if "commit" in found:
        return [found, content.get("training", found)]
    return [made for of_data in found.values() for made in of_data.values()]


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
    if path.stem in SINGLE:
        return SINGLE[path.stem](content)
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
