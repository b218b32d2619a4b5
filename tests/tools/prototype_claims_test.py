"""Verdicts about the claims of stochastic prototypes."""

import copy
import json

import numpy as np
import pytest
from scipy import stats

from tests.read_between import read_between
from tests.tools.prototype_figures_test import colour_run
from tests.tools.prototype_figures_test import study_run
from tools import claims
from tools import few_shot_claims
from tools import n_digit_grid
from tools import n_digit_table
from tools import out_of_distribution_table
from tools import prototype_claims
from tools import prototype_planes
from tools import sampler_series
from tools import samplers_study
from tools.generated_text import NOT_RUN
from tools.keep_result import results_of
from tools.paired_difference import of_differences
from tools.reproduced_verdicts import NOT_IN_PAPER


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ((0, 0, 4), "not run"),
        ((4, 4, 4), "reproduced"),
        ((3, 4, 4), "in part"),
        ((2, 2, 4), "in part"),
        ((0, 2, 4), "not reproduced"),
    ],
)
def test_verdicts(cells, expected):
    assert claims.verdict(*cells) == expected


def test_cells_beside_published_numbers():
    cells = {
        "a": (50.0, 49.0),
        "b": (48.0, 50.0),
        "c": (40.0, 50.0),
        "d": (None, 70.0),
    }
    evidence, verdict = claims.published_cells(cells, 2)
    assert verdict == "in part"
    assert evidence == (
        "3 of 4 cells run: 1 at or above the paper, 1 within 2 points, 1 "
        "lower; their mean 46.0, published 49.7; below the paper: "
        "b 48.0 (50.0), c 40.0 (50.0)"
    )
    whole = {name: cells[name] for name in "ab"}
    assert claims.published_cells(whole, 2)[1] == "reproduced"
    assert claims.published_cells(whole, 1)[1] == "reproduced, one seed"
    evidence, _ = claims.published_cells({"a": cells["a"]}, 2)
    assert evidence.endswith("published 49.0")
    assert claims.published_cells({"d": cells["d"]}, 0)[1] == "not run"


def test_many_cells_below_the_paper_have_a_range():
    """59.96 is 60.0 as published numbers are rounded, so it is not below."""
    cells = {n: (60.0 - n, 60.0) for n in range(1, 5)} | {5: (59.96, 60.0)}
    evidence, verdict = claims.published_cells(cells, 2)
    assert verdict == "in part"
    assert evidence == (
        "5 of 5 cells run: 1 at or above the paper, 2 within 2 points, 2 "
        "lower; their mean 58.0, published 60.0; ours minus published: -4.0 to "
        "+0.0 points"
    )


def test_a_rival_that_is_worse_than_published():
    """In each mean, HIB is 5 and 7 below the paper: 6; SPE is 4 above it."""
    shapes, cells = n_digit_grid.SHAPES, n_digit_grid.CELLS
    spe = {(*cell, shape): (64.0, 70.0) for cell in cells for shape in shapes}
    hib = {
        (*cell, shape): (55.0 - 2 * (number % 2), 60.0)
        for cell in cells
        for number, shape in enumerate(shapes)
    }
    assert few_shot_claims._beside_published(spe, hib) == (
        "Our HIB minus the published HIB: -6.0 to -6.0 points. Our SPE minus "
        "the published HIB: +4.0 to +4.0 points, above 0 in 6 of 6 means."
    )
    hib[*cells[0], shapes[0]] = None, 60.0
    assert few_shot_claims._beside_published(spe, hib) == ""


