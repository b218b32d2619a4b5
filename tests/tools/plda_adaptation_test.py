"""Adaptation of PLDA to another domain, on made-up embeddings."""

import numpy as np

from tests.read_between import read_between
from tools import plda_adaptation
from tools.paired_difference import as_cell
from tools.paired_difference import paired_difference
from trainers.config import load_recipe
from trainers.workdirs.workdir import as_json

DATA = {"data_fingerprint": "0123"}


def domain(rng, num_classes, num_per_class, between, within):
    labels = np.repeat(np.arange(num_classes), num_per_class)
    means = rng.normal(size=(num_classes, 4)) * between
    noise = rng.normal(size=(len(labels), 4)) * within
    return means[labels] + noise, labels


def test_adaptation_helps_where_the_informative_dimensions_move():
    rng = np.random.default_rng(0)
    source = domain(rng, 60, 10, [3, 3, 0.1, 0.1], [1, 1, 1, 1])
    moved = [0.1, 0.1, 3, 3], [3, 3, 1, 1]
    few, test = domain(rng, 30, 20, *moved), domain(rng, 20, 10, *moved)
    found = plda_adaptation.equal_error_rates(*source, *few, *test, dims=None)
    assert list(found)[:2] == ["cosine", "PLDA of characters"]
    adapted = found["adapted, weight 0.75"]
    assert adapted < found["PLDA of characters"] - 0.05
    assert found["PLDA of digits"] < found["PLDA of characters"] - 0.05


def test_table_has_paired_differences():
    folds = {
        "0": {"cosine": 0.3, "PLDA of characters": 0.2, "adapted": 0.1},
        "1": {"cosine": 0.4, "PLDA of characters": 0.3, "adapted": 0.15},
    }
    recipe = "omniglot_verification_learned_distance"
    config = as_json(load_recipe(recipe, ["folds.fold=3", "seed=2"]))
    found = {"folds": folds, "encoder": recipe, "commit": "0" * 40}
    found["config"] = config
    text = plda_adaptation.table({**found, "processor": "p"})
    # A fold of MNIST tests two digits and trains on six.
    expected = paired_difference(
        {"0": 0.2, "1": 0.3}, {"0": 0.1, "1": 0.15}, 2 / 6
    )
    assert f"| adapted | 2 | {as_cell(expected, 2, 100)} |" in text
    assert "| cosine | 2 | 35.00 ± 5.00 |" in text
    assert plda_adaptation.differences(found)["adapted"] == expected
    printed = plda_adaptation.table({**found, "processor": "p"} | DATA)
    assert "; p; data 0123.\n" in printed
    run = "runs/omniglot_verification_learned_distance-seed_2"
    assert f"--config.seed=2 --workdir {run}" in printed
    assert "--folds 3 " in printed and printed.endswith(f" {run}/fold_3")


def test_the_page_has_the_table():
    between = read_between(
        plda_adaptation.PAGE, plda_adaptation.BEGIN, plda_adaptation.END
    )
    assert between == plda_adaptation.table(plda_adaptation.load())
