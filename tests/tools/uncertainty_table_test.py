"""The table of uncertainties comes from the committed result files."""

import json

import numpy as np
import pytest

from benchmarks import head_cost
from benchmarks._side_by_side import load
from tests.read_between import read_between
from tools import damage_figure
from tools import uncertainty_table
from tools.rerun_command import rerun_command
from trainers.config import load_recipe
from trainers.workdirs.workdir import recipe_fields


def test_the_page_shows_the_result_files():
    results = uncertainty_table.load()
    marks = uncertainty_table.BEGIN, uncertainty_table.END
    found = read_between(uncertainty_table.PAGE, *marks)
    assert found == uncertainty_table.table(results)


def test_the_page_shows_the_cost_of_a_head():
    result = load("head_cost")
    found = read_between(head_cost.PAGE, head_cost.BEGIN, head_cost.END)
    assert found == head_cost.table(result)
    # The head adds less than another step; a frozen step has no gradient.
    for seconds in result["encoders"].values():
        assert seconds["frozen"] < seconds["with"] < 2 * seconds["without"]


def test_the_guide_repeats_means_over_seeds():
    head = "| data | dim | setting | uncertainty | rank: rectangle "
    rows = _rows(uncertainty_table.PAGE.read_text(), head)
    of_row = {}
    for data, dim, setting, name, hidden, _, blur, noise, clean, *_ in rows:
        cells = [float(c.split(",")[0]) for c in (hidden, blur, noise, clean)]
        setting = setting.removesuffix(", seed 1")
        of_row.setdefault((data, dim, setting, name), []).append(cells)
    guide = _rows(head_cost.PAGE.read_text(), "| data | dimensions | number ")
    assert len(guide) == 8
    for data, dim, name, steps, seeds, *cells in guide:
        data = {"characters": "Omniglot", "photographs": "Tiny ImageNet"}[data]
        name, _, more = name.partition(", trained with ")
        setting = f"stochastic prototypes, {steps} steps"
        if steps == "1,000":
            setting += ", without_penalty"
        if more == "`beta=0.001`":
            setting += ", beta=0.001, noise_rate=1.0"
        found = of_row[data, dim, setting, name]
        assert len(found) == int(seeds)
        expected = np.mean(found, axis=0)
        # Two decimals of the mean.
        assert [*map(float, cells)] == pytest.approx(expected, abs=0.0051)


