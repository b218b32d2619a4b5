"""The published table of n-digit numbers: transcription, choice, pairs."""

import copy
import json
import statistics

import pytest
from scipy import stats

from tests.read_between import read_between
from tools import n_digit_grid as grid
from tools import n_digit_table
from tools.generated_text import NOT_RUN
from trainers.config import load_recipe
from trainers.workdirs.workdir import recipe_fields

SPE = "n_digit_2_dim_2_stochastic_prototypes"
PN = "n_digit_2_dim_2_prototypical"
# A tested run of seed 0 and of 8,000 batches.
COMMITTED = n_digit_table.RESULTS / f"{PN}_seed_0_0.01_8000.json"
# The last column of the paper's table, in the order of CELLS.
MEANS = {
    "stochastic_prototypes": (89.1, 86.9, 87.7, 84.2, 50.1, 49.7),
    "prototypical": (85.6, 81.2, 73.3, 69.9, 51.1, 49.2),
    "hedged_instances": (83.9, 82.7, 77.8, 75.7, 47.4, 48.2),
    "soft_contrastive": (84.1, 78.7, 73.9, 66.4, 42.3, 39.8),
}


def run(seed=0, validation=0.5, accuracy=0.5, steps=8000, **overrides):
    """A result file of SPE in which every cell has one accuracy."""
    config = recipe_fields(
        load_recipe(SPE, [f"{k}={v}" for k, v in overrides.items()])
    )
    cell = {grid.EPISODES: accuracy}
    return {
        "recipe": SPE,
        "seed": seed,
        "config": config | {"seed": seed},
        "training": {"steps": steps, "best_value": validation, "seconds": 60},
        "evaluation": {
            split: dict.fromkeys(grid.CONDITIONS, cell) for split in grid.SPLITS
        },
    }


def rate(value):
    return {"optimizer.learning_rate.initial_learning_rate": value}


@pytest.mark.parametrize("method", grid.METHODS)
def test_the_published_numbers_have_the_published_means(method):
    rows = [
        grid.PUBLISHED[f"n_digit_{n}_dim_{dim}_{method}"]
        for n, dim in grid.SHAPES
    ]
    for column, mean in zip(
        zip(*rows, strict=True), MEANS[method], strict=True
    ):
        # Rounded there from numbers of more digits.
        assert statistics.mean(column) == pytest.approx(mean, abs=0.11)
    assert len(grid.PUBLISHED) * len(grid.CELLS) == 96


def test_validation_chooses_among_the_longest_runs():
    chosen = [
        run(1, 0.8, steps=7600, **rate(0.01)),  # stopped early
        run(0, 0.8, **rate(0.01), **{"evaluation.num_episodes": 20}),
    ]
    others = [
        *[run(seed, 0.7, 0.9, **rate(0.003)) for seed in (0, 1)],
        run(0, 0.99, steps=1600, num_epochs=8),
        run(0, 0.99, **{"preprocess.probability": 0.5}),
    ]
    untested = copy.deepcopy(run(0, 0.99, **rate(0.03)))
    del untested["evaluation"]
    found = grid.choose(SPE, [*chosen, *others, untested])
    assert found == chosen[::-1]
    assert grid.choose("n_digit_3_dim_2_prototypical", found) == []


def test_differences_are_of_shared_seeds():
    first = [run(seed, accuracy=0.9 + seed / 100) for seed in (0, 1, 2)]
    second = [run(seed, accuracy=0.8) for seed in (2, 0, 5)]
    found = grid.differences(first, second, "test_seen", "clean")
    assert found == pytest.approx({0: 10, 2: 12})


def test_the_mean_of_differences_is_over_seeds_of_all_cells():
    cells = [{0: 1.0, 1: 5.0, 2: 9.0}, {2: 3.0, 0: 2.0}]
    found = grid.mean_differences(cells)
    assert found == [statistics.mean(v) for v in ((1, 2), (9, 3))]
    text = grid.table([run(0, accuracy=0.9), run(1, accuracy=0.8)])
    (row,) = (line for line in text.splitlines() if "| clean | seen |" in line)
    published = [
        grid.PUBLISHED[f"n_digit_{n}_dim_{dim}_{method}"][0]
        for method in ("stochastic_prototypes", "prototypical")
        for n, dim in grid.SHAPES
    ]
    mean = sum(published[:4]) / 4 - sum(published[4:]) / 4
    assert row.endswith(f"| ({mean:+.1f}) |")


def test_cells_contain_our_number_and_the_published_number():
    text = grid.table([run(0, accuracy=0.9), run(1, accuracy=0.8)])
    rows = [line for line in text.splitlines() if "SPE, episodes" in line]
    assert len(rows) == 6
    assert rows[0] == (
        "| clean | SPE, episodes | **85.0** (93.0) | (94.2) | (80.2) | (89.0) "
        "| (89.1) |"
    )
    assert f"# {SPE}, seed 1\n" in text
    assert "# n_digit_3_dim_3_hedged_instances, not run\n" in text


def test_a_result_file_is_named_by_what_the_run_changed():
    changed = run(0, **rate(0.01), **{"objective.num_samples": 20})
    changed["optimizer"] = changed["config"]["optimizer"]
    assert n_digit_table.other_settings(changed) == ["num_samples=20"]
    assert n_digit_table.other_settings(run(1, **rate(0.01))) == []


