import numpy as np
import pytest

from embeddings_tf import viz


def test_curves_and_histograms(pixels):
    rng = np.random.default_rng(0)
    aucs = {
        "triplet": [rng.uniform(0.5, 1, 17) for _ in range(5)],
        "F": [[0.9, 1.0, 0.5], [0.97]],  # one value is absent in a fold
    }
    figure = viz.auc_distribution_figure(aucs, title="Sprites")
    curves, *histograms = figure.axes
    for line, panel, name in zip(curves.lines, histograms, aucs, strict=True):
        pooled = sorted(value for run in aucs[name] for value in run)
        assert line.get_label() == name
        np.testing.assert_array_equal(line.get_ydata(), pooled)
        np.testing.assert_allclose(
            line.get_xdata(), (np.arange(len(pooled)) + 0.5) / len(pooled)
        )
        count, edges = np.histogram(pooled, 20, (0.5, 1))
        np.testing.assert_allclose(
            [bar.get_height() for bar in panel.patches], count / len(pooled)
        )
        np.testing.assert_allclose(
            [bar.get_x() for bar in panel.patches], edges[:-1]
        )
        np.testing.assert_allclose(
            panel.lines[0].get_xdata(), np.median(pooled)
        )
        assert panel.get_title("left").startswith(f"{name}: median ")
    assert figure.get_suptitle() == "Sprites"
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == [*aucs]
    assert pixels(figure).std() > 10


def test_one_method_of_one_flat_run(pixels):
    figure = viz.auc_distribution_figure({"a": [0.9, 0.7]})
    np.testing.assert_array_equal(
        figure.axes[0].lines[0].get_ydata(), [0.7, 0.9]
    )
    assert figure.legends[0].get_texts()[0].get_text() == "a"
    assert pixels(figure).std() > 10


def test_below_chance_is_seen():
    figure = viz.auc_distribution_figure({"a": [[0.2, 0.9]], "b": [[1.0]]})
    for panel, start in zip(figure.axes[1:], (1 / 2, 1), strict=True):
        assert panel.get_xlim()[0] == 0.2
        heights = [bar.get_height() for bar in panel.patches]
        assert sum(heights) == 1
        assert max(heights) == start


@pytest.mark.every_nth(5)
@pytest.mark.parametrize("name", ["a loss", "F statistic, dimension dropout"])
@pytest.mark.parametrize("num_methods", [1, 2, 3, 4, 6, 10])
def test_all_letters_are_seen(num_methods, name):
    """Labels are inside the figure and do not overlap."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.text import Text

    figure = viz.auc_distribution_figure(
        {
            f"{name} {i}": [np.linspace(0.5 + i / 30, 1, 17)]
            for i in range(num_methods)
        },
        title="Sprites, frames that show the weapon",
    )
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    # Excludes tick labels, some of which are outside the axes and not drawn.
    ticks = {
        text
        for panel in figure.axes
        for axis in (panel.xaxis, panel.yaxis)
        for text in axis.get_ticklabels(which="both")
    }
    boxes = [
        text.get_window_extent()
        for text in figure.findobj(Text)
        if text.get_text() and text.get_visible() and text not in ticks
    ]
    assert len(boxes) >= 5 + 2 * num_methods
    for box in boxes:
        assert figure.bbox.x0 <= box.x0 and box.x1 <= figure.bbox.x1
        assert figure.bbox.y0 <= box.y0 and box.y1 <= figure.bbox.y1
        assert [box.overlaps(other) for other in boxes].count(True) == 1


def test_many_methods(pixels):
    aucs = {f"method {i}": [[0.5 + i / 30, 0.9]] for i in range(10)}
    figure = viz.auc_distribution_figure(aucs)
    assert len(figure.axes) == 11
    pixels(figure)


@pytest.mark.parametrize(
    ("aucs", "message"),
    [
        ({}, "`aucs` must have at least one method"),
        ({"a": []}, "`a` must have at least one run"),
        ({"a": [[]]}, "`a` must have shape"),
        ({"a": [[[0.5]]]}, r"`a` must have shape .*received shape \(1, 1\)"),
        ({"a": [[0.5, np.nan]]}, "`a` must be finite; received nan"),
        ({"a": [[0.5, 1.1]]}, "`a` must be fractions in .*received 1.1"),
    ],
)
def test_errors(aucs, message):
    with pytest.raises(ValueError, match=message):
        viz.auc_distribution_figure(aucs)
