"""Tables of verification: differences, lengths, and folders of one's own."""

import copy
import json
import math

import pytest

from tools import verification_results
from tools import verification_table
from tools.paired_difference import LEGENDS
from tools.rerun_command import rerun_command
from tools.verification_figures import ticks_between
from trainers.config import load_recipe
from trainers.workdirs.workdir import recipe_fields

METHOD = "omniglot_verification_lifted_structure_beside"


def measures(eer, **more):
    return {
        "equal_error_rate": eer,
        "one_minus_auc": eer / 2,
        "min_dcf": 0.5,
        "min_cllr": 0.2,
        **more,
    }


def files(*recipes_of_seeds):
    """Result files of two folds, from a committed run.

    Args:
        recipes_of_seeds: Measures by recipe, fold and score, for each seed.
    """
    found = {}
    for seed, recipes in enumerate(recipes_of_seeds):
        found |= files_of_seed(recipes, seed)
    return verification_results.together(found)


def files_of_seed(recipes, seed):
    path = verification_results.RESULTS / "an4_triplet-seed_0.json"
    run = json.loads(path.read_text())["runs"]["fold_1"]
    found = {}
    for recipe, by_fold in recipes.items():
        runs = {}
        for number, scores in enumerate(by_fold, start=1):
            fold = copy.deepcopy(run)
            fold["config"] = recipe_fields(load_recipe(recipe))
            fold["training"]["steps"] = 100 * number
            test = {"trials": 10, "classes": 3}
            claimed = {name: measures(0.5) for name in scores}
            fold["evaluation"] = {
                "test": test | scores,
                "test_claimed": claimed,
            }
            runs[f"fold_{number}"] = fold
        name = path.with_name(f"{recipe}-seed_{seed}.json")
        found[name] = {"recipe": recipe, "seed": seed, "runs": runs}
    return found


def test_a_distance_on_a_fixed_encoder_is_compared_with_other_scores():
    found = files(
        {
            "omniglot_verification_learned_distance": [
                {"learned_distance": measures(0.07, cllr=0.25)},
                {"learned_distance": measures(0.09, cllr=0.35)},
            ],
            METHOD: [
                {
                    "learned_distance": measures(0.04, cllr=0.125),
                    "l2": measures(0.05),
                    "cosine": measures(0.06),
                },
                {
                    "learned_distance": measures(0.04, cllr=0.225),
                    "l2": measures(0.05),
                    "cosine": measures(0.08),
                },
            ],
        }
    )
    text = verification_table.table(found)
    assert "| difference | folds | EER, points | claims: EER, points" in text
    beside = "lifted structure, distance beside by"
    ours = f"| {beside} learned distance minus {beside}"
    assert f"{ours} Euclidean distance | 2 | -1.00 ± 0.00" in text
    assert f"{ours} cosine | 2 | -3.00 ± 1.00" in text
    # Cllr only where both have it: .25 - .125 and .35 - .225.
    heading = "claims: EER, points | 1 - AUC | Cllr |"
    assert "| learned distance by learned distance minus | folds | " in text
    assert heading in text
    row = next(
        line
        for line in text.splitlines()
        if line.startswith("| lifted structure, distance beside by learned d")
    )
    cells = row.split(" | ")
    assert cells[2].startswith("+4.00 ± 1.00") and "+0.125 ± 0.000" in cells[5]
    assert "; 200 batches at most" in text, "the longest run's"


def test_several_folds_and_several_seeds_have_a_table_each():
    """The difference is 1 point with seed 0, and 3 points with seed 1."""
    of_seeds = [
        {
            "omniglot_verification_learned_distance": [
                {
                    "learned_distance": measures(eer),
                    "cosine": measures(eer + difference),
                }
                for eer in (0.04, 0.06)
            ]
        }
        for difference in (0.01, 0.03)
    ]
    lines = verification_table.table(files(*of_seeds)).splitlines()
    first = "| learned distance by learned distance minus | "
    for unit, legend in (("folds", "folds"), ("seeds", "seeds of folds")):
        head = next(
            n for n, x in enumerate(lines) if x.startswith(first + unit)
        )
        row = lines[head + 2]
        error = {"folds": "0.00", "seeds": "1.00"}[unit]
        assert row.startswith(
            f"| learned distance by cosine | 2 | -2.00 ± {error}"
        )
        assert LEGENDS[legend] in lines[head:]
    # t = 2 with one degree of freedom: p = 1 - 2 atan(2) / pi.
    assert (
        f"± 1.00 ({1 - 2 * math.atan(2) / math.pi:.3f})".replace("(0.", "(.")
        in row
    )
    # One seed has no such table.
    alone = verification_table.table(files(of_seeds[0]))
    assert LEGENDS["seeds of folds"] not in alone


