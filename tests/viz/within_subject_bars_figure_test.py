import numpy as np
import pytest
from scipy.stats import t

from embeddings_tf import viz

GROUPS = {
    "clean": {"PN": [64.0, 81.0, 90.0], "SPE": [66.0, 84.0, 91.0]},
    "corrupt": {"SPE": [48.0, 57.0, 76.0]},
}


def test_means_and_intervals(pixels):
    figure = viz.within_subject_bars_figure(GROUPS, "accuracy, %", title="Test")
    (panel,) = figure.axes
    heights = [bar.get_height() for bar in panel.patches]
    expected = [
        np.mean(GROUPS["clean"]["PN"]),
        np.mean(GROUPS["clean"]["SPE"]),
        np.mean(GROUPS["corrupt"]["SPE"]),
    ]
    np.testing.assert_allclose(heights, expected)
    # Differences 2, 3 and 1, as in the test of the interval.
    half = t.ppf(0.975, 2) * (0.5 / 3) ** 0.5
    segments = [s for c in panel.collections for s in c.get_segments()]
    assert len(segments) == 2  # the second group has one method
    for segment, mean in zip(segments, expected, strict=False):
        np.testing.assert_allclose(segment[:, 1], [mean - half, mean + half])
    places = [bar.get_x() + bar.get_width() / 2 for bar in panel.patches]
    np.testing.assert_allclose(places, [-0.2, 0.2, 1.2])
    ticks = [text.get_text() for text in panel.get_xticklabels()]
    assert ticks == ["clean", "corrupt"]
    assert panel.get_ylabel() == "accuracy, %"
    note = figure.get_supxlabel()
    assert note == "mean of 3 ± 95 % within-subject interval"
    assert pixels(figure).std() > 10


def test_without_intervals(pixels):
    figure = viz.within_subject_bars_figure({"a": {"x": [1.0], "y": [2.0]}})
    assert figure.get_supxlabel() == "mean of 1"
    assert not figure.axes[0].collections
    pixels(figure)


def test_methods_of_a_group_have_the_same_subjects():
    with pytest.raises(ValueError, match="PN"):
        viz.within_subject_bars_figure({"a": {"PN": [1.0], "SPE": [1.0, 2.0]}})
