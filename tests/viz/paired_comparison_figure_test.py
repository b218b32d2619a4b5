"""Tests of the figure of a paired comparison."""

import numpy as np

from embeddings_tf import viz

VALUES = {"a": [0.5, 0.7, 0.9], "b": [0.6, 0.6, 0.3]}


def test_lines_join_repeats_and_bars_are_means():
    figure = viz.paired_comparison_figure(VALUES, "recall@1", title="Seeds")
    (panel,) = figure.axes
    assert panel.get_ylabel() == "recall@1" and panel.get_title() == "Seeds"
    lines = [np.asarray(line.get_ydata()).tolist() for line in panel.lines]
    assert lines[:3] == [[0.5, 0.6], [0.7, 0.6], [0.9, 0.3]]
    assert lines[3] == VALUES["a"] and lines[5] == VALUES["b"]
    np.testing.assert_allclose(lines[4], [0.7, 0.7])
    np.testing.assert_allclose(lines[6], [0.5, 0.5])
    assert [t.get_text() for t in panel.get_xticklabels()] == ["a", "b"]
