import numpy as np
import pytest

from embeddings_tf import viz


def test_runs_and_mean(pixels):
    figure = viz.learning_curves_figure(
        {
            "triplet": [{0: 0.1, 20: 0.6, 10: 0.5}, {0: 0.3, 10: 0.8}],
            "histogram": [{5: -3.0, 10: 7.0}],
        },
        "recall@1",
        step="epoch",
        title="Birds",
    )
    (panel,) = figure.axes
    thick = {line.get_label(): line for line in panel.lines}
    np.testing.assert_allclose(
        thick["triplet"].get_xydata(), [[0, 0.2], [10, 0.65]]
    )
    np.testing.assert_array_equal(
        thick["histogram"].get_xydata(), [[5, -3], [10, 7]]
    )
    others = [line for line in panel.lines if line.get_label()[0] == "_"]
    thin = [line for line in others if len(line.get_xdata()) > 1]
    np.testing.assert_array_equal(
        thin[0].get_xydata(), [[0, 0.1], [10, 0.5], [20, 0.6]]
    )
    np.testing.assert_array_equal(thin[1].get_xydata(), [[0, 0.3], [10, 0.8]])
    assert len(thin) == 2  # the single run is its mean
    assert thin[0].get_linewidth() < thick["triplet"].get_linewidth()
    ends = [tuple(line.get_xydata()[0]) for line in others if line not in thin]
    assert ends == [(20, 0.6), (10, 0.8), (10, 7)]
    assert panel.get_xlabel() == "epoch"
    assert panel.get_ylabel() == "recall@1"
    assert figure.get_suptitle() == "Birds"
    assert "mean over runs" in figure.get_supxlabel()
    assert pixels(figure).std() > 10


def test_one_run_and_many_methods(pixels):
    one = viz.learning_curves_figure({"a": [{0: 1, 1: 2}]}, "loss")
    assert one.get_supxlabel() == ""
    many = viz.learning_curves_figure(
        {str(i): [{0: i, 1: 2}] * 3 for i in range(12)}, "loss"
    )
    assert len(many.legends[0].get_texts()) == 12
    # 36 runs: the 12 means and an end of each run.
    assert len(many.axes[0].lines) == 12 + 36
    assert "thin" not in many.get_supxlabel()
    pixels(one)
    pixels(many)


@pytest.mark.parametrize(
    ("curves", "message"),
    [
        ({}, "`curves` must have at least one method"),
        ({"a": []}, "`a` must have at least one run"),
        ({"a": [{}]}, "`a` must have shape"),
        ({"a": [[1, 2]]}, "must be a dictionary"),
        ({"a": [{0: 1, 2: 3}, {1: 1, 3: 3}]}, "'a' must have steps in common"),
        ({"a": [{0: np.nan}]}, "`a` must be finite; received nan"),
        ({"a": [{0: np.inf}]}, "`a` must be finite; received inf"),
    ],
)
def test_errors(curves, message):
    with pytest.raises(ValueError, match=message):
        viz.learning_curves_figure(curves, "loss")