def test_every_method_has_a_row_beside_the_published_table():
    found = {claim: rest for claim, *rest in prototype_claims.every_claim()}
    for method, start in few_shot_claims.NAMES.items():
        name = f"{start} classifies numbers as well as published (Table D.2)"
        evidence, verdict, _ = found[name]
        assert evidence.startswith("24 of 24 cells run: ")
        runs = n_digit_table.every_run()
        ours = []
        for digits, dim in n_digit_grid.SHAPES:
            recipe = f"n_digit_{digits}_dim_{dim}_{method}"
            rule = n_digit_grid.published_rule(method)
            for split, condition in n_digit_grid.CELLS:
                ours.append(
                    np.mean(
                        [
                            100 * run["evaluation"][split][condition][rule]
                            for run in n_digit_grid.choose(recipe, runs)
                        ]
                    )
                )
        published = np.ravel(
            [
                n_digit_grid.PUBLISHED[f"n_digit_{n}_dim_{dim}_{method}"]
                for n, dim in n_digit_grid.SHAPES
            ]
        )
        more = np.round(ours, 1) - published
        above, lower = np.sum(more > -0.01), np.sum(more < -2.01)
        assert f": {above} at or above the paper, " in evidence
        assert f" points, {lower} lower; " in evidence
        assert verdict.startswith("in part" if lower else "reproduced")
    name = "PN classifies characters as well as published (Table D.1)"
    assert found[name][0].startswith("12 of 12 cells run: 12 at or above")


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ([], 0),
        # All hold: no correction.
        ([(True, 0.04), (True, 0.03)], 2),
        # Holm: .02 < .05 / 3, and then .03 > .05 / 2.
        ([(True, 0.03), (True, 0.016), (True, 0.9)], 1),
        ([(True, 0.03), (True, 0.02), (True, 0.9)], 0),
        # .001 < .05 / 3, .02 < .05 / 2, .04 < .05: one has the other sign.
        ([(True, 0.001), (False, 0.02), (True, 0.04)], 2),
        ([(True, None), (True, 0.001)], 1),
    ],
)
def test_cells_of_a_claim_share_one_error_rate(cells, expected):
    assert claims.num_held(cells) == expected


def test_cells_that_were_not_run_count_as_tests():
    """.03 > .05 / 7, although both of two cells are below .05."""
    assert claims.num_held([(True, 0.03), (True, 0.04)], of=7) == 0
    assert claims.num_held([(True, 0.007), (True, 0.04)], of=7) == 1


def test_differences_beside_published_ones():
    # Mean 3, standard error .02; one seed, without a test; far from certain.
    first = [2.98, 3.02]
    p = stats.ttest_1samp(first, 0).pvalue
    assert p < 0.05 / 3
    cells = {
        "a": (of_differences(first), 2.0),
        "b": (of_differences([1.0]), 5.0),
        "c": (of_differences([9.0, -1.0]), -1.0),
        "d": (None, 4.0),
    }
    evidence, verdict = claims.published_differences(cells)
    assert verdict == "in part, one seed"  # b has no test
    assert evidence.startswith(
        "3 of 4 cells run: higher in 3; statistically certain in 1; by at "
        "least the published difference in 2; "
    )
    text = f"a +3.0 ± 0.0 (.{round(1000 * p):03d}), b +1.0, c +4.0 ± 5.0"
    assert text in evidence
    assert evidence.endswith("Short of the published difference: b +1.0 (+5.0)")
    cells["e"] = of_differences([-2.0]), 1.0
    evidence, _ = claims.published_differences(cells, names_all=False)
    assert evidence.endswith(
        "by at least the published difference in 2; not higher; points, "
        "standard error and p: e -2.0"
    )

    def verdict_of(*ours):
        found = {
            n: (of_differences(o) if o else None, 1.0)
            for n, o in enumerate(ours)
        }
        return claims.published_differences(found)[1]

    assert verdict_of(first) == "reproduced"
    assert verdict_of([1.0], [9.0, -1.0]) == "in the same direction"
    assert verdict_of([1.0], [-1.0]) == "not reproduced, one seed"
    assert verdict_of([]) == "not run"


def sampler_runs(sampler, count, accuracies, **more):
    """Runs of as many seeds as accuracies."""
    return [
        {**study_run(sampler, count, value, **more), "seed": seed}
        for seed, value in enumerate(accuracies)
    ]


def sampler_verdicts(naive, small, one=(0.8, 0.802)):
    """The claims about the best of the naive curves, by data set."""
    found = {}
    for recipe in (sampler_series.CHARACTERS, sampler_series.NUMBERS):
        runs = sampler_runs("intersection", 1, one, recipe=recipe)
        runs += sampler_runs("intersection", 100, [0.95] * 2, recipe=recipe)
        for count, accuracies in naive.items():
            runs += sampler_runs("naive", count, accuracies, recipe=recipe)
        if recipe == sampler_series.NUMBERS:
            for count, accuracies in small.items():
                runs += sampler_runs(
                    "naive", count, accuracies, first_variance=0.05
                )
        found[recipe] = samplers_study.by_series(runs, recipe)
    return prototype_claims.sampler_claims(found)