def _rows(page, head):
    """The cells of the last table whose head begins with a text."""
    lines = page.rpartition(head)[2].partition("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]


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
    config["dataset"] = "image_folder:tiny_imagenet_32"
    config["batches"] = config["batches"] | {"num_classes": 60}
    run = {
        "recipe": recipe,
        "seed": 1,
        "config": config,
        "training": {
            "steps": 1000,
            "processor": "one",
            "cores": 2,
            "commit": "1234567890",
        },
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
                        "occlusion": (0.81, -0.61),
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
        f"{name} head | 0.510 | 0.810 | 0.410 | 0.310 | 0.600, missed "
        "| 0.600, missed | 3 of 5 | 0.400 |  | 0.300 |"
    )
    assert uncertainty_table._row(run, "variance") == (
        f"{name} predicted variance | 0.120, missed | -0.610 | 0.220, missed "
        "| -0.320, missed | 0.600, missed | 0.600, missed | 0 of 5 | 0.400 "
        "| 0.125 | 0.300 |"
    )
    run["evaluation"]["test"]["clean"]["variance"]["recall_auroc"] = 0.7
    run["evaluation"]["test"]["blur"]["variance"]["rank_correlation"] = None
    assert " | - | " not in uncertainty_table._row(run, "variance")
    met = uncertainty_table.met(run, "variance")
    assert met == [("clean", "recall_auroc", 0.62)]
    # The head of the same run meets more.
    text = uncertainty_table._aims_text([run])
    assert text.endswith("meets: Tiny ImageNet 3.")
    (line,) = uncertainty_table._not_run([run])
    assert f"`{recipe}`" not in line and line.count("`") == 2 * 11


def changed(recipe, *overrides):
    """A run of a recipe with changed fields, as its workdir has it."""
    config = recipe_fields(load_recipe(recipe, list(overrides)))
    return {"recipe": recipe, "seed": config["seed"], "config": config}


@pytest.mark.parametrize(
    ("overrides", "settings"),
    [
        (["preprocess.probability=1.0"], ["probability=1.0"]),
        (["encoder.num_filters=32"], ["num_filters=32"]),
        (["uncertainty.hidden_units=(64, 16)"], ["hidden_units=64+16"]),
        (
            ["uncertainty.num_samples=5"],
            ["uncertainty.num_samples=5"],
        ),
        (["objective.num_samples=5"], ["objective.num_samples=5"]),
        (["batches.num_query=9"], ["num_query=9"]),
        (["uncertainty.name="], ["without_head"]),
        (
            ["optimizer.learning_rate.initial_learning_rate=3e-3"],
            ["initial_learning_rate=0.003"],
        ),
        (["encoder.initial_variance=0.1"], ["initial_variance=0.1"]),
        (["steps_per_epoch=50", "num_epochs=20"], ["steps_per_epoch=50"]),
        # In every run whose length differs from the recipe's.
        (["num_epochs=5", "optimizer.learning_rate.decay_steps=500"], []),
        (["optimizer.learning_rate.decay_steps=1500"], ["decay_steps=1500"]),
        # Of the evaluation; such a run is refused as the same run.
        (["evaluation.num_samples=7", "seed=3", "patience=4"], []),
    ],
)
def test_a_setting_of_the_training_names_the_file(overrides, settings):
    recipe = "uncertainty_image_folder_dim_16_stochastic_prototypes"
    tiny = "dataset=image_folder:/data/tiny_imagenet_32"
    run = changed(recipe, tiny, *overrides)
    run["config"]["dataset"] = "image_folder:tiny_imagenet_32"
    assert uncertainty_table.settings_of(run) == settings
    steps = run["config"]["num_epochs"] * run["config"]["steps_per_epoch"]
    stem = f"{recipe}_seed_{run['config']['seed']}_{steps}"
    assert uncertainty_table.name_of(run) == "_".join([stem, *settings])


def write_workdir(folder, recipe, overrides=()):
    """A workdir with what `collect` reads."""
    folder.mkdir(parents=True)
    run = changed(recipe, *overrides)
    evaluation = {"settings": run["config"]["evaluation"], "test": {}}
    results = {**run, "evaluation": evaluation}
    (folder / "config.json").write_text(json.dumps(run))
    (folder / "results.json").write_text(json.dumps(results))
    return folder


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """The folder to which the test collects."""
    monkeypatch.setattr(uncertainty_table, "RESULTS", tmp_path / "kept")
    return tmp_path / "kept"


def test_a_head_names_the_run_of_its_encoder(tmp_path, kept):
    recipe = "uncertainty_image_folder_dim_64_prototypical"
    data = f"dataset=image_folder:{tmp_path}/flowers"
    start = write_workdir(tmp_path / "runs" / "a", recipe, [data])
    workdir = write_workdir(
        tmp_path / "runs" / "b",
        recipe,
        [
            data,
            f"initial_weights={start}",
            "freeze_encoder=True",
            "monitor=loss",
        ],
    )
    uncertainty_table.collect(workdir)
    (file,) = kept.glob("*.json")
    assert file.stem == (
        f"{recipe}_seed_0_1000_dataset=flowers_initial_weights=a_"
        "freeze_encoder=True"
    )
    assert str(tmp_path) not in file.read_text()
    run = json.loads(file.read_text())
    command = rerun_command(
        recipe, run["config"], "runs/x", initial_run=run["initial_run"]
    )
    first, second, last = command.split(" && ")
    same = f"python -m trainers.train --config {recipe} "
    assert (
        first
        == f"{same}--config.dataset=image_folder:flowers --workdir "
        + ("runs/a")
    )
    assert second == (
        f"{same}--config.dataset=image_folder:flowers --config.monitor=loss "
        "--config.initial_weights=runs/a --config.freeze_encoder=True "
        "--workdir runs/x"
    )
    assert last == "python -m trainers.evaluate --workdir runs/x"


def test_weights_of_a_file_cannot_be_repeated(tmp_path, kept):
    (tmp_path / "weights.keras").touch()
    workdir = write_workdir(
        tmp_path / "b",
        "uncertainty_omniglot_dim_2_prototypical",
        [f"initial_weights={tmp_path}/weights.keras"],
    )
    with pytest.raises(ValueError, match="expected a workdir"):
        uncertainty_table.collect(workdir)
    assert not kept.exists()


def test_runs_that_differ_in_one_field_have_two_files(tmp_path, kept):
    recipe = "uncertainty_omniglot_dim_2_stochastic_prototypes"
    for number, beta in enumerate(("1", "0.5")):
        name = f"preprocess.probability={beta}"
        workdir = write_workdir(tmp_path / f"run_{number}", recipe, [name])
        uncertainty_table.collect(workdir)
    assert len([*kept.glob("*.json")]) == 2
    other = ["preprocess.probability=0.5", "patience=4"]
    workdir = write_workdir(tmp_path / "run_2", recipe, other)
    with pytest.raises(ValueError, match="already contains other values"):
        uncertainty_table.collect(workdir)


def test_an_objective_of_the_study():
    recipe = "uncertainty_omniglot_dim_64_stochastic_prototypes"
    name = "benchmarks/_regularised_prototypes.py:RegularisedPrototypes"
    own = [f"objective.name={name}", "objective.beta=0.1"]
    config = recipe_fields(load_recipe(recipe, own))
    run = {"recipe": recipe, "seed": 0, "config": config}
    settings = uncertainty_table.settings_of(run)
    assert settings == ["beta=0.1", "noise_rate=1.0"]
    command = rerun_command(recipe, config, "runs/x")
    wanted = f"--config.objective.name={name} --config.objective.beta=0.1 --"
    assert wanted in command
    assert command.count("beta") == 1


def test_the_figure_shows_costs_and_ranks_over_seeds():
    def run(accuracy, rank):
        clean = {"few_shot_accuracy": 0.8, "head": {}}
        head = {"rank_correlation": rank}
        noise = {"few_shot_accuracy": accuracy, "head": head}
        test = {"examples": 3, "clean": clean, "noise": noise}
        return {"evaluation": {"test": test}}

    runs = [run(0.4, -0.2), run(0.2, 0.4)]
    found = damage_figure.points(runs, "head")
    assert list(found) == ["noise"]
    # Halves and quarters are left: 62.5 % is lost on average.
    assert found["noise"] == pytest.approx((62.5, 0.1, -0.2, 0.4))
    figure = damage_figure.figure(
        {"data": {"head": (runs, "head")}}, ("noise",)
    )
    (axes,) = figure.axes
    assert [t.get_text() for t in axes.get_yticklabels()] == ["noise *, 62 %"]
    assert axes.lines[0].get_xdata()[0] == pytest.approx(0.1)
