"""The hash that distinguishes data sets."""

import types

import numpy as np

from trainers.data.data_fingerprint import evaluation_fingerprint
from trainers.data.data_fingerprint import fingerprint

NUMBERED = (0, "train"), (1, "test")


def of(x, labels):
    run = types.SimpleNamespace(data=types.SimpleNamespace(split="train"))
    return fingerprint(
        types.SimpleNamespace(run=run, unprocessed=lambda split: (x, labels))
    )


def test_data_that_changes_the_fingerprint():
    x = np.arange(1000, dtype=np.float32).reshape(100, 10)
    labels = np.arange(100) % 7
    same = of(x.copy(), labels.astype(np.int32))
    assert len(same) == 16 and int(same, 16) >= 0
    assert of(x, labels) == same
    for row in (0, 99):
        other = x.copy()
        other[row, 3] += 1
        assert of(other, labels) != same
    relabelled = labels.copy()
    relabelled[50] = 6
    assert of(x, relabelled) != same
    assert of(x[:-1], labels[:-1]) != same
    assert of(x.astype(np.float64), labels) != same
    assert of(x.reshape(100, 5, 2), labels) != same


def test_rows_outside_the_sample_do_not_change_the_fingerprint():
    """Rows 0, 3, 6, 9, 12, 15, 19, ... of 100 are read: 99 / 31 apart."""
    x, labels = np.zeros((100, 2)), np.zeros(100, int)
    other = x.copy()
    other[1] = 5
    assert of(other, labels) == of(x, labels)
    other[3] = 5
    assert of(other, labels) != of(x, labels)


def test_labels_may_be_text_or_factors():
    x = np.zeros((4, 2))
    assert of(x, np.array(list("abcd"))) != of(x, np.array(list("abce")))
    factors = np.arange(8).reshape(4, 2)
    assert of(x, factors) != of(x, factors.T.reshape(4, 2))


def test_splits_can_be_named():
    splits = {name: (np.full((4, 2), n), np.arange(4)) for n, name in NUMBERED}
    run = types.SimpleNamespace(data=types.SimpleNamespace(split="train"))
    data = types.SimpleNamespace(run=run, unprocessed=splits.get)
    prints = {
        fingerprint(data, *names)
        for names in ((), ("train",), ("test",), ("train", "test"))
    }
    assert fingerprint(data) == fingerprint(data, "train")
    assert len(prints) == 3
    before = fingerprint(data, "train", "test")
    splits["test"][0][3, 1] += 1
    assert fingerprint(data, "train", "test") != before


def test_lists_of_trials():
    """Where only lists are evaluated, their split counts, too."""
    trials = {
        "a": (
            np.zeros((3, 2)),
            np.array([0, 1]),
            np.array([1, 2]),
            np.array([True, False]),
        )
    }
    trials["b"] = (*trials["a"][:3], np.array([False, False]))
    trials["other examples"] = (np.ones((3, 2)), *trials["a"][1:])
    splits = {name: (np.full((4, 2), n), np.arange(4)) for n, name in NUMBERED}

    def of_lists(path, split="test"):
        evaluation = types.SimpleNamespace(
            splits=(), trials_split=split, trials={"list": path}
        )
        run = types.SimpleNamespace(
            data=types.SimpleNamespace(split="train"), evaluation=evaluation
        )
        return evaluation_fingerprint(
            types.SimpleNamespace(
                run=run,
                unprocessed=splits.get,
                trials=lambda split, path, num_trials: trials[path],
            )
        )

    assert of_lists("a") == of_lists("a") != of_lists("b")
    assert of_lists("a") != of_lists("other examples")
    assert of_lists("a") != of_lists("a", split="train")