def test_runs_of_another_length_are_no_seeds(tmp_path, monkeypatch):
    """A short run with a test, beside long runs of two seeds."""
    monkeypatch.setattr(n_digit_table, "RESULTS", tmp_path)
    for number, (seed, epochs, accuracy) in enumerate(
        [(0, 8, 0.5), (0, 40, 0.8), (1, 40, 0.9)]
    ):
        made = json.loads(COMMITTED.read_text()) | {"seed": seed}
        made["config"] = n_digit_table.config_of(made)
        made["config"] |= {"seed": seed, "num_epochs": epochs}
        made["training"]["steps"] = epochs * made["config"]["steps_per_epoch"]
        made["evaluation"]["test_seen"]["clean"]["accuracy"] = accuracy
        (tmp_path / f"{number}.json").write_text(json.dumps(made))
    rows = [
        [cell.partition(" (")[0] for cell in line.split(" | ")[1:3]]
        for line in n_digit_table.table(n_digit_table.runs()).splitlines()
        if line.startswith(f"| `{PN}`, 0.01 | ") and "**" in line
    ]
    mean = 100 * (0.8 + 0.9) / 2
    assert rows == [["0", "**50.0**"], ["0, 1", f"**{mean:.1f}**"]]


def test_the_published_row_names_its_rule():
    rows = {}
    for method in ("hedged_instances", "prototypical"):
        key = f"n_digit_2_dim_2_{method}", 0.01
        text = n_digit_table.table({key: [json.loads(COMMITTED.read_text())]})
        rows[method] = text.splitlines()[2]
    assert rows == {
        "hedged_instances": "| *published, leave one out* | | 87.9 | 87.3 | "
        "81.6 | 80.8 | 49.9 | 53.5 | | | | |",
        "prototypical": "| *published* | | 91.1 | 82.0 | 72.7 | 70.9 | 53.1 | "
        "51.1 | | | | |",
    }


@pytest.fixture
def study_results(tmp_path, monkeypatch):
    """A tested run, a run of the samplers, and one of held-out numbers."""
    monkeypatch.setattr(n_digit_table, "RESULTS", tmp_path)
    held_out = f"{SPE}_held_out_numbers"
    short = ["num_epochs=10", "optimizer.learning_rate.decay_steps=2000"]
    for name, recipe, overrides in (
        ("tested", SPE, []),
        ("sampler", SPE, [*short, "objective.sampler=naive"]),
        ("small", SPE, [*short, "encoder.initial_variance=0.05"]),
        ("held_out", held_out, ["preprocess.probability=0.5"]),
    ):
        made = json.loads(COMMITTED.read_text()) | {"recipe": recipe}
        made["config"] = recipe_fields(load_recipe(recipe, overrides))
        made["optimizer"] = made["config"]["optimizer"]
        if name == "small":
            made["config"]["objective"]["sampler"] = "naive"
        if name == "held_out":
            cells = {
                condition: {"accuracy": 0.4 + n / 10, "interval": 0.01}
                for n, condition in enumerate(grid.CONDITIONS)
            }
            made["evaluation"] = {"validation": cells}
            made["training"]["best_value"] = 0.7
        (tmp_path / f"{name}.json").write_text(json.dumps(made))
    return n_digit_table.runs()


def test_runs_of_studies_have_tables_of_their_own(study_results):
    text = n_digit_table.table(study_results)
    assert "runs/tested " in text
    for other in ("sampler=naive", "held_out", "runs/sampler", "runs/small"):
        assert other not in text
    text = n_digit_table.held_out_table(study_results)
    assert (
        f"| `{SPE}_held_out_numbers probability=0.5`, 0.003, 0 | 8000 | "
        "40.0±1.0 | 50.0±1.0 | 60.0±1.0 | 70.0 |"
    ) in text
    assert text.count("trainers.train") == 1
    assert "--config.preprocess.probability=0.5" in text


def test_more_corruption_is_compared_by_rate_and_seed(monkeypatch, tmp_path):
    monkeypatch.setattr(n_digit_table, "RESULTS", tmp_path)
    accuracies = {(0.2, 0): 0.5, (0.2, 1): 0.6, (0.5, 0): 0.54, (0.5, 1): 0.67}
    recipe = f"{SPE}_held_out_numbers"
    runs = {}
    for (share, seed), accuracy in accuracies.items():
        fields = [f"preprocess.probability={share}", f"seed={seed}"]
        made = json.loads(COMMITTED.read_text()) | {"recipe": recipe}
        made["config"] = recipe_fields(load_recipe(recipe, fields))
        cell = {"accuracy": accuracy, "interval": 0.01}
        made["evaluation"] = {
            "validation": dict.fromkeys(grid.CONDITIONS, cell)
        }
        made["training"]["best_value"] = 0.7
        key = f"{recipe} {fields[0]}", 0.003
        runs.setdefault(key, []).append(made | {"seed": seed})
    text = n_digit_table.held_out_table(runs)
    # Differences of 4 and 7 points.
    p = stats.ttest_rel([0.54, 0.67], [0.5, 0.6]).pvalue
    cell = f"+5.5 ± 1.5 ({f'{p:.3f}'.removeprefix('0')})"
    row = f"| 0.5 minus 0.2, rate 0.003 | 2 | {cell} | {cell} | {cell} |"
    assert row in text.splitlines()


def test_the_page_has_the_held_out_numbers():
    found = read_between(
        n_digit_table.PAGE,
        n_digit_table.HELD_OUT_BEGIN,
        n_digit_table.HELD_OUT_END,
    )
    assert found == n_digit_table.held_out_table(n_digit_table.runs())
    assert n_digit_table.held_out_table({}) == NOT_RUN