def test_chosen_rows_are_compared_with_each_other():
    """EER .04 and .06 against .03 and .03, and so on; Cllr .3 against .2."""
    prefix = "omniglot_verification"
    text = verification_table.table(
        files(
            {
                f"{prefix}_triplet": [
                    {"cosine": measures(0.04), "plda": measures(0.03)},
                    {"cosine": measures(0.06), "plda": measures(0.03)},
                ],
                f"{prefix}_triplet_classifier": [
                    {"cosine": measures(0.03), "plda": measures(0.05)},
                    {"cosine": measures(0.03), "plda": measures(0.07)},
                ],
                METHOD: [
                    {"learned_distance": measures(0.05)},
                    {"learned_distance": measures(0.05)},
                ],
                METHOD.replace("beside", "frozen"): [
                    {"learned_distance": measures(0.03)},
                    {"learned_distance": measures(0.03)},
                ],
                METHOD.replace("beside", "joint"): [
                    {
                        "learned_distance": measures(
                            0.06, cllr=cllr, cllr_logistic=0.2
                        )
                    }
                    for cllr in (0.3, 0.32)
                ],
            }
        )
    )
    for name, number in (
        (
            "triplet by cosine minus triplet and classifier by cosine",
            "+2.00 ± 1.00 (",
        ),
        (
            "triplet by PLDA minus triplet and classifier by PLDA",
            "-3.00 ± 1.00 (",
        ),
        (
            "lifted structure, together with the distance by learned distance "
            "minus lifted structure, distance beside by learned distance",
            "+1.00 ± 0.00 ",
        ),
        (
            "lifted structure, together with the distance by learned distance "
            "minus lifted structure, distance on the fixed encoder "
            "by learned distance",
            "+3.00 ± 0.00 ",
        ),
        (
            "lifted structure, distance beside by learned distance "
            "minus lifted structure, distance on the fixed encoder "
            "by learned distance",
            "+2.00 ± 0.00 ",
        ),
        (
            "lifted structure, together with the distance by learned distance, "
            "before minus after calibration",
            " |  |  | +0.110 ± 0.010 (",
        ),
    ):
        assert f"| {name} | 2 | {number}" in text


def test_recipes_without_a_result_have_a_row_and_a_command():
    text = verification_table.table(files({METHOD: [{"l2": measures(0.1)}]}))
    assert "| symmetric learned distance | | not run | | " in text
    assert (
        "| lifted structure, distance beside | | not run"
        in (text.partition("### Tiny ImageNet")[2])
    ), "the recipe of the other data set has a result"
    lines = text.splitlines()
    place = lines.index("    # symmetric learned distance, not run")
    assert lines[place + 1] == (
        "    python -m trainers.cross_validate --config "
        "omniglot_verification_symmetric --folds 1 --workdir "
        "runs/omniglot_verification_symmetric-seed_0"
    )


def test_a_command_without_a_result_trains_its_encoders_first():
    text = verification_table.table(files({METHOD: [{"l2": measures(0.1)}]}))
    lines = text.splitlines()
    place = lines.index("    # triplet, distance on the fixed encoder, not run")
    start = "python -m trainers.cross_validate --config omniglot_verification_"
    before = "triplet_beside --folds 1 --workdir "
    before += "runs/omniglot_verification_triplet_beside"
    assert lines[place + 1] == (
        f"    {start}{before} && {start}triplet_frozen --folds 1 --workdir "
        "runs/omniglot_verification_triplet_frozen-seed_0"
    )
    (tiny,) = (
        lines[n + 1]
        for n, line in enumerate(lines)
        if line
        == "    # lifted structure, distance on the fixed encoder, not run"
        and "tiny" in lines[n + 1]
    )
    dataset = "--config.dataset=image_folder:tiny_imagenet_32"
    first = "python -m trainers.train --config tiny_images_lifted_structure_"
    assert tiny.startswith(f"    {first}beside {dataset} --workdir runs/tiny_")
    assert f" && {first}frozen {dataset} --workdir" in tiny


