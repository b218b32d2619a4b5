"""Batches of the recipes of goals."""

import numpy as np

from tests.trainers.goal_recipes import FACTORS
from tests.trainers.goal_recipes import LABELS
from tests.trainers.goal_recipes import arrays
from tests.trainers.goal_recipes import write
from trainers.goals.goal_config import rows_per_batch


def test_compared_methods_have_as_many_examples_in_a_batch(tmp_path):
    """24 training classes of 10: episodes of 20 x 10, other batches 12 x 8."""
    labels = np.repeat(np.arange(40), 10)
    dataset = arrays(tmp_path, np.zeros((400, 3), "float32"), labels)
    found = {}
    for command in ("train", "compare"):
        for method in ("StochasticPrototypes", "TripletLoss"):
            folder = tmp_path / command / method
            run = write(dataset, "few_shot", folder, method, command=command)
            found[command, method] = rows_per_batch(run)
            supports = run.method.arguments.get("num_support")
            assert run.batches.arguments.get("num_support") == supports
            assert method == "TripletLoss" or supports == {
                "train": 5,
                "compare": 4,
            }.get(command)
    assert [*found.values()] == [20 * 10, 12 * 8, 12 * 8, 12 * 8]


def test_a_batch_of_factors(tmp_path):
    x = np.zeros((len(LABELS), 6), "float32")
    dataset = arrays(tmp_path, x, FACTORS)
    run = write(dataset, "disentangle", tmp_path, split="examples")
    # One factor has two values, so batches have 10 or more rows.
    assert run.batches.arguments == {"num_values": 12, "num_per_value": 5}
    assert rows_per_batch(run) is None
