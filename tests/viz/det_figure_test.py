import numpy as np
import pytest
from scipy.stats import norm

from embeddings_tf import metrics
from embeddings_tf import viz


def test_curves_on_the_scale_of_gaussian_quantiles(pixels):
    curve = {"false_alarm": [0.5, 0.2, 0.01], "miss": [0.02, 0.3, 0.4]}
    figure = viz.det_figure({"cosine": curve}, title="Speakers")
    (panel,) = figure.axes
    line, diagonal = panel.lines
    np.testing.assert_allclose(line.get_xdata(), norm.ppf([0.5, 0.2, 0.01]))
    np.testing.assert_allclose(line.get_ydata(), norm.ppf([0.02, 0.3, 0.4]))
    np.testing.assert_allclose(diagonal.get_xdata(), diagonal.get_ydata())
    # From half of the smallest rate to 60 %.
    np.testing.assert_allclose(panel.get_xlim(), norm.ppf([0.005, 0.6]))
    np.testing.assert_allclose(panel.get_ylim(), norm.ppf([0.005, 0.6]))
    names = [tick.get_text() for tick in panel.get_xticklabels()]
    assert names == ["1", "2", "5", "10", "20", "40", "60"]
    np.testing.assert_allclose(
        panel.get_xticks(), norm.ppf(np.array(names, float) / 100)
    )
    assert figure.get_suptitle() == "Speakers"
    assert (
        panel.get_xlabel() == "false accepts, % of pairs of different classes"
    )
    assert panel.get_ylabel() == "misses, % of pairs of one class"
    assert pixels(figure).std() > 5


def test_gaussian_scores_are_straight_lines(pixels):
    quantiles = norm.ppf((np.arange(2000) + 0.5) / 2000)
    scores = np.concatenate([quantiles + 2, quantiles])
    is_target = np.arange(4000) < 2000
    figure = viz.det_figure(
        {"one": metrics.det_curve(scores, is_target)}, title=""
    )
    line = figure.axes[0].lines[0]
    x, y = line.get_xdata(), line.get_ydata()
    inside = (np.abs(x) < 2) & (np.abs(y) < 2)
    # ppf(miss) = t - 2 and ppf(false alarm) = -t.
    assert np.sum(inside) > 500
    np.testing.assert_allclose(y[inside], -2 - x[inside], atol=0.02)
    pixels(figure)


def test_perfect_and_useless_scores_are_drawn(pixels):
    curves = {
        "perfect": metrics.det_curve([2.0, 1.0], [1, 0]),
        "useless": metrics.det_curve([1.0, 1.0], [1, 0]),
    }
    figure = viz.det_figure(curves)
    for line in figure.axes[0].lines:
        assert np.isfinite(line.get_xdata()).all()
        assert np.isfinite(line.get_ydata()).all()
    # The corner without errors lies outside the axes.
    corner = figure.axes[0].lines[0].get_xdata()[1]
    assert corner < figure.axes[0].get_xlim()[0]
    names = figure.legends[0].get_texts()
    assert [text.get_text() for text in names] == list(curves)
    pixels(figure)


@pytest.mark.parametrize(
    ("curves", "message"),
    [
        ({}, "at least one score"),
        ({"a": {"miss": [0.5]}}, "must have the entries false_alarm and miss"),
        ({"a": {"miss": [0.5], "false_alarm": [50]}}, "Divide percentages"),
        (
            {"a": {"miss": [0.5], "false_alarm": [0.5, 0.4]}},
            "2 false alarms and 1 misses",
        ),
        ({"a": {"miss": [np.nan], "false_alarm": [0.5]}}, "a: miss"),
    ],
)
def test_bad_curves(curves, message):
    with pytest.raises(ValueError, match=message):
        viz.det_figure(curves)
