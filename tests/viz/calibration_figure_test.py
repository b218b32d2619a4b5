import numpy as np
import pytest

from embeddings_tf import metrics
from embeddings_tf import viz


def test_lines_are_the_bins_with_enough_trials(pixels):
    curve = {
        "stated": np.array([-9.0, -2.0, 1.0]),
        "observed": np.array([-8.0, -1.0, 0.5]),
        "targets": np.array([4, 5, 90]),
        "nontargets": np.array([900, 50, 5]),
    }
    figure = viz.calibration_figure(
        {"as trained": {"plda": curve}, "calibrated": {}}, title="Speakers"
    )
    before, after = figure.axes
    diagonal, line = before.lines
    np.testing.assert_allclose(line.get_xydata(), [[-2, -1], [1, 0.5]])
    np.testing.assert_allclose(diagonal.get_xdata(), diagonal.get_ydata())
    assert before.get_ylim() == pytest.approx((-1.1, 1.1))
    assert before.get_xlim() == pytest.approx((-2.2, 2.2))
    assert len(after.lines) == 1
    assert [axes.get_title() for axes in figure.axes] == [
        "as trained",
        "calibrated",
    ]
    assert pixels(figure).std() > 5


def test_separated_scores_leave_only_the_diagonal(pixels):
    curve = metrics.likelihood_ratio_curve([0.0, 1.0], [0, 1])
    figure = viz.calibration_figure({"calibrated": {"plda": curve}})
    assert len(figure.axes[0].lines) == 1
    pixels(figure)


def test_a_score_has_one_readable_name_and_colour_in_all_panels():
    curve = metrics.likelihood_ratio_curve(
        [2.0, 1.0, 0.5, -1.0] * 20, [1, 0, 1, 0] * 20, num_bins=2
    )
    figure = viz.calibration_figure(
        {
            "as trained": {"learned_distance": curve},
            "calibrated": {"cosine": curve, "learned_distance": curve},
        }
    )
    before, after = (panel.lines[1:] for panel in figure.axes)
    assert [line.get_label() for line in after] == [
        "cosine",
        "learned distance",
    ]
    colours = {line.get_label(): line.get_color() for line in after}
    assert before[0].get_label() == "learned distance"
    assert colours["learned distance"] == before[0].get_color()
    assert colours["cosine"] != before[0].get_color()
