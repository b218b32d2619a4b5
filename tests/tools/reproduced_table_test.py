"""The page of what was reproduced comes from the result files."""

import copy
import json
import statistics

import pytest

from tests.read_between import read_between
from tools import reproduced_f_statistic
from tools import reproduced_learned_distance
from tools import reproduced_table
from tools import reproduced_verdicts
from tools.paired_difference import PairedDifference
from tools.reproduced_f_statistic import f_statistic_rows


def test_the_page_has_the_tables_of_the_result_files():
    for name, text in reproduced_table.tables().items():
        marks = reproduced_table.MARKS[name]
        assert read_between(reproduced_table.PAGE, *marks) == text
        assert text.count("\n") > 5


def test_a_verdict_is_one_of_a_list():
    row = ("Table 1", "mostly", "", "")
    with pytest.raises(ValueError, match="Table 1: received.*'mostly'"):
        reproduced_table.table([row])


def test_not_attempted_is_without_result_files(tmp_path, monkeypatch):
    monkeypatch.setattr(reproduced_verdicts, "RESULTS", tmp_path)
    names = "cuhk03_", "f_statistic_*_of_500"
    assert reproduced_verdicts.not_attempted(*names) == "not attempted"
    (tmp_path / "folds").mkdir()
    (tmp_path / "folds" / "f_statistic_3_of_500-omniglot.json").touch()
    found = reproduced_verdicts.not_attempted(*names)
    assert found == "run, without a verdict" in reproduced_verdicts.PARTS


def test_a_cell_holds_by_the_corrected_test():
    def cell(mean, corrected):
        return PairedDifference(4, mean, 0.1, 0.001, corrected)

    held, open_, below = cell(1, 0.01), cell(1, 0.2), cell(-1, 0.01)
    one = PairedDifference(1, 1.0, None, None, None)
    for cells, expected in (
        ([held, held], "reproduced"),
        ([held, None], "in part"),
        ([held, open_], "in part"),
        ([open_, below], "not reproduced"),
        ([one, below], "not reproduced"),
        ([open_, open_], "undecided"),
        ([one, None], "undecided"),
        ([None, None], "not run"),
    ):
        assert reproduced_verdicts.of_differences(cells) == expected


def test_a_cell_is_level_within_two_points():
    def cell(mean, corrected):
        return PairedDifference(4, mean, 0.01, 0.001, corrected)

    level, far, open_ = cell(-0.019, 0.01), cell(0.03, 0.01), cell(-0.03, 0.3)
    higher = cell(0.1, 0.01)
    for cells, expected in (
        ([level], "reproduced"),
        ([level, far], "in part"),
        ([far], "in part"),  # the cell of "higher" holds
        ([None], "in part"),
    ):
        found = reproduced_verdicts.of_differences([higher], cells)
        assert found == expected
    assert reproduced_verdicts.of_differences([], [far]) == "not reproduced"
    assert reproduced_verdicts.of_differences([], [open_]) == "undecided"


def test_named_folds():
    assert reproduced_verdicts.named_folds(["2", "1"]) == "folds 1, 2"
    assert reproduced_verdicts.named_folds({"3"}) == "fold 3"


def row(rows, start):
    (found,) = [each for each in rows if each[0].startswith(start)]
    return found


def test_equal_budgets_are_shown_and_decide():
    """The winners of two methods: ours is lower by .1 in every fold."""
    found = reproduced_table.folds.load()
    every = reproduced_f_statistic.EVERY
    names = "sprites_f_statistic", "sprites_triplet"
    searched = {(name, every): found[name, every] for name in names}
    searched = copy.deepcopy(searched)
    for name, modularity in zip(names, (0.7, 0.8), strict=True):
        for number, runs in enumerate(searched[name, every]["folds"].values()):
            shift = number / 500 if name == names[0] else 0.0
            for run in runs:
                run["evaluation"]["test"]["modularity"] = modularity + shift
    without = row(f_statistic_rows(found, {}), "Figure 3")
    assert without[2].endswith(". Equal budgets: not run")
    assert without[3].startswith("equal searches; ")
    with_them = row(f_statistic_rows(found, searched), "Figure 3")
    # -.1, -.098, -.096 and -.094.
    shown = "Equal budgets: all frames, modularity: triplet -0.097 ± 0.001"
    assert shown in with_them[2]
    assert not with_them[3].startswith("equal searches")


def with_folds(results, *folds):
    return results | {"folds": {f: results["folds"][f] for f in folds}}


