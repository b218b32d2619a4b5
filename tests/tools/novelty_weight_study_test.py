"""The study of the penalty of uncertainty heads."""

import pathlib

from tests.read_between import read_between
from tools import novelty_weight_study as study
from tools.generated_text import NOT_RUN
from trainers.config import load_recipe
from trainers.workdirs.workdir import recipe_fields


def test_the_page_has_the_table_of_the_result_files():
    found = study.kept_results(study.RESULTS)
    page = read_between(study.PAGE, study.BEGIN, study.END)
    assert page == study.table(found)


def test_a_row_for_each_weight():
    assert study.table({}) == NOT_RUN
    recipe = "uncertainty_omniglot_dim_2_prototypical"
    ranked = {"rank_correlation": 0.25, "recall_auroc": 0.625}
    row = {
        "clean": {"recall_auroc": 0.75},
        "corrupt": ranked,
        "blur": ranked,
        "noise": {"rank_correlation": -0.5, "recall_auroc": 0.5},
    }
    weights = [{"novelty_weight": weight, **row} for weight in (0.0, 0.2)]
    machine = {"commit": "abcdefabcdef", "processor": "one", "cores": 1}
    run = {
        "recipe": recipe,
        "seed": 0,
        "config": recipe_fields(load_recipe(recipe)),
        "training": {"steps": 1000, "commit": "1234567890"},
        "study": {"weights": weights, **machine},
    }
    lines = study.table({pathlib.Path("a.json"): run}).splitlines()
    name = "| Omniglot | 2 | prototypical, 1,000 steps |"
    numbers = "-0.500 | 0.250 | 0.250 | 0.750 | 0.625 | 0.500 |"
    assert lines[2:4] == [f"{name} 0 | {numbers}", f"{name} 0.2 | {numbers}"]
    said = "Trained at 1234567, measured at abcdefa; one, 1 core."
    assert said in lines
    assert any("novelty_weight_study runs/a" in line for line in lines)
