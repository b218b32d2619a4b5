"""Tables of verification: differences, lengths, and folders of one's own."""

import copy
import json

import pytest

from tools import verification_results
from tools import verification_table
from trainers.config import load_recipe
from trainers.workdir import recipe_fields

METHOD = "omniglot_verification_lifted_structure_frozen"


def measures(eer, **more):
    return {
        "equal_error_rate": eer,
        "one_minus_auc": eer / 2,
        "min_dcf": 0.5,
        "min_cllr": 0.2,
        **more,
    }


def files(recipes):
    """Result files of two folds, from a committed run.

    Args:
        recipes: Measures by recipe, score and fold.
    """
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
        name = path.with_name(f"{recipe}.json")
        found[name] = {"recipe": recipe, "seed": 0, "runs": runs}
    return verification_results.together(found)


def test_a_distance_on_top_is_compared_with_the_scores_below_it():
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
    assert (
        "| the distance on top minus | folds | EER, points | claims: EER, "
        "points | 1 - AUC |" in text
    )
    assert "| lifted structure by Euclidean distance | 2 | -1.00 ± 0.00" in text
    assert "| lifted structure by cosine | 2 | -3.00 ± 1.00" in text
    # Cllr only where both have it: .25 - .125 and .35 - .225.
    heading = "claims: EER, points | 1 - AUC | Cllr |"
    assert "| learned distance by learned distance minus | folds | " in text
    assert heading in text
    row = next(
        line
        for line in text.splitlines()
        if line.startswith("| lifted structure, distance on top by learned d")
    )
    cells = row.split(" | ")
    assert cells[2].startswith("+4.00 ± 1.00") and "+0.125 ± 0.000" in cells[5]
    assert "; 200 batches at most" in text, "the longest run's"


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
