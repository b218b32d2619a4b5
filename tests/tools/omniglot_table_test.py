"""The published table of Omniglot: transcription, columns, differences."""

import statistics

import pytest

from tests.read_between import read_between
from tools import omniglot_table
from trainers.config import load_recipe
from trainers.workdirs.workdir import recipe_fields

# The last column of the paper's table.
MEANS = {
    ("clean", "prototypical"): 64.8,
    ("clean", "stochastic_prototypes"): 66.1,
    ("corrupt_support", "prototypical"): 42.8,
    ("corrupt_support", "stochastic_prototypes"): 48.0,
    ("corrupt_query", "prototypical"): 37.1,
    ("corrupt_query", "stochastic_prototypes"): 37.4,
}


def run(recipe, num_support, accuracy, seed=0):
    """A result file in which the conditions differ by one point."""
    cells = {
        condition: {"accuracy": accuracy + number / 100}
        for number, condition in enumerate(omniglot_table.CONDITIONS)
    }
    of_20 = {
        condition: {"accuracy": cell["accuracy"] - 0.2}
        for condition, cell in cells.items()
    }
    return {
        "recipe": recipe,
        "seed": seed,
        "config": recipe_fields(load_recipe(recipe)) | {"seed": seed},
        "training": {
            "steps": 5000,
            "best_value": 0.5,
            "seconds": 60,
            "commit": "1234567890",
            "processor": "a processor",
            "cores": 1,
        },
        "evaluation": {
            "test": cells,
            f"test_20_class_{num_support}_shot": of_20,
        },
    }


@pytest.mark.parametrize("row", MEANS)
def test_the_published_numbers_have_the_published_means(row):
    # Rounded there from numbers of more digits.
    mean = statistics.mean(omniglot_table.PUBLISHED[row])
    assert mean == pytest.approx(MEANS[row], abs=0.11)
    assert set(MEANS) == set(omniglot_table.PUBLISHED)


def test_cells_and_differences():
    spe = "dim_2_stochastic_prototypes_corrupted"
    text = omniglot_table.table(
        [
            run(f"omniglot_1_shot_{spe}", 1, 0.5),
            run(f"omniglot_1_shot_{spe}", 1, 0.6, seed=1),
            run(f"omniglot_5_shot_{spe}", 5, 0.7),
            run("omniglot_1_shot_dim_2_prototypical_corrupted", 1, 0.4),
            run("omniglot_1_shot_dim_64_prototypical", 1, 0.9),
            run("omniglot_1_shot_dim_64_stochastic_prototypes", 1, 0.93),
        ]
    )
    rows = text.splitlines()
    # 55 % on average, one point more with corrupt supports, two with queries.
    assert (
        "| corrupt support | SPE | **56.0** (50.7) | **71.0** (73.9) "
        "| **36.0** (25.6) | **51.0** (41.6) | **53.5** (48.0) |"
    ) in rows
    assert (
        "| corrupt query | PN | **42.0** (48.9) | (52.3) | **22.0** (21.7) "
        "| (25.6) | (37.1) |"
    ) in rows
    # A model that was trained on clean images is of the clean row alone.
    assert (
        "| clean | SPE | (76.9) | (82.3) | (49.7) | (55.3) | (66.1) |"
    ) in rows
    assert (
        "| clean | PN, 64 dimensions | **90.0** |  | **70.0** |  |  |"
    ) in rows
    # The difference is over the one seed that both methods have.
    assert (
        "| corrupt support | **+10.0** [+10.0] (+0.7) | (+8.0) "
        "| **+10.0** [+10.0] (+2.0) | (+9.9) | (+5.2) |"
    ) in rows
    # The paper has no numbers for 64 dimensions.
    assert (
        "| clean, 64 dimensions | **+3.0** [+3.0] |  | **+3.0** [+3.0] |  |  |"
    ) in rows
    # Models of 64 dimensions are trained on clean images alone: one point more
    # with corrupt supports.
    assert (
        "| corrupt support | PN, 64 dimensions | **91.0** |  | **71.0** |  |  |"
    ) in rows


def test_the_mean_of_differences():
    runs = [
        run(f"omniglot_{shots}_shot_dim_64_{method}", shots, accuracy)
        for shots, accuracies in {1: (0.9, 0.93), 5: (0.95, 0.96)}.items()
        for method, accuracy in zip(
            omniglot_table.METHODS, accuracies, strict=True
        )
    ]
    text = omniglot_table.table(runs)
    (row,) = (r for r in text.splitlines() if "| clean, 64 dim" in r)
    # Columns of 3, 1, 3 and 1 points.
    assert row.endswith("| **+1.0** [+1.0] | **+2.0** [+2.0] |")


def test_commands_and_hardware():
    spe = "dim_2_stochastic_prototypes_corrupted"
    rows = omniglot_table.table(
        [run(f"omniglot_1_shot_{spe}", 1, 0.6, seed=1)]
    ).splitlines()
    assert f"    # omniglot_1_shot_{spe}, seed 1" in rows
    assert "    # omniglot_5_shot_dim_64_prototypical, not run" in rows
    assert "Commit 1234567; a processor, 1 core." in rows


def test_the_page_has_the_table_of_the_result_files():
    text = read_between(
        omniglot_table.PAGE, omniglot_table.BEGIN, omniglot_table.END
    )
    assert text == omniglot_table.table(omniglot_table.load()).strip("\n")