def test_one_sample_beside_the_best_of_the_naive_sampler():
    naive = {100: (0.7, 0.701), 1: (0.1, 0.1)}
    characters, numbers = sampler_verdicts(naive, {})
    assert characters[2] == "reproduced"
    # Of four cells of numbers, the two of the default variance were run.
    assert numbers[2] == "not in the paper: in part"
    # Differences of 10 and 10.1 points: mean and standard error.
    p = stats.ttest_1samp([10.0, 10.1], 0).pvalue
    assert p < 0.05
    cell = (
        "one intersection sample minus 100 of naive (70.0 %): +10.1 ± 0.1 "
        f"(.{round(1000 * p):03d})"
    )
    assert f"seen numbers, {cell}" in numbers[1]
    assert f"20 classes of characters, {cell}" in characters[1]

    def numbers_verdict(naive, small):
        return sampler_verdicts(naive, small)[1][2].removeprefix(NOT_IN_PAPER)

    small = {100: (0.75, 0.752)}
    expected = "in part"
    assert numbers_verdict(naive, small) == expected, "no test if all are equal"
    small = {100: (0.75, 0.751)}
    assert numbers_verdict(naive, small) == "reproduced"
    fewer = {20: (0.7, 0.701)}
    assert numbers_verdict(fewer, fewer) == "in part", "20 are not many"
    assert sampler_verdicts(fewer, {})[0][2] == "in part", "20 are not many"
    # Differences of 1 and 9.2 points are no evidence, but all are above 0.
    unsure = {5: (0.79, 0.71)}
    verdicts = [found[2] for found in sampler_verdicts(unsure, unsure)]
    of_both = "in the same direction", f"{NOT_IN_PAPER}in the same direction"
    assert tuple(verdicts) == of_both
    above = {5: (0.9, 0.901)}
    verdicts = [found[2] for found in sampler_verdicts(above, above)]
    assert verdicts == ["not reproduced", f"{NOT_IN_PAPER}not reproduced"]
    verdicts = [found[2] for found in prototype_claims.sampler_claims({})]
    assert verdicts == ["not run", f"{NOT_IN_PAPER}not run"]


def test_colour_and_orientation():
    found = prototype_claims.colour_claims([colour_run()])
    # From .1 to .7 and to .2: at least three times as much, and still a rise.
    assert (
        "of colour is 7.0 times and that of orientation is 2.0 times"
        in found[2][1]
    )
    kinds = ("reproduced", "reproduced", "in part", "reproduced")
    verdicts = [f"{kind}, one seed" for kind in kinds]
    assert [verdict for *_, verdict in found[:-1]] == verdicts
    found = prototype_claims.colour_claims([colour_run(accuracy=0.9)])
    assert [verdict for *_, verdict in found[:-1]] == [
        "not reproduced, one seed",
        *verdicts[1:],
    ]
    assert {v for *_, v in prototype_claims.colour_claims([])} == {"not run"}
    run = colour_run()
    noise = run["evaluation"]["test"]["variance"]["hue_noise"]
    noise["orientation"] = [0.3, 0.1, 0.1]
    _, _, (_, evidence, verdict), *_ = prototype_claims.colour_claims([run])
    assert verdict == "reproduced, one seed"
    assert ": the variance of orientation does not rise; " in evidence


def test_the_variance_half_way_between_two_classes():
    """Rows of the grid are orientations, columns hues."""
    run = colour_run()
    variance = np.full((3, 3, 2), 25.0)
    variance[1, :, 0] = 30.0  # dimension 0 is the orientation
    variance[:2, 1, 1] = 30.0  # dimension 1 is the colour; not in the last row
    run["evaluation"]["grid"]["variance"] = variance.tolist()
    _, evidence, verdict = prototype_claims.half_way_claim([run])
    assert evidence.endswith("half-way: orientation 3 of 3, colour 2 of 3")
    assert verdict == "in part, one seed"
    variance[2, 1, 1] = 30.0
    run["evaluation"]["grid"]["variance"] = variance.tolist()
    assert prototype_claims.half_way_claim([run, run])[2] == "reproduced"
    assert prototype_claims.half_way_claim([])[1:] == ("", "not run")


