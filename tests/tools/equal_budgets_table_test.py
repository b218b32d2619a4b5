"""Winners of searches have tables of their own, with equal budgets."""

import copy
import json

import pytest

from tests.read_between import read_between
from tools import cross_validation_results
from tools import equal_budgets_results
from tools import equal_budgets_table
from tools import search_table
from tools import verification_results
from trainers.config import load_recipe
from trainers.workdirs.numbers_by_name import numbers_by_name
from trainers.workdirs.workdir import recipe_fields
from tuning.winner import of_trials

SEARCH = {
    "space": "disentangling",
    "objective": "val_explicitness",
    "direction": "max",
    "search_seed": 0,
    "overrides": [
        "num_epochs=4",
        "steps_per_epoch=150",
        "monitor=val_explicitness",
    ],
    "trials": 12,
    "trial": "03",
    "values": {"optimizer.learning_rate": 0.0012345, "share_of_dims": 0.1},
    "objective_value": 0.75,
    "batches": 6_000,
}


def workdir(folder, results, config, **search):
    """The workdir of `tuning.winner`, with the numbers of committed runs."""
    folder.mkdir(parents=True)
    search = SEARCH | search
    search = of_trials(results["recipe"], search["overrides"]) | search
    results = results | {"search": search}
    (folder / "results.json").write_text(json.dumps(results))
    written = {"recipe": results["recipe"], "config": config}
    (folder / "config.json").write_text(json.dumps(written))
    return folder


def of_folds(folder, name, recipe=None, **search):
    path = cross_validation_results.RESULTS / f"{name}.json"
    found = json.loads(path.read_text())
    recipe = recipe or found["recipe"]
    results = {"recipe": recipe, "folds": found["folds"]}
    return workdir(folder / recipe, results, found["config"], **search)


@pytest.fixture
def kept(tmp_path, monkeypatch):
    monkeypatch.setattr(equal_budgets_results, "RESULTS", tmp_path / "kept")
    return tmp_path


def test_the_page_has_the_tables_of_the_result_files():
    module = equal_budgets_table
    between = read_between(module.PAGE, module.BEGIN, module.END)
    assert between.strip() == module.table(module.load()).strip()


def test_winners_are_rows_of_tables_of_their_own(kept):
    ours = of_folds(kept, "sprites_f_statistic-sprites-all_frames")
    vae = "sprites_beta_vae_4-sprites-all_frames"
    for folder in (ours, of_folds(kept, vae, "sprites_beta_vae")):
        equal_budgets_table.collect(folder)
        with pytest.raises(ValueError, match="winner of a search.*equal_bud"):
            cross_validation_results.collect(folder)
    found = equal_budgets_table.load()
    text = equal_budgets_table.table(found)
    assert "12 trials each over `disentangling`, 600 batches a trial" in text
    config = json.loads((ours / "config.json").read_text())["config"]
    num_dims, dim = config["loss"]["num_dims"], config["encoder"]["dim"]
    folds = json.loads((ours / "results.json").read_text())["folds"]
    batches = ", ".join(
        f"{run['training']['best_epoch'] * config['steps_per_epoch']:,}"
        for run in folds.values()
    )
    assert (
        f"| F-statistic | 0.7500 | {batches} | "
        "optimizer.learning_rate 0.00123, "
        f"share_of_dims 0.1, num_dims {num_dims} of {dim} | "
        "not kept | not kept |" in text
    )
    assert (
        "    python -m tuning.search --config sprites_f_statistic --space "
        "disentangling --trials 12 --objective val_explicitness --direction "
        "max --seed 0 --workdir runs/search_sprites_f_statistic "
        "--config.num_epochs=4 --config.steps_per_epoch=150 "
        "--config.monitor=val_explicitness\n" in text
    )
    assert (
        "    python -m tuning.winner --search runs/search_sprites_f_statistic "
        "--batches 6000 --folds 1 2 3 4 --workdir "
        "runs/winner_sprites_f_statistic\n" in text
    )
    modularity = [
        numbers_by_name(run["evaluation"])["test.modularity"]
        for run in folds.values()
    ]
    mean = f"{sum(modularity) / len(modularity):.3f}"
    assert f"| F-statistic | {', '.join(folds)} | {mean} ± " in text
    committed = cross_validation_results.RESULTS / f"{vae}.json"
    of_vae = ", ".join(json.loads(committed.read_text())["folds"])
    assert f"| beta-VAE, searched | {of_vae} | " in text
    assert "| F-statistic minus | folds | " in text
    assert list(equal_budgets_table.figures(found)) == [
        "equal_budgets_sprites_all_frames_plane"
    ]


