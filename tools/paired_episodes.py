"""Pairs two runs by the test episodes that they share.

With one seed a difference of two methods has no test over seeds. A test over
episodes says whether it is more than the chance of the test's draws. It
ignores the variation between trainings.
"""

import statistics

from tools.paired_difference import PairedDifference
from tools.paired_difference import of_differences
from trainers.measures.episodes import episodes_of_draws

NOTES = {
    "episodes": "One seed: p is over shared test episodes and ignores the "
    "variation between trainings.",
    "intervals": "One seed. The result files do not have single episodes, so p "
    "is of two independent means with their 95 % intervals over test episodes; "
    "it ignores the variation between trainings.",
}


def paired_episodes(
    first: dict, second: dict, split: str, condition: str
) -> list[float]:
    """Returns first minus second, in points, for each test episode of both.

    Empty if the runs have no common test, or were evaluated before result
    files had `correct`, the correct queries of each episode.

    Args:
        first: A result file of the few-shot evaluation.
        second: The result file of the other method.
        split: Name of the results, such as `test_20_class_1_shot`.
        condition: Such as `clean`.
    """
    found = [_of_draws(run, split, condition) for run in (first, second)]
    if None in found or found[0][0] != found[1][0]:
        return []
    # A run with fewer episodes has the first episodes of each draw.
    return [
        ours - theirs
        for draws in zip(found[0][1], found[1][1], strict=False)
        for ours, theirs in zip(*draws, strict=False)
    ]


def paired_runs(
    first: list[dict], second: list[dict], split: str, condition: str
) -> PairedDifference | None:
    """Compares the runs of two methods over seeds; one seed: over episodes.

    None without a shared seed.
    """
    pairs = _of_shared_seeds(first, second)
    if not pairs:
        return None
    if len(pairs) == 1:
        of_episodes = paired_episodes(*pairs[0], split, condition)
        if of_episodes:
            return of_differences(of_episodes, over="episodes")
    accuracies = [
        [100 * run["evaluation"][split][condition]["accuracy"] for run in pair]
        for pair in pairs
    ]
    return of_differences([ours - theirs for ours, theirs in accuracies])


def mean_of_each(cells: list[list[float]]) -> list[float]:
    """Means over cells, episode by episode; empty if their numbers differ.

    Cells may share images or classes: only the episodes of one cell must be
    independent of each other.
    """
    if len(set(map(len, cells))) > 1:
        return []
    return [statistics.fmean(each) for each in zip(*cells, strict=True)]


def mean_of_runs(cells: list[tuple]) -> PairedDifference | None:
    """Tests the mean over cells if two methods share one seed, over episodes.

    None if they share more seeds or none, or if the cells have no single
    episodes, or not the same number of them.

    Args:
        cells: The arguments of `paired_runs` for each cell.
    """
    parts = []
    for first, second, *cell in cells:
        pairs = _of_shared_seeds(first, second)
        if len(pairs) != 1:
            return None
        parts.append(paired_episodes(*pairs[0], *cell))
    means = mean_of_each(parts)
    return of_differences(means, over="episodes") if means else None


def _of_shared_seeds(first: list[dict], second: list[dict]) -> list[tuple]:
    """The runs of two methods for each seed that both have."""
    runs = [
        {run["seed"]: run for run in of_method} for of_method in (first, second)
    ]
    seeds = sorted(set(runs[0]) & set(runs[1]))
    return [(runs[0][seed], runs[1][seed]) for seed in seeds]


def _of_draws(run: dict, split: str, condition: str):
    """What the test is, and accuracies in % of the episodes of each draw."""
    evaluation = run["evaluation"]
    cell = evaluation[split][condition]
    if "correct" not in cell:
        return None
    settings = evaluation["settings"]
    # Only images have draws of a corruption.
    is_corrupted = "corrupt_support" in evaluation[split]
    num_draws = settings["num_draws"] if is_corrupted else 1
    counts = iter(map(int, cell["correct"].split()))
    draws = [
        [100 * next(counts) / cell["queries"] for _ in range(number)]
        for number in episodes_of_draws(settings["num_episodes"], num_draws)
    ]
    names = "num_support", "num_query", "more_tasks"
    test = run["data_fingerprint"], cell["queries"]
    return (*test, *(settings.get(name) for name in names)), draws
