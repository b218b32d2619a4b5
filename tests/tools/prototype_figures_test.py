"""Figures and studies of stochastic prototypes, from made-up results."""

import copy
import json

import numpy as np
import pytest

from tests.read_between import read_between
from tools import colour_orientation_table
from tools import method_bars
from tools import n_digit_grid
from tools import prototype_planes
from tools import sampler_series
from tools import samplers_study
from tools.generated_text import NOT_RUN
from trainers.config import load_recipe
from trainers.workdirs.workdir import recipe_fields

TRAINING = {
    "steps": 2000,
    "seconds": 60,
    "commit": "0123456789",
    "processor": "a processor",
    "cores": 1,
    "best_value": 0.5,
}


def colour_run(**changes):
    """A result file that meets every aim, and a change."""
    noise = {
        "levels": [0.0, 30.0, 180.0],
        "colour": [0.3, 0.1, 0.7],
        "orientation": [0.25, 0.1, 0.2],
    }
    leg = {
        "levels": [1.0, 0.1],
        "colour": [0.1, 0.7],
        "orientation": [0.1, 0.2],
        "ratio": {"colour": 7.0, "orientation": 2.0},
    }
    degrees = np.linspace(45, 135, 3)
    mean = np.stack(np.meshgrid(degrees, degrees, indexing="ij"), axis=-1)
    test = {
        "accuracy": 0.951,
        "ideal_accuracy": 0.955,
        "bayes_accuracy": 0.955,
        "single_dimension_auc": {
            "orientation": [0.99, 0.5],
            "colour": [0.5, 0.98],
        },
        "axis": {"orientation": 0, "colour": 1},
        "variance": {"hue_noise": noise, "leg": leg},
    }
    recipe = "colour_orientation_stochastic_prototypes"
    return {
        "recipe": recipe,
        "seed": 0,
        "config": recipe_fields(load_recipe(recipe)),
        "training": TRAINING,
        "evaluation": {
            "test": {**test, **changes},
            "grid": {
                "degrees": degrees.tolist(),
                "mean": mean.tolist(),
                "variance": np.full((3, 3, 2), 25.0).tolist(),
                "half_way": {"orientation": [3.0, 1.0], "colour": [1.0, 2.0]},
            },
        },
    }


def test_the_aims_of_colour_and_orientation():
    run = colour_run()
    found = colour_orientation_table.aims(run["evaluation"]["test"])
    values = [value for value, _, _ in found.values()]
    # Points below the ideal, two AUCs, (0.7 - 0.1) / (0.2 - 0.1), two ratios.
    np.testing.assert_allclose(values, [0.4, 0.98, 0.99, 6.0, 7.0, 2.0])
    assert all(held for _, _, held in found.values())
    text = colour_orientation_table.table([run])
    assert "| accuracy, % | | 95.10 |" in text
    assert "missed" not in text
    assert "hue noise from 30 to 180 degrees" in text
    ratios = {"colour": 3.0, "orientation": 2.5}
    for factor, ratio in ratios.items():
        assert (
            f"| variance of {factor} without noise, over the variance with hue "
            f"noise of 30 degrees | | {ratio:.2f} |"
        ) in text
    # Half-way on its own axis: dimension 1 for colour, 0 for orientation.
    assert "of colour half-way between two classes" in text
    assert text.count("| 2.00 |") == 1 and text.count("| 3.00 |") == 2


@pytest.mark.parametrize(
    ("rises", "holds"),
    [((0.31, 0.1), True), ((0.29, 0.1), False), ((0.1, -0.1), True),
     ((-0.1, -0.2), False)],
)  # fmt: skip
def test_the_rise_with_hue_noise(rises, holds):
    run = colour_run()
    test = run["evaluation"]["test"]
    for factor, rise in zip(("colour", "orientation"), rises, strict=True):
        # Without noise, the variance is larger and does not count.
        test["variance"]["hue_noise"][factor] = [9.0, 0.5, 0.5 + rise]
    found = colour_orientation_table.aims(test)
    (row,) = (value for name, value in found.items() if "hue noise" in name)
    assert row[2] == holds
    assert ("missed" in colour_orientation_table.table([run])) != holds


def test_missed_aims_are_marked():
    text = colour_orientation_table.table([colour_run(accuracy=0.94)])
    assert "1.5, missed" in text


