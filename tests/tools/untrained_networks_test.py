"""Untrained networks of several seeds beside the F-statistic loss."""

import copy

import numpy as np
import pytest

from embeddings_tf import metrics
from tools import cross_validation_results
from tools import untrained_networks

EVERY = "sprites/all_frames"


def test_networks_are_spread_and_compared_by_fold():
    every = cross_validation_results.load()
    ours = copy.deepcopy(every[untrained_networks.RECIPE, EVERY])
    ours["folds"] = {fold: ours["folds"][fold][:1] for fold in ("1", "2")}
    found = {EVERY: {}}
    # By fold: ours .9 and .94; the networks .88, .96 and .9, .98.
    for fold, trained, networks in (
        ("1", 0.9, (0.88, 0.96)),
        ("2", 0.94, (0.9, 0.98)),
    ):
        test = ours["folds"][fold][0]["evaluation"]["test"]
        names = [*cross_validation_results.MEASURES]
        test |= dict.fromkeys(names, trained)
        found[EVERY][fold] = {
            "networks": {
                str(seed): dict.fromkeys(names, value)
                for seed, value in enumerate(networks)
            },
            "commit": "0123456789",
        }
    text = "\n".join(untrained_networks.section(found, {EVERY: ours}))
    cell = "0.930 (0.890 to 0.970)"
    cells = [*[cell] * 4, "1.860 (1.780 to 1.940)"]
    line = f"| Sprites, all frames | 2 | 1, 2 | {' | '.join(cells)} | 1 |"
    assert line in text
    # .9 - .92 and .94 - .94.
    start = "| the mean network, Sprites, all frames | 2 | -0.010 ± 0.010 ("
    assert start in text
    assert "python -m tools.untrained_networks --seeds 2" in text


def test_nothing_was_run():
    lines = untrained_networks.section({}, {})
    assert lines[-1] == untrained_networks.COMMAND


def test_the_measures_are_those_of_the_tables():
    generator = np.random.default_rng(0)
    factors = generator.integers(0, 3, (90, 2))
    codes = factors + 0.1 * generator.normal(size=(90, 2))
    found = untrained_networks.measures(codes, factors)
    assert set(found) == set(cross_validation_results.MEASURES)
    assert found["modularity"] == metrics.modularity(codes, factors)
    assert found["explicitness"] == pytest.approx(1, abs=0.01)
    assert found["modularity_corrected"] > 0.9


def test_no_network_is_refused(capsys):
    with pytest.raises(SystemExit):
        untrained_networks.main(["--seeds", "0"])
    assert "--seeds must be at least 1; received 0" in capsys.readouterr().err