def test_searches_on_other_data_have_folders_of_their_own(kept):
    """Else the second search of the page would be refused."""
    recipe = "sprites_retrieval_f_statistic"
    for dataset in ("sprites/all_frames", "sprites/weapon_visible"):
        name = dataset.replace("/", "-")
        overrides = [*SEARCH["overrides"], f"dataset={dataset}"]
        equal_budgets_table.collect(
            of_folds(kept / name, f"{recipe}-{name}", overrides=overrides)
        )
    text = equal_budgets_table.table(equal_budgets_table.load())
    for folder in (recipe, f"{recipe}-sprites-weapon_visible"):
        assert f" --workdir runs/search_{folder} " in text
        assert f"--search runs/search_{folder} --batches 6000 " in text
        assert f" --workdir runs/winner_{folder}\n" in text


def test_trials_are_counted_by_their_best_epoch():
    name = "sprites_triplet-disentangling-val_corrected_modularity_plus_"
    name += "explicitness"
    path = search_table.RESULTS / f"{name}.json"
    trials = json.loads(path.read_text())["trials"]
    counts = [0, 0, 0, 0, 0]
    for trial in trials:
        counts[trial["best_epoch"] - 1] += 1
    module = equal_budgets_table
    text = read_between(module.PAGE, module.BEGIN, module.END)
    cell = ", ".join(str(count) for count in counts)
    assert f" | {cell} | [{name}.json](" in text


def two_methods(kept, **second):
    """Winners of two methods; the search of the second has other fields."""
    for name, search in (("f_statistic", {}), ("triplet", second)):
        recipe = f"sprites_{name}-sprites-all_frames"
        equal_budgets_table.collect(of_folds(kept, recipe, **search))
    return equal_budgets_table.load()


@pytest.mark.parametrize(
    ("second", "message"),
    [
        ({"batches": 8_000}, "8000.* of sprites_triplet; expected"),
        (
            {"overrides": ["num_epochs=5", "steps_per_epoch=150"]},
            f"'trial_batches': {4 * 150}.*'trial_batches': {5 * 150}",
        ),
        (
            {"overrides": [*SEARCH["overrides"], "folds.fold=2"]},
            "triplet-.*the search chose on fold 2; expected fold 0",
        ),
        (
            {"overrides": [*SEARCH["overrides"], "monitor=val_modularity"]},
            "'monitor': 'val_explicitness'.*'monitor': 'val_modularity'",
        ),
        (
            {"trial_batches": 300, "fold": 0},
            "'trial_batches': 600.*'trial_batches': 300",
        ),
    ],
)
def test_other_budgets_are_refused(kept, second, message):
    found = two_methods(kept, **second)
    with pytest.raises(ValueError, match=message):
        equal_budgets_table.table(found)


def test_trials_of_one_length_by_other_overrides_are_equal(kept):
    found = two_methods(kept, overrides=["num_epochs=6", "steps_per_epoch=100"])
    assert "600 batches a trial" in equal_budgets_table.table(found)


def test_the_trials_of_a_winner_are_linked(kept, monkeypatch):
    best_epochs = 1, 4, 1, 2  # of five epochs; another trial failed
    trials = [
        {"status": "completed", "best_epoch": best, "epochs": 5}
        for best in best_epochs
    ]
    search = SEARCH | {
        "recipe": "sprites_triplet",
        "trials": [*trials, {"status": "failed"}],
    }
    monkeypatch.setattr(search_table, "load", lambda: {"triplet-x": search})
    text = equal_budgets_table.table(two_methods(kept))
    link = "[triplet-x.json](../../benchmarks/results/searches/triplet-x.json)"
    lines = text.splitlines()
    (ours,) = [line for line in lines if line.startswith("| triplet | 0.7")]
    assert ours.endswith(f" | 2, 1, 0, 1, 0 | {link} |")
    assert text.count(link) == 1


