import numpy as np
import pytest

from embeddings_tf import metrics
from embeddings_tf import viz

RUNS = [
    {1: 0.5, 2: 0.6, 100: 0.9},
    {100: 0.8, 1: 0.3, 2: 0.7},
    {1: 0, 2: 0.8, 100: 1},
]


def bands(panel):
    return [band.get_paths()[0].vertices for band in panel.collections]


def test_means_and_standard_errors(pixels):
    figure = viz.recall_figure({"triplet": RUNS}, title="Birds")
    (panel,) = figure.axes
    values = np.array([[0.5, 0.6, 0.9], [0.3, 0.7, 0.8], [0, 0.8, 1]])
    mean = values.sum(axis=0) / 3
    error = np.sqrt(((values - mean) ** 2).sum(axis=0) / 2 / 3)
    (line,) = panel.lines
    np.testing.assert_array_equal(line.get_xdata(), [1, 2, 100])
    np.testing.assert_allclose(line.get_ydata(), mean)
    (band,) = bands(panel)
    for k, low, high in zip(
        (1, 2, 100), mean - error, mean + error, strict=True
    ):
        heights = band[band[:, 0] == k, 1]
        np.testing.assert_allclose([heights.min(), heights.max()], [low, high])
    assert figure.get_suptitle() == "Birds"
    assert figure.get_supxlabel() == "mean ± standard error of 3 runs"
    assert pixels(figure).std() > 10


def test_many_methods_of_different_k(pixels):
    recalls = {f"method {i}": [{1: i / 20, 5: 0.9}] * 2 for i in range(12)}
    recalls["other"] = [{2: 0.5}]
    figure = viz.recall_figure(recalls)
    (panel,) = figure.axes
    assert len(panel.lines) == 13
    assert len(bands(panel)) == 12  # the single run has none
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names == list(recalls)
    assert [t.get_text() for t in panel.get_xticklabels()] == ["1", "2", "5"]
    pixels(figure)


@pytest.mark.parametrize(
    ("largest", "scale"), [(10, "linear"), (19, "linear"), (20, "log")]
)
def test_wide_axis_is_logarithmic(largest, scale, pixels):
    figure = viz.recall_figure({"a": [{1: 0.5, largest: 0.6}]})
    assert figure.axes[0].get_xscale() == scale
    pixels(figure)


def test_labels_do_not_run_together(pixels):
    run = {k: k / 1000 for k in range(1, 101)}
    figure = viz.recall_figure({"a": [run]})
    assert len(figure.axes[0].get_xticks()) < 10
    assert pixels(figure).std() > 10


def test_ceiling():
    figure = viz.recall_figure({"a": RUNS}, ceiling=0.97)
    handles, names = figure.axes[0].get_legend_handles_labels()
    assert names == ["a", "ceiling of recall@1"]
    np.testing.assert_array_equal(handles[1].get_xydata(), [[1, 0.97]])


def test_accepts_the_result_of_the_metric():
    rng = np.random.default_rng(0)
    found = metrics.recall_at_k(
        rng.normal(size=(20, 3)), np.arange(20) % 4, (1, 5)
    )
    figure = viz.recall_figure({"random": [found]})
    np.testing.assert_array_equal(
        figure.axes[0].lines[0].get_ydata(), [found[1], found[5]]
    )


@pytest.mark.parametrize(
    ("recalls", "message"),
    [
        ({}, "`recalls` must have at least one method"),
        ({"a": []}, "`a` must have at least one run"),
        ({"a": [{}]}, "`a` must have shape"),
        ({"a": {1: 0.5}}, "run of `a` must be a dictionary.*received 1"),
        ({"a": [{1: 0.5}, {2: 0.5}]}, r"same k.*\[1\.0\] and \[2\.0\]"),
        ({"a": [{1: 0.5}, {1: 0.5, 2: 0.5}]}, "must have the same k"),
        ({"a": [{0: 0.5}]}, "integers of at least 1"),
        ({"a": [{1.5: 0.5}]}, "integers of at least 1"),
        ({"a": [{1: np.nan}]}, "`a` must be finite; received nan"),
        ({"a": [{1: 55.2}]}, "fractions in .*received 55.2. Divide"),
    ],
)
def test_errors(recalls, message):
    with pytest.raises(ValueError, match=message):
        viz.recall_figure(recalls)


@pytest.mark.parametrize("ceiling", [1.5, np.nan])
def test_bad_ceiling(ceiling):
    with pytest.raises(ValueError, match="`ceiling` must be"):
        viz.recall_figure({"a": RUNS}, ceiling=ceiling)
