"""Two runs are paired by the test episodes that they share."""

import numpy as np
import pytest
from scipy import stats

from embeddings_tf import metrics
from tools import claims
from tools import n_digit_grid
from tools.few_shot_claims import HIB
from tools.few_shot_claims import SPE
from tools.few_shot_claims import _mean_difference
from tools.paired_difference import cell_of_seeds
from tools.paired_difference import mean_over_episodes
from tools.paired_difference import of_differences
from tools.paired_episodes import NOTES
from tools.paired_episodes import mean_of_runs
from tools.paired_episodes import paired_episodes
from tools.paired_episodes import paired_runs

QUERIES = 20


def run(correct, seed=0, num_draws=2, **settings):
    """A result file with correct queries of the episodes of each draw."""
    counts = [count for draw in correct for count in draw]
    cell = {
        "accuracy": float(np.mean(counts)) / QUERIES,
        "queries": QUERIES,
        "episodes": len(counts),
        "interval": metrics.confidence_interval(np.array(counts) / QUERIES),
        "correct": " ".join(map(str, counts)),
    }
    settings = {"num_support": 5, "num_query": 4, **settings}
    settings |= {"num_episodes": len(counts), "num_draws": num_draws}
    conditions = ["clean", "corrupt_support"][:num_draws]
    return {
        "seed": seed,
        "data_fingerprint": "one",
        "evaluation": {
            "test": dict.fromkeys(conditions, cell),
            "settings": settings,
        },
    }


FIRST = run([[10, 12, 14], [16, 18]])


def test_differences_of_episodes():
    second = run([[8, 13, 14], [12, 17]])
    found = paired_episodes(FIRST, second, "test", "corrupt_support")
    assert found == pytest.approx([10, -5, 0, 20, 5])
    # Fewer episodes: the first of each draw.
    fewer = run([[8, 13], [12]])
    found = paired_episodes(FIRST, fewer, "test", "clean")
    assert found == pytest.approx([10, -5, 20])
    one_draw = run([[10, 12, 14, 16, 18]], num_draws=1)
    found = paired_episodes(one_draw, one_draw, "test", "clean")
    assert found == [0] * 5


def test_other_tests_are_not_paired():
    without = run([[10, 12, 14], [16, 18]])
    del without["evaluation"]["test"]["clean"]["correct"]
    others = [
        without,
        run([[10, 12, 14], [16, 18]], num_support=1),
        run([[10, 12, 14], [16, 18]]) | {"data_fingerprint": "two"},
    ]
    for other in others:
        assert paired_episodes(FIRST, other, "test", "clean") == []
        assert paired_episodes(other, FIRST, "test", "clean") == []
        (found,) = [paired_runs([FIRST], [other], "test", "clean")]
        assert (found.over, found.p, found.count) == ("runs", None, 1)


def test_the_mean_over_cells_is_tested_episode_by_episode():
    others = run([[8, 13, 14], [12, 17]]), run([[10, 11, 12], [16, 19]])
    cells = [
        ([FIRST], [other], "test", condition)
        for other, condition in zip(
            others, ("clean", "corrupt_support"), strict=True
        )
    ]
    found = mean_of_runs(cells)
    # Differences of the cells, in points: 10 -5 0 20 5, and 0 5 10 0 -5.
    expected = [5, 0, 5, 10, 0]
    assert found == of_differences(expected, over="episodes")
    assert found.p == pytest.approx(stats.ttest_1samp(expected, 0).pvalue)
    # No test: other numbers of episodes, no episodes, two seeds, no seed.
    fewer, second = run([[8, 13], [12]]), run([[8, 13, 14], [12, 17]], seed=1)
    for changed in (
        ([FIRST], [fewer], "test", "clean"),
        ([FIRST], [FIRST | {"data_fingerprint": "two"}], "test", "clean"),
        ([FIRST, second], [FIRST, second], "test", "clean"),
        ([FIRST], [second], "test", "clean"),
    ):
        assert mean_of_runs([cells[0], changed]) is None


def test_one_seed_has_a_test_over_episodes_and_two_over_seeds():
    second = run([[8, 13, 14], [12, 17]])
    one = paired_runs([FIRST], [second], "test", "clean")
    expected = stats.ttest_1samp([10, -5, 0, 20, 5], 0)
    assert one.over == "episodes"
    assert one.mean == pytest.approx(6)
    assert one.p == pytest.approx(expected.pvalue)
    methods = [
        [FIRST, run([[20, 20, 20], [20, 20]], seed=1)],
        [second, run([[10, 10, 10], [10, 10]], seed=1)],
    ]
    two = paired_runs(*methods, "test", "clean")
    assert (two.over, two.count) == ("runs", 2)
    assert two.p == pytest.approx(stats.ttest_1samp([6, 50], 0).pvalue)
    assert paired_runs([FIRST], methods[1][1:], "test", "clean") is None


