"""Validation numbers at the checkpoint and after the last batch."""

import pytest
from scipy import stats

from tools.checkpoint_table import checkpoint_table
from tools.paired_difference import ratio_of_test_to_train

FOLDS = {"num_folds": 5, "fold": 0}


def results(best_epochs, modularity, **numbers):
    """Results of folds whose histories have the same numbers by epoch."""
    series = {"val_modularity": modularity, **numbers}
    folds = {}
    for fold, best in enumerate(best_epochs, start=1):
        # Every fold has .01 more than the one before.
        history = [
            {
                name: values[epoch] + 0.01 * fold
                for name, values in series.items()
            }
            for epoch in range(len(modularity))
        ]
        training = {"best_epoch": best, "history": history}
        folds[str(fold)] = [{"training": training}]
    config = {"dataset": "omniglot", "folds": FOLDS}
    return {"folds": folds, "config": config}


def test_epochs_count_from_one_and_the_last_is_the_end():
    # Checkpoints of epochs 1 and 2 of 3: .5 + .01 and .7 + .02, mean .615;
    # the end: .6 + .01 and .6 + .02, mean .615, too.
    found = {"ours": results([1, 2], [0.5, 0.7, 0.6])}
    assert checkpoint_table(found, "ours") == [
        "| method | folds | modularity | after the last batch "
        "| ours minus it |",
        "|---|---:|---:|---:|---:|",
        "| ours | 1, 2 | 0.615 | 0.615 |  |",
    ]


def test_the_last_batches_are_compared():
    ours = results([1, 1], [0.9, 0.8])
    rival = results([1, 1], [0.95, 0.6])
    rival["folds"]["2"][0]["training"]["history"][-1]["val_modularity"] = 0.5
    line = checkpoint_table({"ours": ours, "rival": rival}, "ours")[-1]
    # Differences .81 - .61 and .82 - .5: mean .26, standard error .06.
    plain = stats.ttest_rel([0.81, 0.82], [0.61, 0.5]).pvalue
    assert line.startswith(
        f"| rival | 1, 2 | 0.965 | 0.555 | +0.260 ± 0.060 ({plain:.3f}".replace(
            "(0.", "(."
        )
    )


def test_numbers_that_a_run_lacks_are_left_out():
    whole = results([1], [0.9], val_explicitness=[0.8])
    older = results([1], [0.7])
    head = checkpoint_table({"ours": whole, "older": older}, "ours")[0]
    assert "explicitness" not in head
    head = checkpoint_table({"ours": whole}, "ours")[0]
    assert "explicitness" in head


def test_the_first_seed_counts():
    one, two = results([1], [0.9]), results([1], [0.9])
    two["folds"]["1"].append(results([1], [0.2])["folds"]["1"][0])
    assert checkpoint_table({"ours": two}, "ours") == checkpoint_table(
        {"ours": one}, "ours"
    )


def test_the_correction_has_the_share_of_validation_classes():
    config = {"dataset": "sprites/all_frames", "folds": FOLDS}
    # The test has 134 or 135 of 672 identities. The validation has a fifth of
    # the remaining ones (108), and the training has 429 or 430.
    assert ratio_of_test_to_train(config) == pytest.approx(134.4 / 429.6, 1e-3)
    found = ratio_of_test_to_train(config, "validation")
    assert found == pytest.approx(108 / 429.6, 1e-3)
    ours = results([1, 1], [0.9, 0.8])
    rival = results([1, 1], [0.95, 0.6])
    rival["folds"]["2"][0]["training"]["history"][-1]["val_modularity"] = 0.5
    for each in (ours, rival):
        each["config"] = config
    line = checkpoint_table({"ours": ours, "rival": rival}, "ours")[-1]
    # Differences .2 and .32: mean .26, variance .0072.
    t = 0.26 / (0.0072 * (1 / 2 + found)) ** 0.5
    corrected = f"{2 * stats.t.sf(t, 1):.3f}".removeprefix("0")
    assert line.endswith(f"; {corrected}) |")
