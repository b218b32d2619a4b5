"""The table of uncertainties comes from the committed result files."""

from tools import uncertainty_table
from tools.generated_text import read_between
from trainers.config import load_recipe
from trainers.workdir import recipe_fields


def test_the_page_shows_the_result_files():
    results = uncertainty_table.load()
    marks = uncertainty_table.BEGIN, uncertainty_table.END
    found = read_between(uncertainty_table.PAGE, *marks)
    assert found == uncertainty_table.table(results)


def test_a_row_of_each_uncertainty():
    def cell(head, variance):
        measures = {
            "recall_auroc": 0.6,
            "area_under_risk_coverage": 0.4,
            "variation": 0.3,
        }
        return {
            "recall_at_1": 0.25,
            "few_shot_accuracy": 0.5,
            "head": measures | {"rank_correlation": head},
            "variance": measures | {"rank_correlation": variance},
        }

    recipe = "uncertainty_image_folder_dim_16_stochastic_prototypes"
    config = recipe_fields(load_recipe(recipe)) | {"seed": 1}
    config["batches"] = config["batches"] | {"num_classes": 60}
    run = {
        "recipe": recipe,
        "seed": 1,
        "config": config,
        "training": {"steps": 1000, "processor": "one", "cores": 2},
        "evaluation": {
            "test": {
                "examples": 1200,
                "classes": 40,
                "variance_share": 0.125,
                **{
                    name: cell(*ranks)
                    for name, ranks in {
                        "clean": (0, 0),
                        "corrupt": (0.51, 0.12),
                        "blur": (0.41, 0.22),
                        "noise": (0.31, -0.32),
                    }.items()
                },
            }
        },
    }
    name = (
        "| Tiny ImageNet | 16 | stochastic prototypes, 1,000 steps, "
        "num_classes=60, seed 1 |"
    )
    assert uncertainty_table._row(run, "head") == (
        f"{name} head | 0.51 | 0.41 | 0.31 | 0.60 | 0.60 | 0.40 |  | 0.30 |"
    )
    assert uncertainty_table._row(run, "variance") == (
        f"{name} predicted variance | 0.12 | 0.22 | -0.32 | 0.60 | 0.60 | 0.40 "
        "| 0.125 | 0.30 |"
    )


def test_an_objective_of_the_study():
    recipe = "uncertainty_omniglot_dim_64_stochastic_prototypes"
    config = recipe_fields(load_recipe(recipe))
    name = "benchmarks/_regularised_prototypes.py:RegularisedPrototypes"
    config["objective"] = {**config["objective"], "name": name, "beta": 0.1}
    run = {"recipe": recipe, "seed": 0, "config": config}
    assert uncertainty_table.settings_of(run) == ["beta=0.1"]
    command = uncertainty_table._command(run, "runs/x")
    wanted = f"--config.objective.name={name} --config.objective.beta=0.1 --wo"
    assert wanted in command
    assert command.count("beta") == 1
