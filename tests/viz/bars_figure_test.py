import numpy as np
import pytest

from embeddings_tf import viz

MEASURES = {
    "modularity": {"triplet": [0.8, 0.9, 0.85], "F": [0.9, 1.0, 0.92]},
    "explicitness": {"F": [0.97, 0.98, 0.99], "triplet": [0.9, 0.7, 0.8]},
}


def mean_and_error(values):
    mean = sum(values) / len(values)
    squares = sum((value - mean) ** 2 for value in values)
    return mean, np.sqrt(squares / (len(values) - 1) / len(values))


@pytest.mark.parametrize("start", [0, 0.6])
def test_means_and_standard_errors(start, pixels):
    figure = viz.bars_figure(
        MEASURES, starts=dict.fromkeys(MEASURES, start), title="Sprites"
    )
    for panel, name in zip(figure.axes, MEASURES, strict=True):
        assert panel.get_title() == name
        assert panel.get_ylim()[0] == start
        # Both panels in the order of the first.
        for bar, container, method in zip(
            panel.patches, panel.containers[1::2], ["triplet", "F"], strict=True
        ):
            mean, error = mean_and_error(MEASURES[name][method])
            assert bar.get_y() == start
            np.testing.assert_allclose(bar.get_y() + bar.get_height(), mean)
            (segment,) = container.errorbar.lines[2][0].get_segments()
            np.testing.assert_allclose(
                segment[:, 1], [mean - error, mean + error]
            )
        labels = [text.get_text() for text in panel.get_xticklabels()]
        assert labels == ["triplet", "F"]
    assert figure.get_suptitle() == "Sprites"
    assert figure.get_supxlabel() == "mean ± standard error of 3 runs"
    assert pixels(figure).std() > 10


def test_a_cut_axis_says_so():
    figure = viz.bars_figure(MEASURES, starts={"modularity": 0.75})
    cut, whole = figure.axes
    assert "starts at 0.75, not at 0" in cut.get_ylabel()
    assert len(cut.lines) == len(whole.lines) + 1  # the break at its foot
    assert whole.get_ylabel() == ""


def test_baseline(pixels):
    values = [0.6, 0.7, 0.8]
    figure = viz.bars_figure(MEASURES, baselines={"modularity": values})
    mean, error = mean_and_error(values)
    left, right = figure.axes
    (line,) = [line for line in left.lines if line.get_linestyle() == "--"]
    np.testing.assert_allclose(line.get_ydata(), mean)
    band = left.patches[-1]
    np.testing.assert_allclose(
        [band.get_y(), band.get_y() + band.get_height()],
        [mean - error, mean + error],
    )
    assert not [line for line in right.lines if line.get_linestyle() == "--"]
    assert "dashed: untrained" in figure.get_supxlabel()
    pixels(figure)


def test_single_runs_have_no_error(pixels):
    figure = viz.bars_figure(
        {"modularity": {"a": [0.5]}}, baselines={"modularity": [0.4]}
    )
    (panel,) = figure.axes
    assert len(panel.patches) == 1
    assert not panel.collections
    assert figure.get_supxlabel().startswith("one run each")
    pixels(figure)


def test_many_methods(pixels):
    values = {f"beta-VAE, beta = {i}": [i / 20, i / 10] for i in range(10)}
    figure = viz.bars_figure({"modularity": values, "explicitness": values})
    above, below = figure.axes
    assert len(above.patches) == len(below.patches) == 10
    assert pixels(figure).std() > 10
    # The panels are stacked, and names are shown once.
    assert above.get_position().y0 > below.get_position().y1
    assert not any(text.get_visible() for text in above.get_xticklabels())
    names = [text.get_text() for text in below.get_xticklabels()]
    assert names == list(values)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"measures": {}}, "`measures` must have at least one measure"),
        ({"measures": {"m": {}}}, "`measures` must have at least one method"),
        ({"measures": {"m": {"a": []}}}, "`a` must have shape"),
        ({"measures": {"m": {"a": [[0.1]]}}}, r"`a` .*received shape \(1, 1\)"),
        ({"measures": {"m": {"a": [np.nan]}}}, "`a` must be finite"),
        ({"measures": {"m": {"a": [97.0]}}}, "in .*received 97. Divide"),
        (
            {"measures": {"m": {"a": [1]}, "n": {"b": [1]}}},
            "same methods; 'n' has .'b'., the first .'a'.",
        ),
        ({"baselines": {"modulation": [0.5]}}, "`baselines` .*'modulation'"),
        ({"baselines": {"modularity": [np.nan]}}, "`baselines` must be finite"),
        ({"starts": {"modulation": 0.5}}, "`starts` names .'modulation'."),
        ({"starts": {"modularity": -1}}, "`starts` must be fractions"),
        ({"starts": {"modularity": 1}}, "must start below 1"),
        (
            {"starts": {"modularity": 0.9}},
            "below modularity of 'triplet', 0.85; received 0.9",
        ),
        (
            {"starts": {"modularity": 0.8}, "baselines": {"modularity": [0.7]}},
            "below the baseline of modularity, 0.7",
        ),
    ],
)
def test_errors(change, message):
    with pytest.raises(ValueError, match=message):
        viz.bars_figure(**{"measures": MEASURES, **change})
