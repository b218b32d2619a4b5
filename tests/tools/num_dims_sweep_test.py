"""The sweep over num_dims: figure, differences and verdict."""

import copy
import json

import pytest

from tools import cross_validation_results
from tools import num_dims_sweep

NAME = "omniglot_retrieval_f_statistic-omniglot.json"


def found(recalls):
    """Results of a sweep: recall@1 of two folds by `num_dims`."""
    path = cross_validation_results.RESULTS / NAME
    kept = json.loads(path.read_text())
    files = {}
    for num_dims, of_folds in recalls.items():
        results = copy.deepcopy(kept)
        results["recipe"] = f"omniglot_retrieval_f_statistic_{num_dims}_of_500"
        results["folds"] = {f: results["folds"][f] for f in ("1", "2")}
        for run, recall in zip(
            results["folds"].values(), of_folds, strict=True
        ):
            run["evaluation"]["test"]["recall_at_1"] = recall
        files[path.with_name(f"{num_dims}.json")] = results
    return num_dims_sweep.sweep(cross_validation_results.together(files))


def test_the_recipes_of_the_sweep():
    assert num_dims_sweep.NUM_DIMS == [1, 3, 10, 35, 70, 150, 300, 500]


def test_nothing_is_shown_of_one_result():
    assert num_dims_sweep.section(found({70: (0.8, 0.82)})) == []
    assert num_dims_sweep.section({}) == []
    assert num_dims_sweep.verdict({}) == "not run"


def test_differences_are_to_70_of_500():
    sweep = found({300: (0.6, 0.7), 70: (0.8, 0.82), 3: (0.79, 0.83)})
    assert list(sweep) == [3, 70, 300]
    differences = num_dims_sweep.differences(sweep)
    assert differences[3].mean == pytest.approx(0)
    assert differences[300].mean == pytest.approx(-0.16)
    text = "\n".join(num_dims_sweep.section(sweep))
    assert "| 70 of 500 minus | folds | recall@1 |" in text
    assert "| 300 of 500 | 2 | +16.00 ± 4.00 (" in text
    (axes,) = num_dims_sweep.figure(sweep).axes
    line = axes.containers[0].lines[0]
    assert line.get_xdata().tolist() == [3, 70, 300]
    assert line.get_ydata() == pytest.approx([81, 81, 65])


def test_the_figure_has_the_folds_that_all_values_share():
    """70 was run on two folds, 35 on the first, where it is lower."""
    sweep = found({35: (0.79, 0.5), 70: (0.8, 0.6)})
    both = num_dims_sweep.figure(sweep).axes[0]
    assert both.get_title().endswith("standard error, folds 1, 2, one seed")
    assert len(both.containers[0].lines[2]) == 1  # error bars
    sweep[35]["folds"].pop("2")
    axes = num_dims_sweep.figure(sweep).axes[0]
    line, caps, bars = axes.containers[0].lines
    assert line.get_ydata() == pytest.approx([79, 80])
    assert axes.get_title() == "Omniglot, fold 1, one seed"
    assert not caps and not bars
    assert num_dims_sweep.differences(sweep)[35].mean == pytest.approx(-0.01)
    sweep[35]["folds"]["2"] = sweep[35]["folds"].pop("1")
    sweep[70]["folds"].pop("2")
    with pytest.raises(ValueError, match=r"received \[35, 70\] without a"):
        num_dims_sweep.figure(sweep)


def test_what_is_left_to_run():
    sweep = found({n: (0.8, 0.8) for n in num_dims_sweep.NUM_DIMS})
    assert num_dims_sweep.left(sweep, ["1", "2"]) == ""
    for each in sweep.values():
        for runs in each["folds"].values():
            runs[0]["training"]["seconds"] = 110.0
            runs[0]["evaluation"]["seconds"] = 10.0
    for num_dims in (3, 10):
        sweep[num_dims]["folds"].pop("2")
    sweep.pop(500)
    # Two folds, and two more: four times two minutes.
    assert num_dims_sweep.left(sweep, ["1", "2"]) == (
        "fold 2 with K = 3, 10; folds 1, 2 with K = 500; about 2.0 minutes of "
        "one core a fold, 8 in all"
    )


@pytest.mark.parametrize(
    ("recalls", "expected"),
    [
        ({3: 0.81, 10: 0.791, 35: 0.8}, "reproduced"),
        ({3: 0.815, 10: 0.785, 35: 0.8}, "not reproduced"),  # 3 points apart
        ({3: 0.81, 10: 0.7, 35: 0.8}, "not reproduced"),
        ({3: 0.81, 300: 0.2}, "in part"),  # 10 and 35 were not run
        ({3: 0.5, 10: 0.9, 35: 0.9}, "not reproduced"),
        ({300: 0.8}, "not run"),
    ],
)
def test_insensitive_is_a_range_of_two_points(recalls, expected):
    sweep = found({n: (r, r) for n, r in {**recalls, 70: 0.8}.items()})
    assert num_dims_sweep.verdict(sweep) == expected
