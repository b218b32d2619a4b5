import numpy as np
import pytest

from embeddings_tf import viz


def test_heights_are_shares_and_the_legend_counts(pixels):
    same, different = np.array([1.0, 2.0, 3.0, 3.0]), np.arange(-4.0, 4.0)
    figure = viz.score_histogram_figure(
        {"same": same, "different": different}, 2.0, name="logit", title="Pairs"
    )
    (panel,) = figure.axes
    for patch in panel.patches:
        values, _, _ = patch.get_data()
        np.testing.assert_allclose(values.sum(), 100)
    texts = [text.get_text() for text in panel.get_legend().get_texts()]
    assert texts == [
        "same (4): 75.0 % accepted",
        "different (8): 25.0 % accepted",
        "threshold 2",
    ]
    assert panel.lines[0].get_xdata()[0] == 2.0
    assert panel.get_xlabel() == "logit"
    assert figure.get_suptitle() == "Pairs"
    assert pixels(figure).std() > 5


def test_outliers_are_in_the_last_bins():
    scores = np.append(np.linspace(0, 1, 999), 1e9)
    figure = viz.score_histogram_figure({"all": scores})
    (panel,) = figure.axes
    assert panel.get_xlim()[1] < 2
    values, _, _ = panel.patches[0].get_data()
    np.testing.assert_allclose(values.sum(), 100)


def test_equal_scores_are_drawn(pixels):
    figure = viz.score_histogram_figure({"all": np.full(3, 7.0)}, 7.0)
    assert pixels(figure).std() > 5


def test_refusals():
    with pytest.raises(ValueError, match="at least one group"):
        viz.score_histogram_figure({})
    with pytest.raises(ValueError, match="must be finite"):
        viz.score_histogram_figure({"a": [np.nan]})


def test_marks_are_lines_inside_the_axes(pixels):
    scores = np.linspace(0, 1, 99)
    figure = viz.score_histogram_figure(
        {"all": scores}, 0.5, marks={"a, b (same)": 4.0, "c": -3.0}
    )
    (panel,) = figure.axes
    assert [line.get_xdata()[0] for line in panel.lines] == [0.5, 4.0, -3.0]
    low, high = panel.get_xlim()
    assert low < -3 and high > 4
    texts = [text.get_text() for text in panel.get_legend().get_texts()]
    assert texts[2:] == ["a, b (same): 4", "c: -3"]
    assert pixels(figure).std() > 5


def test_a_mark_near_the_threshold_has_another_text():
    figure = viz.score_histogram_figure(
        {"all": np.linspace(-40, 0, 99)}, -30.189772, marks={"a": -30.189769}
    )
    (panel,) = figure.axes
    texts = [text.get_text() for text in panel.get_legend().get_texts()]
    assert texts[1:] == ["threshold -30.189772", "a: -30.189769"]


@pytest.mark.parametrize(
    "marks", [[1.0], {"a": np.nan}, {str(n): n for n in range(10)}]
)
def test_marks_are_refused(marks):
    with pytest.raises(ValueError, match="marks"):
        viz.score_histogram_figure({"a": [1.0]}, marks=marks)