def unknown_run(auroc):
    row = {
        "auroc": auroc,
        "auroc_interval": 0.01,
        "fpr_at_95_tpr": 0.25,
        "fpr_at_95_tpr_interval": 0.01,
    }
    config = colour_run()["config"]
    settings = {
        "splits": ["test"],
        "num_classes": 20,
        "num_support": 5,
        "num_query": 5,
        "num_episodes": 100,
        "group": "",
        "others": [["mnist", "test"]],
    }
    machine = {"commit": "0123456789", "processor": "a processor", "cores": 1}
    section = {
        "test": {
            "mnist": {"predicted_variance": row, "log_evidence": row},
            # Held-out classes are not from elsewhere.
            "other classes": {"predicted_variance": {**row, "auroc": 0.4}},
            "other groups": {"predicted_variance": {**row, "auroc": 0.4}},
            config["dataset"]: {"predicted_variance": {**row, "auroc": 0.4}},
        },
        "settings": settings,
        **machine,
    }
    return {
        "recipe": "colour_orientation_stochastic_prototypes",
        "seed": 0,
        "config": config,
        out_of_distribution_table.SECTION: section,
    }


def test_unknown_inputs():
    run = unknown_run(0.9)
    text = out_of_distribution_table.table([run])
    cell = "0.900 ±0.010 (25)"
    assert f"| test | mnist | {cell} |  |  | {cell} |  |" in text
    others = """'--config.evaluation.others=(("mnist", "test"),)'"""
    assert others in text
    assert "evaluation.group" not in text
    assert prototype_claims.unknown_claim([run])[2] == "reproduced, one seed"
    low = prototype_claims.unknown_claim([unknown_run(0.5)])
    name = "mnist (`colour_orientation_stochastic_prototypes`, seed 0, test)"
    assert low[1:] == (
        f"AUROC, at least 0.8 counts: {name} 0.50",
        "not reproduced, one seed",
    )
    # Another seed is another cell.
    both = [run, {**unknown_run(0.5), "seed": 1}]
    _, evidence, verdict = prototype_claims.unknown_claim(both)
    assert verdict == "in part" and "0.90; " in evidence
    assert evidence.endswith("seed 1, test) 0.50")
    assert out_of_distribution_table.table([]) == NOT_RUN


def write_unknown_run(folder, run):
    folder.mkdir()
    (folder / "results.json").write_text(json.dumps(run))
    (folder / "config.json").write_text(json.dumps(run))
    return folder


def test_evaluations_of_one_run_have_their_own_files(tmp_path, monkeypatch):
    table = out_of_distribution_table
    monkeypatch.setattr(table, "RESULTS", tmp_path / "kept")
    run = unknown_run(0.9) | {"training": {"steps": 10}}
    both = copy.deepcopy(run)
    section = both[table.SECTION]
    section["settings"]["splits"] = ["test", "validation"]
    section["validation"] = {
        "uniform noise": {
            "head_uncertainty": section["test"]["mnist"]["predicted_variance"]
        }
    }
    changed = copy.deepcopy(run)
    changed["config"]["objective"]["num_samples"] = 7
    for number, each in enumerate((run, both, changed)):
        table.collect(write_unknown_run(tmp_path / f"run_{number}", each))
    stem = f"{run['recipe']}_seed_0_10000"
    assert [path.stem for path in sorted((tmp_path / "kept").iterdir())] == [
        f"{stem}_num_samples=7_test_others=mnist",
        f"{stem}_test+validation_others=mnist",
        f"{stem}_test_others=mnist",
    ]
    text = table.table(results_of(tmp_path / "kept"))
    assert text.count("`, 10,000, 0 | test | mnist |") == 3
    assert f"| `{run['recipe']} num_samples=7`, 10,000, 0 | test |" in text
    cell = "0.900 ±0.010 (25)"
    assert f"| validation | uniform noise |  | {cell} |  |  |  |" in text
    assert text.count("trainers.train") == 3
    again = copy.deepcopy(run)
    again[table.SECTION]["settings"]["num_episodes"] = 3
    with pytest.raises(ValueError, match="already contains other values"):
        table.collect(write_unknown_run(tmp_path / "again", again))