def test_untrained_networks_are_the_mean_of_ten():
    found = reproduced_table.folds.load()
    text = row(f_statistic_rows(found, {}), "Figure 3")[2]
    path = reproduced_f_statistic.untrained_networks.RESULT
    every = reproduced_f_statistic.EVERY
    differences = []
    for fold, run in json.loads(path.read_text())[every].items():
        networks = [each["modularity"] for each in run["networks"].values()]
        assert len(networks) == 10
        ours = [
            each["evaluation"]["test"]["modularity"]
            for each in found["sprites_f_statistic", every]["folds"][fold]
        ]
        differences.append(statistics.fmean(ours) - sum(networks) / 10)
    cells = text.partition("all frames, modularity: ")[2]
    mean = statistics.fmean(differences)
    shown = cells.partition("all frames, explicitness")[0]
    assert f"untrained {mean:+.3f} ± " in shown


def test_recall_beside_four_losses_names_fewer_folds():
    found = {
        key: with_folds(results, "1", "2") if "sprites" in key[0] else results
        for key, results in reproduced_table.folds.load().items()
    }
    text = row(f_statistic_rows(found, {}), "Figure 2")[2]
    text = text.partition("in points: ")[2].partition(". Equal")[0]
    weapon, rest = text.split("; Sprites, all frames")
    every, characters = rest.split("; Omniglot")
    ours, theirs = (
        statistics.fmean(
            runs[0]["evaluation"]["test"]["recall_at_1"]
            for runs in found[
                f"sprites_retrieval_{loss}", reproduced_f_statistic.WEAPON
            ]["folds"].values()
        )
        for loss in ("f_statistic", "binomial_deviance")
    )
    assert weapon.startswith("Sprites, weapon visible: histogram ")
    cell = f"binomial deviance {100 * (ours - theirs):+.1f} ± "
    assert cell in weapon
    assert weapon.count(" over 2 folds") == every.count(" over 2 folds") == 4
    assert " over " not in characters, "four folds are usual"


def test_the_sweep_says_what_was_run():
    found = dict(reproduced_table.folds.load())
    for key, results in found.items():
        if "_of_500" in key[0] and "_70_" not in key[0]:
            found[key] = with_folds(results, "1")
    claim, _, ours, takes = row(f_statistic_rows(found, {}), "Section 2.1")
    assert "2 < d < 100" in claim
    assert ours.startswith("Omniglot, fold 1, one seed, recall@1 minus that of")
    assert ": folds 2, 3, 4 with K = 1, 3, 10, 35, 150, 300, 500; " in takes


def test_the_folds_that_beta_vaes_lack():
    found = dict(reproduced_table.folds.load())
    weapon, every = reproduced_f_statistic.SETS
    for beta in reproduced_f_statistic.BETAS:
        recipe = f"sprites_beta_vae_{beta}"
        found.pop((recipe, weapon), None)
        results = found[recipe, every]
        folds = {fold: results["folds"][fold] for fold in ("1", "2")}
        found[recipe, every] = results | {"folds": folds}
    figure_4 = "Figure 4: modularity and explicitness"
    takes = row(f_statistic_rows(found, {}), figure_4)[3]
    assert takes == (
        "weapon visible folds 1, 2, 3, 4, all frames folds 3, 4: up to 20 "
        "minutes a fold"
    )
    oracle = f"sprites_{reproduced_f_statistic.ORACLE}"
    found[oracle, weapon] = with_folds(found[oracle, weapon], "1", "2")
    claim = "Figure 4: the F-statistic with the class-aware oracle"
    assert row(f_statistic_rows(found, {}), claim)[3] == (
        "weapon visible folds 1, 2, 3, 4 (beta = 1, beta = 2, beta = 4, "
        "beta = 8), weapon visible folds 3, 4 (class oracle), all frames folds "
        "3, 4 (beta = 1, beta = 2, beta = 4, beta = 8): up to 20 minutes a fold"
    )
    folds = ("1", "2", "3", "4")
    for beta in reproduced_f_statistic.BETAS:
        recipe = f"sprites_beta_vae_{beta}"
        results = found[recipe, every]
        runs = results["folds"]["1"]
        for data in reproduced_f_statistic.SETS:
            of_data = {"folds": {fold: runs for fold in folds}}
            found[recipe, data] = results | of_data
    whole = row(f_statistic_rows(found, {}), figure_4)
    assert whole[3] == reproduced_f_statistic.MORE_SEEDS
    assert " over " not in whole[2], "four folds are usual"
    assert "weapon visible, single-dimension AUC: beta = 1 +0." in whole[2]


def test_a_searched_beta_vae_is_one_cell_of_a_claim():
    found = reproduced_table.folds.load()
    every = reproduced_f_statistic.EVERY
    searched = {
        ("sprites_f_statistic", every): found["sprites_f_statistic", every],
        ("sprites_beta_vae", every): found["sprites_triplet", every],
    }
    cells = reproduced_f_statistic.cells_of_vaes(
        reproduced_f_statistic.Differences({}, {}),
        reproduced_f_statistic.Differences(searched, {}),
    )
    # Two measures of the search; two of four beta-VAEs on other frames.
    assert len(cells) == 2 + 2 * 4
    assert sum(cell is not None for cell in cells) == 2


