import numpy as np
import pytest

from embeddings_tf import viz

TRIALS = [
    {"dim": 16, "rate": 1e-4, "loss": "triplet"},
    {"dim": 64, "rate": 1e-2, "loss": "histogram", "margin": 0.5},
    {"dim": 32, "rate": 1e-3, "loss": "triplet"},
]


def dots(panel):
    return panel.collections[0].get_offsets()


def star(panel):
    return panel.collections[1].get_offsets().tolist()


def test_a_panel_for_each_hyperparameter(pixels):
    figure = viz.trials_figure(
        TRIALS, [0.5, 0.9, 0.7], "recall@1", title="a $ search"
    )
    panels = {p.get_xlabel(): p for p in figure.axes if p.get_visible()}
    assert list(panels) == ["completed trial", "dim", "rate", "loss", "margin"]
    np.testing.assert_allclose(
        dots(panels["completed trial"]), [[1, 0.5], [2, 0.9], [3, 0.7]]
    )
    (line,) = panels["completed trial"].lines
    np.testing.assert_allclose(line.get_ydata(), [0.5, 0.9, 0.9])
    np.testing.assert_allclose(
        dots(panels["dim"]), [[16, 0.5], [64, 0.9], [32, 0.7]]
    )
    assert star(panels["dim"]) == [[64, 0.9]]
    assert panels["dim"].get_xscale() == "linear"
    assert panels["rate"].get_xscale() == "log"
    ticks = [tick.get_text() for tick in panels["loss"].get_xticklabels()]
    assert ticks == ["histogram", "triplet"]
    np.testing.assert_allclose(
        dots(panels["loss"]), [[1, 0.5], [0, 0.9], [1, 0.7]]
    )
    np.testing.assert_allclose(dots(panels["margin"]), [[0.5, 0.9]])
    assert panels["completed trial"].get_ylabel() == "recall@1"
    assert figure.get_suptitle().startswith("a $ search")
    assert pixels(figure).std() > 10


def test_the_least_objective_can_be_the_best(pixels):
    figure = viz.trials_figure(
        TRIALS, [0.5, 0.9, 0.2], "error", direction="min"
    )
    assert star(figure.axes[0]) == [[3, 0.2]]
    np.testing.assert_allclose(
        figure.axes[0].lines[0].get_ydata(), [0.5, 0.5, 0.2]
    )
    # The best trial has no margin, so its panel has no star.
    assert len(figure.axes[4].collections) == 1
    pixels(figure)


def test_ticks_are_the_tried_integers_and_names_in_order(pixels):
    trials = [
        {"dim": dim, "hidden": h}
        for dim, h in zip((8, 256, 64), (128, None, 64), strict=True)
    ]
    figure = viz.trials_figure(trials, [0.1, 0.2, 0.3], "recall")
    panels = figure.axes
    assert panels[0].get_xticks().tolist() == [1, 2, 3]
    assert panels[1].get_xscale() == "log"
    assert panels[1].get_xticks().tolist() == [8, 64, 256]
    names = [tick.get_text() for tick in panels[2].get_xticklabels()]
    assert names == ["64", "128", "None"]
    np.testing.assert_allclose(dots(panels[2])[:, 0], [1, 2, 0])
    pixels(figure)
    huge = viz.trials_figure([{"a": 10**400}, {"a": 1}], [1, 2], "recall")
    pixels(huge)


def test_a_space_without_hyperparameters(pixels):
    figure = viz.trials_figure([{}], [1.0], "loss")
    assert [panel.get_xlabel() for panel in figure.axes] == ["completed trial"]
    pixels(figure)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([], [], "a"), "at least one trial"),
        (([1], [0.5], "a"), "must be dictionaries"),
        (([{}], [0.5, 0.6], "a"), "a value for each of 1 trial;"),
        (([{}], [np.nan], "a"), "objective"),
        (([{}], [0.5], 3), "measure"),
    ],
)
def test_errors(arguments, message):
    with pytest.raises(ValueError, match=message):
        viz.trials_figure(*arguments)


def test_unknown_direction():
    with pytest.raises(ValueError, match="direction"):
        viz.trials_figure([{}], [0.5], "a", direction="up")


def test_many_trials_are_along_a_linear_axis(pixels):
    figure = viz.trials_figure([{}] * 30, np.linspace(0, 1, 30), "recall@1")
    assert figure.axes[0].get_xscale() == "linear"
    assert dots(figure.axes[0])[0][0] == 1
    pixels(figure)
