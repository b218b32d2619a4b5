"""Verdicts about the claims of stochastic prototypes."""

import pytest
from scipy import stats

from tests.tools.prototype_figures_test import colour_run
from tests.tools.prototype_figures_test import study_run
from tools import claims
from tools import out_of_distribution_table
from tools import prototype_claims
from tools import samplers_study
from tools.generated_text import NOT_RUN
from tools.generated_text import read_between
from tools.paired_difference import of_differences


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
    pairs = [(50.0, 49.0), (48.0, 50.0), (40.0, 50.0), (None, 70.0)]
    evidence, verdict = claims.published_cells(pairs)
    assert verdict == "in part"
    assert evidence == (
        "3 of 4 cells run: 1 at or above the paper, 1 within 2 points, 1 "
        "lower; their mean 46.0, published 49.7"
    )
    assert claims.published_cells(pairs[:2])[1] == "reproduced"
    assert claims.published_cells(pairs[3:])[1] == "not run"


def test_differences_beside_published_ones():
    # Mean 3, standard error .2; one seed, without a test; far from certain.
    first = [2.8, 3.2]
    p = stats.ttest_1samp(first, 0).pvalue
    assert p < 0.05
    pairs = [
        (of_differences(first), 2.0),
        (of_differences([1.0]), 5.0),
        (of_differences([9.0, -1.0]), -1.0),
        (None, 4.0),
    ]
    evidence, verdict = claims.published_differences(pairs)
    assert verdict == "in part"
    assert evidence.startswith(
        "3 of 4 cells run: higher in 3, with p below 0.05 in 1, in 2 by at "
        "least the published difference; "
    )
    assert f"+3.0 ± 0.2 (.0{round(1000 * p)}), +1.0, +4.0 ± 5.0" in evidence

    def verdict_of(*ours):
        found = [(of_differences(o) if o else None, 1.0) for o in ours]
        return claims.published_differences(found)[1]

    assert verdict_of(first) == "reproduced"
    assert verdict_of([1.0], [9.0, -1.0]) == "in the same direction"
    assert verdict_of([1.0], [-1.0]) == "not reproduced"
    assert verdict_of([]) == "not run"


@pytest.mark.parametrize(
    ("best_naive", "expected"),
    [
        (0.7, "reproduced"),
        (0.8, "not reproduced"),  # equal is not better
        (0.9, "not reproduced"),
    ],
)
def test_the_samplers(best_naive, expected):
    runs = [
        study_run("intersection", 1, 0.8),
        study_run("intersection", 100, 0.95),
        study_run("naive", 20, best_naive),
        study_run("naive", 1, 0.1),
    ]
    found = samplers_study.by_sampler(runs)
    of_ten, of_best = prototype_claims.sampler_claims(found)
    assert of_best[2] == expected
    assert f"seen numbers 80.0 beside {100 * best_naive:.1f}" in of_best[1]
    assert "20 samples, its best" in of_best[1]
    assert of_ten[1:] == ("", "not run")
    assert {found[2] for found in prototype_claims.sampler_claims({})} == {
        "not run"
    }


@pytest.mark.parametrize(
    ("ten", "expected"), [(0.8, "reproduced"), (0.81, "not reproduced")]
)
def test_one_sample_beside_ten(ten, expected):
    runs = [
        study_run("intersection", 1, 0.8),
        study_run("naive", 10, ten),
        study_run("naive", 20, 0.9),
    ]
    found = samplers_study.by_sampler(runs)
    (_, evidence, verdict), _ = prototype_claims.sampler_claims(found)
    assert verdict == expected
    assert f"80.0 beside {100 * ten:.1f} of the naive sampler, 10" in evidence
    assert "its best" not in evidence


def test_colour_and_orientation():
    found = prototype_claims.colour_claims([colour_run()])
    assert [verdict for *_, verdict in found] == ["reproduced"] * 4
    found = prototype_claims.colour_claims([colour_run(accuracy=0.9)])
    assert [verdict for *_, verdict in found] == [
        "not reproduced",
        *["reproduced"] * 3,
    ]
    assert {v for *_, v in prototype_claims.colour_claims([])} == {"not run"}
    run = colour_run()
    noise = run["evaluation"]["test"]["variance"]["hue_noise"]
    noise["orientation"] = [0.3, 0.1, 0.1]
    _, _, (_, evidence, verdict), _ = prototype_claims.colour_claims([run])
    assert verdict == "reproduced"
    assert evidence.endswith(": the variance of orientation does not rise")


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
        "test": {"mnist": {"predicted_variance": row, "log_evidence": row}},
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
    assert f"| mnist | {cell} |  | {cell} |  |" in text
    assert "'--config.evaluation.others=(('\"'\"'mnist'\"'\"'," in text
    assert "evaluation.group" not in text
    assert prototype_claims.unknown_claim([run])[2] == "reproduced"
    low = prototype_claims.unknown_claim([unknown_run(0.5)])
    name = "mnist (`colour_orientation_stochastic_prototypes`, seed 0, test)"
    assert low[1:] == (f"AUROC: {name} 0.50", "not reproduced")
    # Another seed is another cell.
    both = [run, {**unknown_run(0.5), "seed": 1}]
    _, evidence, verdict = prototype_claims.unknown_claim(both)
    assert verdict == "in part" and "0.90; " in evidence
    assert evidence.endswith("seed 1, test) 0.50")
    assert out_of_distribution_table.table([]) == NOT_RUN


def test_the_pages_are_up_to_date():
    for module, expected in (
        (prototype_claims, claims.claims_table(prototype_claims.every_claim())),
        (
            out_of_distribution_table,
            out_of_distribution_table.table(out_of_distribution_table.load()),
        ),
    ):
        assert read_between(module.PAGE, module.BEGIN, module.END) == expected