def test_occlusion_in_every_run():
    def run(recipe, value):
        name = "rank_correlation_with_occlusion"
        uncertainty = {"uncertainty": {name: value}}
        return {"recipe": recipe, "evaluation": uncertainty}

    first = [run("a", v) for v in (0.5, 0.75)]
    _, evidence, verdict = prototype_claims.occlusion_claim(first)
    assert verdict == "reproduced" and evidence.endswith("`a` 0.50, 0.75")
    # A variance that is the same for all inputs has no correlation.
    more = [*first, run("b", None)]
    _, evidence, verdict = prototype_claims.occlusion_claim(more)
    assert evidence.endswith("; `b` 0.00")
    assert verdict == "in part, one seed"  # b was trained once
    assert prototype_claims.occlusion_claim([])[1:] == ("", "not run")


def step_cost(stochastic, again):
    """A result file from ratios to prototypical networks."""
    contenders = {
        "prototypical": [2.0] * len(stochastic),
        "stochastic": [2 * ratio for ratio in stochastic],
        "prototypical again": [2 * ratio for ratio in again],
    }
    case = {name: {"seconds": found} for name, found in contenders.items()}
    return {"cases": {"70 x 10 images": case}}


@pytest.mark.parametrize(
    ("ratios", "expected"),
    [
        # Of five numbers, the quartiles are the second and the fourth.
        ([0.9, 0.98, 1.05, 1.2, 1.3], "reproduced"),
        ([0.9, 1.01, 1.02, 1.3, 1.4], "reproduced"),  # so is the control
        ([0.9, 1.02, 1.05, 1.09, 1.4], "in part"),
        ([0.9, 1.02, 1.05, 1.12, 1.4], "not reproduced"),
    ],
)
def test_the_cost_of_a_step(ratios, expected):
    again = [0.9, 0.99, 1.03, 1.04, 1.1]
    _, evidence, verdict = prototype_claims.cost_claim(step_cost(ratios, again))
    assert verdict == expected
    _, low, median, high, _ = ratios
    assert f"{median:.2f} (quartiles {low:.2f} to {high:.2f})" in evidence
    assert "1.03 (quartiles 0.99 to 1.04)" in evidence
    assert ("not measurably" in evidence) == (expected == "reproduced")
    assert prototype_claims.cost_claim(None)[2] == "not run"


@pytest.mark.parametrize(
    ("hedged", "seconds", "expected"),
    [
        # SPE: the upper quartile is 1.09, and its step takes 2.1 s.
        ([0.9, 1.1, 1.2, 1.3, 1.4], 2.0, "reproduced"),
        ([0.9, 1.1, 1.2, 1.3, 1.4], 0.5, "in part"),
        ([0.9, 1.08, 1.2, 1.3, 1.4], 2.0, "not reproduced"),
    ],
)
def test_the_cost_beside_hedged_instances(hedged, seconds, expected):
    result = step_cost([0.9, 1.02, 1.05, 1.09, 1.4], [1.0] * 5)
    result["cases"]["280 images"] = {
        "prototypical": {"seconds": [seconds] * 5},
        "hedged": {"seconds": [seconds * ratio for ratio in hedged]},
    }
    _, evidence, verdict = prototype_claims.cost_beside_hedged_claim(result)
    assert verdict == expected
    assert "SPE takes 1.05 (quartiles 1.02 to 1.09)" in evidence
    assert f"HIB takes 1.20 (quartiles {hedged[1]:.2f} to 1.30)" in evidence
    milliseconds = f"2100 ms (SPE) and {1200 * seconds:.0f} ms (HIB)"
    assert f"A step takes {milliseconds}" in evidence
    assert prototype_claims.cost_beside_hedged_claim(None)[2] == "not run"


@pytest.mark.parametrize("steps", [5000, 300])
def test_a_picture_has_our_judgement(steps):
    recipe = "omniglot_1_shot_dim_2_stochastic_prototypes"
    origin = {"recipe": recipe, "training": {"steps": steps}}
    name = prototype_planes.CHARACTERS
    characters, numbers = prototype_claims.plane_claims({name: origin})
    seen = (
        "in part, one seed, our judgement"
        if steps == 5000
        else "run, without a verdict"
    )
    assert characters[2] == seen
    assert ("of 5,000" in characters[1]) == (steps < 5000)
    assert numbers[1:] == ("no picture", "not run")


def test_the_pages_are_up_to_date():
    for module, expected in (
        (prototype_claims, claims.claims_table(prototype_claims.every_claim())),
        (
            out_of_distribution_table,
            out_of_distribution_table.table(out_of_distribution_table.load()),
        ),
    ):
        assert read_between(module.PAGE, module.BEGIN, module.END) == expected