def test_the_command_trains_the_run_that_was_fine_tuned():
    """Without the first run, its folder names the recipe."""
    start = "omniglot_retrieval_learned_distance"
    recipe = "mnist_unseen_digits_fine_tuned"
    seed = {"recipe": start, "config": recipe_fields(load_recipe(start))}
    seed["config"]["seed"] = 3
    path = verification_results.RESULTS / f"{recipe}-seed_0.json"
    kept = json.loads(path.read_text())
    for changed, first in (
        ({}, ""),
        ({"initial_run": seed}, " --config.seed=3"),
    ):
        runs = {name: run | changed for name, run in kept["runs"].items()}
        found = verification_results.together({path: kept | {"runs": runs}})
        assert (
            f"    python -m trainers.train --config {start}{first} --workdir "
            f"runs/{start} && python -m trainers.cross_validate --config "
            f"{recipe} --folds 0 1 2 3 4 " in verification_table.table(found)
        )


def test_a_data_set_that_the_tables_do_not_know_is_an_error():
    found = files({METHOD: [{"cosine": measures(0.1)}]})
    found = {("other", "folds", METHOD): next(iter(found.values()))}
    with pytest.raises(ValueError, match=r"runs on \['other'\]; expected one"):
        verification_table.table(found)


def test_a_recipe_whose_method_is_not_known_is_an_error():
    config = {"dataset": "image_folder:somewhere"}
    data_of = verification_results.data_of
    assert data_of("tiny_images_triplet_classifier", config) == "tiny_images"
    with pytest.raises(ValueError, match="tiny_images_new ends in no method"):
        data_of("tiny_images_new", config)


def test_fingerprints_are_kept():
    results = {"training": {}, "evaluation": {}, "data_fingerprint": "01"}
    kept = verification_results.kept_run(results | {"files": []}, {"seed": 0})
    assert kept == {"config": {"seed": 0}, **results}


def write_run(folder, recipe):
    folder.mkdir(parents=True)
    config = {"recipe": recipe, "config": recipe_fields(load_recipe(recipe))}
    results = {"recipe": recipe, "training": {}, "evaluation": {"test": {}}}
    for name, content in ("config", config), ("results", results):
        (folder / f"{name}.json").write_text(json.dumps(content))


def test_a_folder_of_two_recipes_is_refused(tmp_path, monkeypatch):
    kept = tmp_path / "kept"
    monkeypatch.setattr(verification_results, "RESULTS", kept)
    monkeypatch.setattr(verification_results, "FIGURES", tmp_path / "figures")
    write_run(tmp_path / "runs" / "official", "an4_learned_distance")
    write_run(tmp_path / "runs" / "speakers_split", "an4_triplet")
    message = r"mixes the recipes \['an4_learned_distance', 'an4_triplet'\]"
    with pytest.raises(SystemExit, match=message):
        verification_results.collect(tmp_path / "runs")
    assert not kept.exists()
    write_run(tmp_path / "one" / "official", "an4_triplet")
    verification_results.collect(tmp_path / "one")
    assert [path.name for path in kept.iterdir()] == ["an4_triplet-seed_0.json"]