def of_retrieval(recalls):
    """Results of retrieval by loss, with recall@1 of folds 1 and 2."""
    path = cross_validation_results.RESULTS
    path /= "omniglot_retrieval_f_statistic-omniglot.json"
    kept = json.loads(path.read_text())
    found = {}
    for loss, of_folds in recalls.items():
        results = copy.deepcopy(kept)
        results["folds"] = {
            fold: [{"seed": 0, **results["folds"][fold]}] for fold in "12"
        }
        for recall, (run,) in zip(
            of_folds, results["folds"].values(), strict=True
        ):
            run["evaluation"]["test"]["recall_at_1"] = recall
        found[loss] = results
    return found


def test_how_much_of_the_gap_closes():
    """The rival's lead is 20 and 22 points before, 5 and 3 points after."""
    before = of_retrieval(
        {
            "F-statistic": (0.6, 0.62),
            "triplet": (0.5, 0.5),
            "histogram": (0.8, 0.84),
            "F-statistic, 70 of 500 dimensions": (0.72, 0.78),
            "learned distance": (0.3, 0.32),
        }
    )
    after = of_retrieval(
        {"F-statistic": (0.7, 0.74), "triplet": (0.75, 0.77)}
        | {"F-statistic, 70 of 500 dimensions": (0.9, 0.9)}
        | {"learned distance": (0.35, 0.35)}
    )
    # Also ranked by the distance: 10 and 14 points less than before.
    for rows, recalls in ((before, (0.2, 0.24)), (after, (0.1, 0.1))):
        runs = rows["learned distance"]["folds"].values()
        for (run,), recall in zip(runs, recalls, strict=True):
            ranked = {**run["evaluation"]["test"], "recall_at_1": recall}
            run["evaluation"]["test_learned_distance"] = ranked
    lines = equal_budgets_table.gap(before, after)
    for start in (
        "| F-statistic, after minus before | 2 | +11.00 ± 1.00 (",
        "| triplet, after minus before | 2 | +26.00 ± 1.00 (",
        "| before: histogram minus F-statistic | 2 | +21.00 ± 1.00 (",
        "| learned distance, ranked by it, after minus before | 2 | -12.00 ± "
        "2.00 (",
        "| after: triplet minus F-statistic | 2 | +4.00 ± 1.00 (",
        "| after: triplet minus learned distance | 2 | +41.00 ± 1.00 (",
        "| gap before minus gap after | 2 | +17.00 ± 2.00 (",
        "| before: F-statistic, 70 of 500 dimensions, minus after: F-statistic "
        "| 2 | +3.00 ± 1.00 (",
    ):
        assert any(line.startswith(start) for line in lines), start
    assert equal_budgets_table.gap({}, after) == []


def test_a_run_without_a_search_is_refused(kept):
    folder = of_folds(kept, "sprites_triplet-sprites-all_frames")
    results = json.loads((folder / "results.json").read_text())
    del results["search"]
    (folder / "results.json").write_text(json.dumps(results))
    with pytest.raises(ValueError, match="no section `search`.*tuning.winner"):
        equal_budgets_table.collect(folder)


def test_verification_of_folds_and_of_a_divided_folder(kept):
    path = verification_results.RESULTS / "an4_triplet-seed_0.json"
    runs = json.loads(path.read_text())["runs"]
    runs = {name: run for name, run in runs.items() if name[:5] == "fold_"}
    config = next(iter(runs.values()))["config"]
    folds = {name.removeprefix("fold_"): run for name, run in runs.items()}
    results = {"recipe": "an4_triplet", "folds": folds}
    equal_budgets_table.collect(workdir(kept / "a", results, config))
    single = next(iter(runs.values()))
    for name in ("triplet", "triplet_classifier"):
        recipe = f"tiny_images_{name}"
        folder = ["dataset=image_folder:any/path"]
        config = recipe_fields(load_recipe(recipe, folder))
        results = {"recipe": recipe, **single}
        equal_budgets_table.collect(workdir(kept / name, results, config))
    text = equal_budgets_table.table(equal_budgets_table.load())
    assert "### AN4, speakers\n" in text
    assert "### Tiny ImageNet at 32 x 32 pixels, classes never t" in text
    assert "| triplet and classifier | cosine | 1 x 1 | " in text
    # Both have the numbers of one run, and are paired by seed.
    assert "| triplet and classifier by cosine | 1 | +0.00 | +0.00 |" in text
    assert sorted(equal_budgets_table.figures(equal_budgets_table.load())) == [
        "equal_budgets_an4_eer",
        "equal_budgets_tiny_images_eer",
    ]