def test_the_mean_of_several_tests():
    """Equal parts have the error of Welch's sum of means."""
    rng = np.random.default_rng(0)
    parts = [rng.normal(1, 2, size) for size in (10, 20, 15)]
    found = mean_over_episodes(parts)
    squared = sum(part.var(ddof=1) / len(part) for part in parts) / 9
    mean = np.mean([part.mean() for part in parts])
    assert found.mean == pytest.approx(mean)
    assert found.standard_error == pytest.approx(squared**0.5)
    p = 2 * stats.t.sf(abs(mean) / squared**0.5, 9)
    assert found.p == pytest.approx(p)
    # Of one part it is the test of its differences.
    alone = mean_over_episodes(parts[:1])
    assert alone == of_differences(parts[0], over="episodes")


def with_shapes(counts):
    """Runs of one seed for every shape, from counts by number of digits."""
    chosen = {}
    for digits, dim in n_digit_grid.SHAPES:
        for method, correct in counts[digits, dim].items():
            found = run([correct], num_draws=1) | {"data_fingerprint": digits}
            cell = found["evaluation"]["test"]["clean"]
            cell["leave_one_out_accuracy"] = cell["accuracy"]
            chosen[f"n_digit_{digits}_dim_{dim}_{method}"] = [found]
    return chosen


def test_shapes_that_share_episodes_count_once():
    """Two equal differences of one test have the standard error of one."""
    spe, hib = "stochastic_prototypes", "hedged_instances"
    two = {spe: [10, 12, 14, 16], hib: [8, 13, 14, 12]}
    three = {spe: [20, 10, 12, 18], hib: [10, 8, 16, 10]}
    shapes = {(n, d): {2: two, 3: three}[n] for n, d in n_digit_grid.SHAPES}
    found = _mean_difference(with_shapes(shapes), "test", "clean", (SPE, HIB))
    # In points of 20 queries.
    first, second = np.array([[2, -1, 0, 4], [10, 2, -4, 8]]) * 100 / QUERIES
    squared = (first.var(ddof=1) + second.var(ddof=1)) / 4 / 2**2
    assert found.over == "episodes" and found.count == 4
    assert found.mean == pytest.approx((first.mean() + second.mean()) / 2)
    assert found.standard_error == pytest.approx(squared**0.5)
    # Of opposite differences on one test, nothing remains.
    shapes[2, 3] = {spe: two[hib], hib: two[spe]}
    found = _mean_difference(with_shapes(shapes), "test", "clean", (SPE, HIB))
    assert found.mean == pytest.approx(second.mean() / 2)
    error = (second.var(ddof=1) / 4) ** 0.5 / 2
    assert found.standard_error == pytest.approx(error)


def test_without_shared_episodes_the_intervals_of_both_count():
    """Errors of dimensions add up; digits are independent."""
    spe, hib = "stochastic_prototypes", "hedged_instances"
    counts = {spe: [10, 12, 14, 16], hib: [8, 13, 14, 12]}
    # With other numbers of episodes they cannot be paired.
    fewer = {spe: [10, 12, 16], hib: [8, 13, 12]}
    shapes = dict.fromkeys(n_digit_grid.SHAPES, counts) | {(2, 3): fewer}
    found = _mean_difference(with_shapes(shapes), "test", "clean", (SPE, HIB))
    errors, means = {}, {}
    for shape, of_methods in shapes.items():
        of_spe, of_hib = (
            100 * np.array(of_methods[m]) / QUERIES for m in (spe, hib)
        )
        means[shape] = of_spe.mean() - of_hib.mean()
        squares = [x.var(ddof=1) / len(x) for x in (of_spe, of_hib)]
        errors[shape] = sum(squares) ** 0.5
    two = (errors[2, 2] + errors[2, 3]) / 2
    expected = (two**2 + errors[3, 2] ** 2) ** 0.5 / 2
    assert found.over == "intervals" and found.count == 3
    assert found.mean == pytest.approx(np.mean([*means.values()]))
    assert found.standard_error == pytest.approx(expected)
    p = 2 * stats.t.sf(found.mean / expected, 2)  # 3 episodes
    assert found.p == pytest.approx(p)
    evidence, _ = claims.published_differences({"a cell": (found, 1.0)})
    assert evidence.endswith(NOTES["intervals"])
    assert NOTES["episodes"] not in evidence


def test_a_cell_of_one_seed_can_hold_and_says_so():
    found = of_differences([2.0, 3.0, 4.0, 3.0], over="episodes")
    assert found.p < 0.05
    text = f"+3.0 ± {2**0.5 / 3**0.5 / 2:.1f}"
    assert cell_of_seeds([3.0], found) == (
        f"**{text[:4]}**{text[4:]}, p .{round(1000 * found.p):03d} (one seed)"
    )
    evidence, verdict = claims.published_differences({"a cell": (found, 1.0)})
    assert verdict == "reproduced, one seed"
    assert "error and p: a cell" in evidence
    assert f"{text} (.{round(1000 * found.p):03d})\\*" in evidence
    assert evidence.endswith(NOTES["episodes"])
    over_seeds = of_differences([2.0, 3.0, 4.0, 3.0])
    evidence, _ = claims.published_differences({"a cell": (over_seeds, 1.0)})
    assert "error and p over seeds: a cell" in evidence
    assert not any(note in evidence for note in NOTES.values())
