"""Tables of folds: chosen pairs, and rows without a result."""

import copy
import json
import shlex

import pytest

from tools import cross_validation_figures
from tools import cross_validation_results
from tools import cross_validation_table

NAME = "omniglot_retrieval_f_statistic_merge-omniglot.json"
PREFIX = "omniglot_retrieval_f_statistic"


@pytest.fixture(scope="module")
def kept():
    return json.loads((cross_validation_results.RESULTS / NAME).read_text())


def found(kept, recalls):
    """Results with recall@1 of folds 1 and 2 by recipe, untrained .5 and .6."""
    files = {}
    for recipe, of_folds in recalls.items():
        results = copy.deepcopy(kept)
        results["recipe"] = recipe
        results["folds"] = {f: results["folds"][f] for f in ("1", "2")}
        for run, recall, before in zip(
            results["folds"].values(), of_folds, (0.5, 0.6), strict=True
        ):
            test = run["evaluation"]
            test["test"]["recall_at_1"] = recall
            test["test_untrained"]["recall_at_1"] = before
        files[cross_validation_results.RESULTS / f"{recipe}.json"] = results
    return cross_validation_results.together(files)


def row(text, start):
    (line,) = [each for each in text.splitlines() if each.startswith(start)]
    return line


def test_losses_in_500_dimensions_are_compared_with_each_other(kept):
    text = cross_validation_table.table(
        found(
            kept,
            {
                f"{PREFIX}_70_of_500": (0.8, 0.82),
                f"{PREFIX}_welch": (0.81, 0.85),
                f"{PREFIX}_merge": (0.3, 0.32),
            },
        )
    )
    # Differences of 1 and 3, of -50 and -50, of -20 and -28 points.
    welch = "F-statistic, Welch's test, 70 of 500 dimensions"
    own = "F-statistic, 70 of 500 dimensions"
    merge = "F-statistic, inverted, 70 of 500 dimensions"
    assert "| 2 | +2.00 ± 1.00 (" in row(text, f"| {welch} minus {own} |")
    assert "| 2 | -50.00 ± 0.00 " in row(text, f"| {merge} minus {own} |")
    untrained = row(text, f"| {merge} minus the untrained network |")
    assert "| 2 | -24.00 ± 4.00 (" in untrained


def test_recipes_without_a_result_have_a_row_and_a_command(kept):
    ours = found(kept, {f"{PREFIX}_70_of_500": (0.8, 0.82)})
    lines = cross_validation_table.table(ours).splitlines()
    for loss, name in (
        ("prototypical", "prototypical networks"),
        ("f_statistic_3_of_500", "F-statistic, 3 of 500 dimensions"),
    ):
        assert any(line.startswith(f"| {name} | not run |") for line in lines)
        command = lines[lines.index(f"    # {name}, not run") + 1].split()
        recipe = f"omniglot_retrieval_{loss}"
        assert command[:5] == shlex.split(
            f"python -m trainers.cross_validate --config {recipe}"
        )
    run = "F-statistic, 70 of 500 dimensions"
    assert not any(line.startswith(f"| {run} | not run") for line in lines)


def test_an_untrained_network_that_only_one_set_has_is_not_run():
    every = cross_validation_results.load()
    name = "sprites_f_statistic"
    weapon, frames = "sprites/weapon_visible", "sprites/all_frames"
    ours, theirs = every[name, weapon], every[name, frames]
    seeds = cross_validation_results.with_seeds(theirs, [0])
    text = cross_validation_table.table(
        {(name, weapon): ours, (name, frames): seeds}
    )
    of_frames = text.partition("all frames: disentangling")[2]
    assert "| *untrained network*, seed 1 | not run |" in of_frames
    line = of_frames.partition("# *untrained network*, seed 1, not run\n")[2]
    assert (
        " --config sprites_f_statistic --folds 1 2 3 4 --config.seed=1 "
        in (line.splitlines()[0])
    )


def test_clusters_are_compared_by_fold():
    key = "omniglot_retrieval_learned_distance", "omniglot"
    ours = cross_validation_results.load()[key]
    ours["folds"] = {fold: ours["folds"][fold] for fold in ("1", "2")}
    results = {key: ours}
    numbers = {
        "k_means": (0.7, 0.72),
        "learned_distance_to_k_means": (0.69, 0.69),
        "learned_distance_to_class_means": (0.75, 0.79),
    }
    for number, runs in enumerate(ours["folds"].values()):
        runs[0]["evaluation"]["test"] |= {
            f"mutual_information_{name}": both[number]
            for name, both in numbers.items()
        }
    text = cross_validation_table.table(results)
    start = "| learned distance: "
    to_k_means = f"{start}k-means minus learned distance to k-means centroids"
    assert "| 2 | +0.020 ± 0.010 (" in row(text, to_k_means)
    to_means = f"{start}learned distance to the class means minus k-means"
    assert "| 2 | +0.060 ± 0.010 (" in row(text, to_means)


def test_the_legend_of_the_plane_is_beside_the_axes():
    every = cross_validation_results.load()
    rows = cross_validation_results.disentangled(every, "sprites/all_frames")
    method = next(iter(rows))
    for fold, runs in rows[method]["folds"].items():
        for run in runs:
            test = run["evaluation"]["test"]
            test["modularity_corrected"] = test["modularity"]
            if fold == "2":
                del test["modularity_corrected"]
    rows = {method: rows[method]}
    figure = cross_validation_figures.plane_figure(rows, "Sprites")
    assert all(axes.get_legend() is None for axes in figure.axes)
    (legend,) = figure.legends
    shown = [text.get_text() for text in legend.get_texts()]
    folds = "(corrected: folds 1, 3, 4)"
    assert shown == [f"{method} {folds}", "untrained networks"]


def test_the_sum_that_chooses_in_a_search_is_compared(kept):
    def run(corrected, explicitness):
        measures = {
            "modularity": corrected - 0.1,
            "modularity_corrected": corrected,
            "explicitness": explicitness,
        }
        return {
            "evaluation": {"test": measures, "test_untrained": measures},
            "training": kept["folds"]["1"]["training"],
        }

    def results(recipe, *runs):
        path = next(cross_validation_results.RESULTS.glob(f"{recipe}-*.json"))
        folds = {str(fold): each for fold, each in enumerate(runs, start=1)}
        together = cross_validation_results.together(
            {path: json.loads(path.read_text()) | {"folds": folds}}
        )
        return next(iter(together.values()))

    lines = cross_validation_table.disentangling(
        {
            "ours": results("sprites_triplet", run(0.9, 0.8), run(0.7, 0.9)),
            "other": results("sprites_histogram", run(0.5, 0.9), run(0.4, 0.8)),
        }
    )
    # Sums 1.7 and 1.6; 1.4 and 1.2: differences .3 and .4.
    text = "\n".join(lines)
    assert "| corrected + explicitness |" in text
    assert "| 1.650 ± 0.050 |" in row(text, "| ours |")
    assert "| +0.350 ± 0.050 (" in row(text, "| other | 2 |")
