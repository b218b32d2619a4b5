"""Every figure refuses invalid input with one error."""

import inspect

import numpy as np
import pytest
from matplotlib.text import Text

from embeddings_tf import metrics
from embeddings_tf import viz

NOTHING = [None, 3, "text", [], np.nan, [0.5]]
PROPERTIES = metrics.distance_properties(np.random.rand(5, 5))
CURVE = metrics.det_curve([0.1, 0.2], [0, 1])
RELIABILITY = metrics.reliability_curve([[0.75, 0.25]] * 4, [0, 0, 1, 1])
REJECT = metrics.error_versus_reject([0.1, 0.9], [0, 1])
PLANE = np.array([[0.0, 1.0], [2.0, 3.0], [4.0, 4.0]])


@pytest.mark.parametrize("value", [*NOTHING, {}])
@pytest.mark.parametrize(
    "draw",
    [
        viz.auc_distribution_figure,
        viz.bars_figure,
        viz.recall_figure,
        viz.det_figure,
        viz.distance_properties_figure,
        lambda value: viz.learning_curves_figure(value, "recall@1"),
        lambda value: viz.auc_distribution_figure({"a": value}),
        lambda value: viz.bars_figure({"a": value}),
        lambda value: viz.bars_figure({"a": {"b": value}}),
        lambda value: viz.recall_figure({"a": value}),
        lambda value: viz.recall_figure({"a": [value]}),
        lambda value: viz.learning_curves_figure({"a": value}, "recall@1"),
        lambda value: viz.learning_curves_figure({"a": [value]}, "recall@1"),
        lambda value: viz.det_figure({"a": value}),
        lambda value: viz.det_figure({"a": {**CURVE, "miss": value}}),
        lambda value: viz.distance_properties_figure(
            {**PROPERTIES, "asymmetry": value}
        ),
        lambda value: viz.evaluation_figure({"a": value}, {}, {}),
        lambda value: viz.evaluation_figure({}, {"a": value}, {}),
        lambda value: viz.evaluation_figure(
            {"a": {**RELIABILITY, "count": value}}, {}, {}
        ),
        lambda value: viz.evaluation_figure(
            {}, {"a": {**REJECT, "error": value}}, {}
        ),
        lambda value: viz.evaluation_figure(
            {}, {}, {"occluded": [0.1, 0.2], "stddev": value}
        ),
        lambda value: viz.save_figure(value, "/dev/null"),
        lambda value: viz.acceptance_figure(
            value, [0, 1, 1], metrics.cosine_scores, grid_size=3
        ),
        lambda value: viz.acceptance_figure(
            PLANE, value, metrics.cosine_scores, grid_size=3
        ),
        lambda value: viz.acceptance_figure(
            PLANE, [0, 1, 1], value, grid_size=3
        ),
        lambda value: viz.traversal_reference(value),
        lambda value: viz.traversal_indices(value),
        lambda value: viz.mutual_information_figure(value, ["a"]),
        lambda value: viz.embedding_figure(
            PLANE, None, [0, 1, 1], [True] * 3, value
        ),
    ],
)
def test_nothing_that_can_be_drawn(draw, value):
    is_a_fraction = isinstance(value, list) and value
    try:
        draw(value)
    except ValueError as error:
        assert "received" in str(error) or "shape" in str(error)
    else:
        assert is_a_fraction, "drawn without data"


NAME = "$a_{$"  # Matplotlib reads two $ as mathematics, which fails here
CODES = np.random.default_rng(0).normal(size=(20, 2))
RATIOS = metrics.likelihood_ratio_curve(
    [2.0, 1.0, 0.5, -1.0] * 20, [1, 0, 1, 0] * 20, num_bins=2
)


@pytest.mark.parametrize(
    "draw",
    [
        lambda: viz.acceptance_figure(
            PLANE, [0, 1, 1], metrics.cosine_scores, title=NAME, grid_size=3
        ),
        lambda: viz.auc_distribution_figure({NAME: [[0.9, 0.6]]}),
        lambda: viz.bars_figure({NAME: {NAME: [0.5]}}),
        lambda: viz.calibration_figure({NAME: {NAME: RATIOS}}),
        lambda: viz.det_figure({NAME: CURVE}),
        lambda: viz.distance_properties_figure(PROPERTIES, title=NAME),
        lambda: viz.evaluation_figure({NAME: RELIABILITY}, {NAME: REJECT}, {}),
        lambda: viz.learning_curves_figure({NAME: [{1: 0.5, 2: 0.7}]}, NAME),
        lambda: viz.mutual_information_figure([[0.5], [0.1]], [NAME]),
        lambda: viz.paired_comparison_figure(
            {NAME: [0.5, 0.6], "b": [0.7, 0.6]}, NAME
        ),
        lambda: viz.picture_plane_figure(
            PLANE, np.zeros((3, 4, 4)), title=NAME
        ),
        lambda: viz.recall_figure({NAME: [{1: 0.5, 10: 0.8, 1000: 0.9}]}),
        lambda: viz.score_histogram_figure(
            {NAME: [0.1, 0.2]}, name=NAME, marks={NAME: 0.15}
        ),
        lambda: viz.traversal_figure(
            np.zeros((20, 8, 8)), CODES, [[1.2], [0.1]], [NAME]
        ),
        lambda: viz.trials_figure([{NAME: 1}, {NAME: 2}], [0.5, 0.6], NAME),
        lambda: viz.within_subject_bars_figure(
            {NAME: {NAME: [0.5, 0.6], "b": [0.4, 0.7]}}, NAME, title=NAME
        ),
    ],
)
def test_names_are_drawn_as_written(draw, pixels):
    """Neighbours, confusion and embeddings have tests of their own."""
    figure = draw()
    pixels(figure)
    drawn = [text.get_text() for text in figure.findobj(Text)]
    assert any(NAME in text for text in drawn), drawn