def test_distances_are_compared_with_their_own_scores_and_the_baselines():
    found = reproduced_table.trials.load()
    rows = reproduced_learned_distance.learned_distance_rows(found, {})
    table_1, table_2 = row(rows, "Table 1"), row(rows, "Table 2")
    assert table_2[2].endswith(
        "AN4, equal budgets, folds 1 to 4, one seed: not run"
    )
    key = "omniglot", "folds", "omniglot_verification_without_classifier"
    scores = [run["evaluation"]["test"] for run in found[key].values()]
    ours, plda = (
        statistics.fmean(test[score]["equal_error_rate"] for test in scores)
        for score in ("learned_distance", "plda")
    )
    omniglot = table_1[2].partition(". Tiny ImageNet, one seed: ")[0]
    alone = omniglot.partition("learned distance, no classifier minus ")[2]
    assert f"its PLDA {100 * (ours - plda):+.2f} ± " in alone
    assert "the triplet loss by PLDA +" in alone
    assert "the distance without" not in alone
    rows = reproduced_learned_distance.learned_distance_rows(found, found)
    text = row(rows, "Table 2")[2].partition("one seed: ")[2]
    by_fold = {}
    for (fold, _), run in found["an4", "folds", "an4_learned_distance"].items():
        test = run["evaluation"]["test"]
        distance, cosine = (
            test[score]["equal_error_rate"]
            for score in ("learned_distance", "cosine")
        )
        by_fold.setdefault(fold, []).append(100 * (distance - cosine))
    mean = statistics.fmean(map(statistics.fmean, by_fold.values()))
    start = f"learned distance minus its own cosine {mean:+.2f} ± "
    assert text.startswith(start)


def test_table_2_has_its_own_scores_and_the_ablation():
    found = reproduced_table.trials.load()
    rows = reproduced_learned_distance.learned_distance_rows(found, {})
    text = row(rows, "Table 2")[2]
    # 2.51 - 4.97, 2.57 - 4.77 and 4.73 - 8.61.
    assert "minus its own cosine: published -2.46, -2.20, -3.88, AN4 " in text
    assert "triplet" not in text
    recipes = (
        "spoken_digit_learned_distance",
        "spoken_digit_learned_distance_without_auxiliary",
    )
    ours, without = (
        {
            key: run["evaluation"]["test"]
            for key, run in found["spoken_digit", "folds", recipe].items()
        }
        for recipe in recipes
    )

    def mean_of(first, second, other):
        return 100 * statistics.fmean(
            first[key]["learned_distance"]["equal_error_rate"]
            - second[key][other]["equal_error_rate"]
            for key in first
        )

    _, fused, plda, ablation = text.split("spoken digits ")[1:]
    assert fused.startswith(f"{mean_of(ours, ours, 'fused'):+.2f} ± ")
    assert plda.startswith(f"{mean_of(ours, ours, 'plda'):+.2f} ± ")
    assert ablation.startswith(
        f"{mean_of(ours, without, 'learned_distance'):+.2f} ± "
    )


def test_clusters_and_recall_by_the_distance():
    rows = reproduced_learned_distance.learned_distance_rows(
        reproduced_table.trials.load(), {}
    )
    text = row(rows, "Figure 5")[2]
    key = reproduced_learned_distance.CLUSTERS, "omniglot"
    runs = reproduced_table.folds.load()[key]["folds"].values()
    found = [run["evaluation"] for of_fold in runs for run in of_fold]

    def mean(section, name):
        return statistics.fmean(each[section][name] for each in found)

    k_means = mean("test", "mutual_information_k_means")
    assert f"information: k-means {k_means:.3f}, by the distance" in text
    ours = 100 * mean("test_learned_distance", "recall_at_1")
    l2 = 100 * mean("test", "recall_at_1")
    shown = f"Recall@1 by the distance {ours:.1f} %, by L2 {l2:.1f} %, "
    assert f"{shown}difference {ours - l2:+.1f} ± " in text


def test_depths_beside_the_triplet_loss():
    rows = reproduced_learned_distance.learned_distance_rows(
        reproduced_table.trials.load(), {}
    )
    text = row(rows, "Figure 4")[2]
    found = reproduced_learned_distance.distance_depth_table.load()
    for depth, score in ((0, "cosine"), (1, "learned_distance")):
        mean = 100 * statistics.fmean(
            run["evaluation"]["test"][score]["equal_error_rate"]
            for run in found[depth]["folds"].values()
        )
        name = f"{depth}:" if depth else "triplet loss by cosine"
        assert f"{name} {mean:.1f}" in text