def test_the_run_that_was_fine_tuned_is_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(verification_results, "RESULTS", tmp_path / "kept")
    start = "omniglot_retrieval_learned_distance"
    write_run(tmp_path / "start", start)
    recipe = "mnist_unseen_digits_fine_tuned"
    fold = tmp_path / "runs" / "fold_0"
    write_run(fold, recipe)
    written = json.loads((fold / "config.json").read_text())
    written["config"]["initial_weights"] = str(tmp_path / "start")
    (fold / "config.json").write_text(json.dumps(written))
    verification_results.collect(tmp_path / "runs")
    (path,) = (tmp_path / "kept").iterdir()
    run = json.loads(path.read_text())["runs"]["fold_0"]
    assert run["config"]["initial_weights"] == "runs/start"
    assert run["initial_run"]["recipe"] == start
    config = json.loads(json.dumps(recipe_fields(load_recipe(start))))
    assert run["initial_run"]["config"] == config


def test_the_encoders_of_a_cross_validation_are_trained_first(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(verification_results, "RESULTS", tmp_path / "kept")
    encoders = tmp_path / METHOD
    write_run(encoders, METHOD)
    (encoders / "folds.json").write_text("{}")
    recipe = METHOD.replace("beside", "frozen")
    for number in (1, 2):
        fold = tmp_path / "runs" / f"fold_{number}"
        write_run(fold, recipe)
        written = json.loads((fold / "config.json").read_text())
        written["config"]["initial_weights"] = str(encoders)
        (fold / "config.json").write_text(json.dumps(written))
    verification_results.collect(tmp_path / "runs")
    (path,) = (tmp_path / "kept").iterdir()
    run = json.loads(path.read_text())["runs"]["fold_1"]
    assert run["initial_run"]["cross_validated"] is True
    command = rerun_command(
        recipe,
        run["config"],
        "runs/x",
        folds=["1", "2"],
        initial_run=run["initial_run"],
    )
    start = "python -m trainers.cross_validate --config"
    assert command == (
        f"{start} {METHOD} --folds 1 2 --workdir runs/{METHOD} && "
        f"{start} {recipe} --folds 1 2 --workdir runs/x"
    )
    run["config"]["folds"]["fold"] = 2
    one = rerun_command(
        recipe, run["config"], "runs/x", initial_run=run["initial_run"]
    )
    assert one.startswith(f"{start} {METHOD} --folds 2 --workdir runs/{METHOD}")
    assert "trainers.train --config" in one and "--config.folds.fold=2" in one


def test_seeds_may_start_from_runs_that_differ_in_the_seed_alone():
    recipe = METHOD.replace("beside", "frozen")

    def kept(seed, num_epochs, folder):
        start = {"seed": seed, "num_epochs": num_epochs}
        start = recipe_fields(load_recipe(METHOD)) | start
        own = {"seed": seed, "initial_weights": f"runs/{folder}"}
        config = recipe_fields(load_recipe(recipe)) | own
        first = {"recipe": METHOD, "config": start}
        run = {"config": config, "initial_run": first}
        return {"recipe": recipe, "seed": seed, "runs": {"fold_1": run}}

    files = {"a": kept(0, 3, METHOD), "b": kept(1, 3, f"{METHOD}-seed_1")}
    (runs,) = verification_results.together(files).values()
    assert [*runs] == [("fold_1", 0), ("fold_1", 1)]
    files["b"] = kept(1, 4, f"{METHOD}-seed_1")
    with pytest.raises(ValueError, match="start from other runs.*num_epochs"):
        verification_results.together(files)
    files["b"] = kept(1, 3, f"{METHOD}-seed_1")
    files["b"]["runs"]["fold_1"]["initial_run"]["config"]["seed"] = 0
    with pytest.raises(ValueError, match="started from a run of seed 0"):
        verification_results.together(files)
    files["b"] = kept(1, 3, "another")
    files["b"]["runs"]["fold_1"]["initial_run"]["recipe"] = "another"
    with pytest.raises(ValueError, match="differ in config.initial_weights"):
        verification_results.together(files)


def test_the_numbers_of_a_figure_do_not_touch():
    # A twentieth of the axis is a factor of (50.5 / 6.5)**0.05, 1.11: 42 / 38
    # is less, 44 / 38 is more.
    found = ticks_between(6.5, 50.5)
    assert found == [8, 10, 12, 15, 20, 25, 30, 34, 38, 44, 50]
    assert ticks_between(31, 37) == [32, 34, 36]
    assert ticks_between(0.3, 0.4) == []