def test_figures_of_colour_and_orientation():
    drawn = colour_orientation_table.figures([colour_run()])
    grid, variance = drawn.values()
    points = grid.axes[1].collections[0].get_offsets()
    assert len(points) == 9
    # The shape of the smaller angles is in the lower left, the last row.
    from embeddings_tf.datasets.l_shapes import draw_l_shapes

    shape = draw_l_shapes(np.array([45.0]), np.array([45.0]))[0]
    mosaic = np.asarray(grid.axes[0].images[0].get_array())
    np.testing.assert_array_equal(mosaic[-64:, :64], shape)
    assert grid.axes[1].get_xlabel() == "dimension 1: orientation"
    assert grid.axes[1].get_ylabel() == "dimension 2: colour"
    heights = [line.get_ydata() for line in variance.axes[0].lines]
    np.testing.assert_allclose(heights, [[0.3, 0.1, 0.7], [0.25, 0.1, 0.2]])
    for figure in drawn.values():
        figure.canvas.draw()
    assert colour_orientation_table.figures([]) == {}
    assert colour_orientation_table.table([]) == NOT_RUN


def study_run(
    sampler,
    count,
    accuracy,
    first_variance=None,
    recipe=sampler_series.NUMBERS,
    **changes,
):
    config = copy.deepcopy(recipe_fields(load_recipe(recipe)))
    config["objective"] |= {"sampler": sampler, "num_samples": count}
    if first_variance is not None:
        config["encoder"] |= {"initial_variance": first_variance}
    config |= {"num_epochs": 10, **changes}
    cells = {
        name: {"accuracy": accuracy, "interval": 0.01}
        for name in n_digit_grid.CONDITIONS
    }
    return {
        "recipe": recipe,
        "seed": 0,
        "config": config,
        "training": TRAINING,
        "evaluation": dict.fromkeys(
            (*n_digit_grid.SPLITS, "test", "test_20_class_1_shot"), cells
        ),
    }


def test_the_study_of_the_samplers_ignores_other_runs():
    runs = [
        study_run("naive", 20, 0.7),
        study_run("intersection", 1, 0.8),
        study_run("naive", 5, 0.5),
        study_run("naive", 1, 0.1, num_epochs=40),
        study_run("naive", 1, 0.1, patience=3),
        {**study_run("naive", 1, 0.1), "recipe": "another"},
        study_run("naive", 10, 0.6, 0.05),
        study_run("naive", 1, 0.1, 0.2),
        study_run("intersection", 1, 0.1, 0.05),
    ]
    rate = study_run("naive", 1, 0.1)
    rate["config"]["optimizer"]["learning_rate"]["initial_learning_rate"] = 1
    characters = sampler_series.CHARACTERS
    runs += [study_run("naive", 20, 0.3, recipe=characters), rate]
    found = {
        name: samplers_study.by_series(runs, name)
        for name in (characters, sampler_series.NUMBERS)
    }
    assert {name: [*of] for name, of in found[characters].items()} == {
        "naive": [20]
    }
    numbers = found[sampler_series.NUMBERS]
    assert {name: [*of] for name, of in numbers.items()} == {
        "intersection": [1],
        "naive": [5, 20],
        "naive, first variance 0.05": [10],
    }
    text = samplers_study.table(found)
    assert "| naive | 20 | 0 | 30.0 | 30.0 | " in text
    assert "| naive | 5 | 0 | 50.0 | 50.0 |" in text
    assert "| naive, first variance 0.05 | 10 | 0 | 60.0 | 60.0 |" in text
    assert "# naive, 20, seed 0" in text
    assert "--config.encoder.initial_variance=0.05" in text
    assert "--config.objective.num_samples=20" in text
    _, part = samplers_study.PARTS
    panel = samplers_study.figure(part, numbers).axes[0]
    _, naive, small = (bars.lines[0] for bars in panel.containers)
    # Errors in %; the curves are beside each other by 6 %.
    np.testing.assert_allclose(naive.get_xydata(), [[5, 50], [20, 30]])
    np.testing.assert_allclose(small.get_xydata(), [[10.6, 40]])
    assert len(samplers_study.figures(found)) == 2
    assert samplers_study.table({}) == NOT_RUN and not samplers_study.figures(
        {}
    )


