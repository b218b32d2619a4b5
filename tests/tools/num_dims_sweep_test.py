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


@pytest.mark.parametrize(
    ("recalls", "expected"),
    [
        ({3: 0.81, 10: 0.79, 35: 0.8}, "reproduced"),
        ({3: 0.81, 10: 0.7, 35: 0.8}, "in part"),
        ({3: 0.81, 300: 0.2}, "in part"),  # 10 and 35 were not run
        ({3: 0.5, 10: 0.9, 35: 0.9}, "not reproduced"),
        ({300: 0.8}, "not run"),
    ],
)
def test_about_as_well_is_within_two_points(recalls, expected):
    sweep = found({n: (r, r) for n, r in {**recalls, 70: 0.8}.items()})
    assert num_dims_sweep.verdict(sweep) == expected