@pytest.mark.parametrize(
    "name",
    [
        "learning_curves_figure",
        "paired_comparison_figure",
        "trials_figure",
        "within_subject_bars_figure",
    ],
)
def test_the_label_of_the_vertical_axis_is_the_measure(name):
    parameters = inspect.signature(getattr(viz, name)).parameters
    assert "measure" in parameters


@pytest.mark.parametrize(
    "name",
    [x for x in viz.__all__ if x.endswith("_figure") and x != "save_figure"],
)
def test_every_figure_has_a_title(name):
    title = inspect.signature(getattr(viz, name)).parameters["title"]
    assert title.kind is title.KEYWORD_ONLY and title.default == ""


def test_powers_of_ten_along_an_axis(pixels):
    """The only formulas, which Matplotlib itself writes."""
    figure = viz.distance_properties_figure(PROPERTIES)
    pixels(figure)
    labels = [x for p in figure.axes for x in p.get_yticklabels()]
    powers = [x for x in labels if "10^" in x.get_text()]
    assert powers and all(x.get_parse_math() for x in powers)


@pytest.mark.parametrize("value", [None, 3, "text", []])
def test_parts_of_an_evaluation(value):
    for arguments in ((value, {}, {}), ({}, value, {}), ({}, {}, value)):
        with pytest.raises(ValueError, match="must be a dictionary"):
            viz.evaluation_figure(*arguments)


@pytest.mark.parametrize("threshold", [np.nan, np.inf, "0", None, 10**400])
def test_thresholds(threshold):
    with pytest.raises(ValueError, match="`threshold` must be a finite"):
        viz.acceptance_figure(
            PLANE, [0, 1, 1], metrics.cosine_scores, threshold=threshold
        )


@pytest.mark.parametrize(
    "score",
    [
        lambda a, b: np.full((len(a), len(b)), np.inf),
        lambda a, b: np.full((len(a), len(b)), -np.inf),
        lambda a, b: (
            np.where(np.arange(len(b)) % 2, np.inf, -1.0)
            + np.zeros((len(a), 1))
        ),
        lambda a, b: np.full((len(a), len(b)), np.nextafter(0, 1)),
        lambda a, b: 1e300 * (a @ b.T),
    ],
)
def test_scores_of_any_size(score, pixels):
    figure = viz.acceptance_figure(PLANE, [0, 1, 1], score, grid_size=9)
    pixels(figure)


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (
            lambda: viz.acceptance_figure(
                PLANE, [0, 1, 1], metrics.cosine_scores, grid_size=10**6
            ),
            "`grid_size` must be",
        ),
        (
            lambda: viz.distance_properties_figure(PROPERTIES, num_bins=10**9),
            "`num_bins` must be at most",
        ),
        (
            lambda: viz.distance_properties_figure(PROPERTIES, num_bins=-1),
            "`num_bins` must be an integer",
        ),
        (
            lambda: viz.bars_figure({"a": {"b": [1]}}, starts={"a": [0, 0]}),
            "`starts` must be one fraction",
        ),
        (
            lambda: viz.bars_figure({"a": {"b": [1]}}, baselines=[0.5]),
            "`baselines` must be a dictionary",
        ),
        (
            lambda: viz.bars_figure({"a": {"b": [1]}}, baselines={3: [0.5]}),
            "`baselines` names",
        ),
        (
            lambda: viz.recall_figure({"a": [{1: 0.5}]}, ceiling=[0.5, 0.6]),
            "`ceiling` must be one fraction",
        ),
        (
            lambda: viz.evaluation_figure(
                {"a": {**RELIABILITY, "count": [1, 2]}}, {}, {}
            ),
            "1 row of|2 rows of",
        ),
        (
            lambda: viz.traversal_indices(PLANE, [0.0], 2),
            "`dims` must be a list",
        ),
        (
            lambda: viz.acceptance_figure(
                PLANE * 1e307, [0, 1, 1], metrics.cosine_scores, grid_size=3
            ),
            r"at most 1e\+305 to be drawn; received 4e\+307",
        ),
        (
            lambda: viz.embedding_figure(
                PLANE * -1e307, None, [0, 1, 1], [True] * 3, {"a": [0, 1, 1]}
            ),
            "at most 1e.* to be drawn",
        ),
        (
            lambda: viz.traversal_indices(
                np.arange(20.0)[:, None] * 1e-300, [0], 3, reference=[1.0]
            ),
            "`reference` must be near the codes",
        ),
    ],
)
def test_errors(draw, message):
    with pytest.raises(ValueError, match=message):
        draw()


def test_large_values_have_a_mean():
    largest = np.finfo(float).max
    figure = viz.learning_curves_figure(
        {"a": [{0: largest, 1: 1.0}, {0: largest, 1: 3.0}]}, "loss"
    )
    assert figure.axes[0].lines[0].get_ydata().tolist() == [largest, 2.0]