def test_the_study_pairs_samplers_by_seed():
    """A setting of seed 0 is not compared with the mean over seeds 0 and 1."""
    one = [study_run("intersection", 1, 0.9), study_run("intersection", 1, 0.7)]
    ten = [study_run("naive", 10, 0.8), study_run("naive", 10, 0.64)]
    for runs in (one, ten):
        runs[1]["seed"] = 1
    many = study_run("naive", 100, 0.85)
    found = samplers_study.by_series([*one, *ten, many], sampler_series.NUMBERS)
    _, part = samplers_study.PARTS
    lines = samplers_study.differences(part, found)
    # Differences are 10 and 6 points: mean 8, standard error 2, and with one
    # degree of freedom p = 1 - 2 atan(8 / 2) / pi = .156.
    cells = " | ".join(["+8.0 ± 2.0 (.156)"] * len(part.cells))
    assert f"| naive | 10 | 0 1 | {cells} |" in lines
    cells = " | ".join(["+5.0"] * len(part.cells))
    assert f"| naive | 100 | 0 | {cells} |" in lines
    assert not any(line.startswith("| intersection") for line in lines)
    assert "\n".join(lines) in samplers_study.part_table(part, found)
    assert not samplers_study.differences(part, {"naive": found["naive"]})


def test_bars_need_two_methods_with_all_tasks():
    tasks = [[50.0, 60.0], [70.0]]
    panels = {
        "n_digit_seen": {
            "clean": {"PN": tasks, "SPE": tasks, "HIB": [[1], []]}
        },
        "n_digit_unseen": {"clean": {"PN": tasks, "SPE": [[], []]}},
    }
    found = method_bars.complete(panels)
    expected = {"PN": [55.0, 70.0], "SPE": [55.0, 70.0]}
    assert found == {"n_digit_seen": {"clean": expected}}
    ((name, figure),) = method_bars.figures(found).items()
    assert f"figures/{name}.png" in method_bars.text(found)
    legend = [t.get_text() for t in figure.axes[0].get_legend().get_texts()]
    assert legend == [
        "prototypical\nnetworks (PN)",
        "stochastic\nprototypes (SPE)",
    ]


def test_characters_do_not_cover_one_another():
    mean = np.random.default_rng(0).normal(size=(500, 2))
    rows = prototype_planes.apart(mean, most=60, distance=0.05)
    assert len(rows) == len(set(rows)) == 60
    low, high = np.percentile(mean, [1, 99], axis=0)
    places = (mean[rows] - low) / (high - low)
    assert places.min() >= 0 and places.max() <= 1
    for number, place in enumerate(places):
        for other in places[:number]:
            assert max(abs(place - other)) >= 0.05


def test_a_plane_of_numbers_is_copied(tmp_path, monkeypatch):
    run = tmp_path / "run"
    run.mkdir()
    recipe = sampler_series.NUMBERS
    config = recipe_fields(load_recipe(recipe))
    (run / "config.json").write_text(json.dumps({"config": config}))
    results = {"recipe": recipe, "training": TRAINING, "data_fingerprint": "ab"}
    (run / "results.json").write_text(json.dumps(results))
    (run / "embedding.png").write_bytes(b"a picture")
    for name in ("RESULTS", "FIGURES"):
        monkeypatch.setattr(prototype_planes, name, tmp_path / name)
    prototype_planes.collect(run)
    (kept,) = (tmp_path / "FIGURES").iterdir()
    assert kept.read_bytes() == b"a picture"
    assert list(prototype_planes.load()) == [kept.stem]
    text = prototype_planes.text(prototype_planes.load())
    assert f"../figures/{kept.name}" in text
    assert (
        f"`{recipe}`, seed 0, 2,000 episodes, commit 0123456, data ab." in text
    )


def test_only_planes_are_drawn(tmp_path):
    config = {"dataset": "n_digit/3_number", "encoder": {"dim": 2}}
    (tmp_path / "config.json").write_text(json.dumps({"config": config}))
    (tmp_path / "results.json").write_text("{}")
    with pytest.raises(ValueError, match="received n_digit/3_number in 2"):
        prototype_planes.collect(tmp_path)


@pytest.mark.parametrize(
    ("method", "received"),
    [
        ("hedged_instances", "HedgedInstances"),
        ("prototypical", "PrototypicalLoss"),
    ],
)
def test_only_planes_of_stochastic_prototypes(tmp_path, method, received):
    config = recipe_fields(load_recipe(f"n_digit_2_dim_2_{method}"))
    (tmp_path / "config.json").write_text(json.dumps({"config": config}))
    (tmp_path / "results.json").write_text("{}")
    with pytest.raises(ValueError, match=f"received {received}"):
        prototype_planes.collect(tmp_path)


@pytest.mark.parametrize(
    ("module", "text"),
    [
        (colour_orientation_table, colour_orientation_table.table),
        (samplers_study, samplers_study.table),
        (method_bars, method_bars.text),
        (prototype_planes, prototype_planes.text),
    ],
)
def test_the_page_is_up_to_date(module, text):
    found = read_between(module.PAGE, module.BEGIN, module.END)
    assert found == text(module.load())
