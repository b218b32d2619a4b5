"""Pairs two runs by the test episodes that they share.

With one seed a difference of two methods has no test over seeds. A test over
episodes says whether it is more than the chance of the test's draws. It
ignores the variation between trainings.
"""

from tools.paired_difference import PairedDifference
from tools.paired_difference import of_differences
from trainers.evaluators.episodes import episodes_of_draws

NOTES = {
    "episodes": "One seed: p is over shared test episodes and ignores the "
    "variation between trainings.",
    "intervals": "One seed, and a result file without single episodes: p is of "
    "an unpaired test from both 95 % intervals over test episodes, and ignores "
    "the variation between trainings.",
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
    runs = [
        {run["seed"]: run for run in of_method} for of_method in (first, second)
    ]
    seeds = sorted(set(runs[0]) & set(runs[1]))
    pairs = [(runs[0][seed], runs[1][seed]) for seed in seeds]
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
