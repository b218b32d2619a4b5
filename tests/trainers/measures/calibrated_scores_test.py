"""Calibration of scores on validation recordings and on given trials."""

import types

import keras
import numpy as np
import pytest

from embeddings_tf import metrics
from embeddings_tf.datasets import Utterances
from trainers.measures import calibrated_scores


@pytest.mark.parametrize(
    ("scores", "has_slope"),
    [
        ([1, 2, 3, 4], False),
        ([1, 2, 2, 4], False),  # equal at the threshold
        ([4, 2, 2, 1], False),
        ([1, 3, 2, 4], True),
        ([2, 2, 2, 2], True),  # the best slope is 0
    ],
)
def test_trials_without_a_best_slope(scores, has_slope):
    is_target = np.array([False, False, True, True])
    found = calibrated_scores.fit(np.array(scores, float), is_target, (0.1,))
    assert (found.logistic is not None) == has_slope
    assert ("cllr_logistic" in found.transforms()) == has_slope
    assert "cllr_isotonic" in found.transforms()


def test_two_large_classes_lose_examples(monkeypatch):
    """All pairs of their examples would need too much memory."""
    monkeypatch.setattr(calibrated_scores, "MOST_EXAMPLES", 4)
    classes = np.repeat([0, 1], [50, 60])
    rows = calibrated_scores._whole_classes(classes)
    assert classes[rows].tolist() == [0, 0, 1, 1]


def test_recordings_of_whole_classes_are_drawn(monkeypatch):
    """Three speakers of two recordings; four recordings are two speakers."""
    monkeypatch.setattr(calibrated_scores, "MOST_EXAMPLES", 4)
    lengths = np.array([1, 3, 2, 1, 2, 4])
    values = np.array([0.0, 1.0, 5.0, 2.0, 9.0, 11.0])
    frames = np.repeat(values, lengths)[:, np.newaxis].astype("float32")
    speakers = np.array([0, 0, 1, 1, 2, 2])
    data = types.SimpleNamespace(
        split=lambda name: (Utterances(frames, lengths), speakers)
    )
    evaluation = types.SimpleNamespace(
        validation=types.SimpleNamespace(split="validation"),
        calibrate=True,
        splits=("test",),
        false_accept_rates=(0.2,),
        num_per_class=0,
    )
    model = keras.Sequential(
        [keras.Input((None, 1)), keras.layers.GlobalAveragePooling1D()]
    )

    def score(first, second):
        return -np.abs(first - second.T)

    found = calibrated_scores.calibrate(
        types.SimpleNamespace(evaluation=evaluation),
        data,
        model,
        {"near": score},
    )["near"]
    # The mean over frames is the value of the recording.
    drawn = np.random.default_rng(0).permutation(3)[:2]
    rows = np.flatnonzero(np.isin(speakers, drawn))
    pairs = [(i, j) for i in rows for j in rows if i < j]
    expected = metrics.threshold_at_false_accept_rate(
        [-abs(values[i] - values[j]) for i, j in pairs],
        [speakers[i] == speakers[j] for i, j in pairs],
        0.2,
    )
    assert found.thresholds == {0.2: pytest.approx(expected)}


def test_the_printed_rate_has_its_interval():
    """Scores of 4 classes; at 2, only pairs of class 0 are accepted."""
    first, second = np.triu_indices(8, 1)
    classes = np.arange(8) // 2
    groups = np.stack([classes[first], classes[second]], axis=1)
    is_target = groups[:, 0] == groups[:, 1]
    scores = np.where(groups[:, 0] == 0, 3.0, 1.0)
    fitted = calibrated_scores.fit(scores, is_target, (0.1,))
    fitted.thresholds[0.1] = 2.0
    found = calibrated_scores.measures(fitted, scores, is_target, groups, 200)
    (row,) = found["at_false_accept_rate"]
    # 12 of the 24 pairs of two classes have an example of class 0.
    assert row["false_accept_rate"] == 12 / 24
    low, high = row["false_accept_rate_interval"]
    # Without class 0 in a resample none is accepted; else at most all are.
    assert (low, high) == (0, 1)
    of_split = {"own_score": "near_miss", "near_miss": found}
    (line,) = calibrated_scores.threshold_lines(of_split)
    assert line.startswith("near miss at 10 % false accepts")
    assert "50.00 % (95 % interval 0.00 to 100.00 %), misses" in line
    del row["false_accept_rate_interval"]
    (line,) = calibrated_scores.threshold_lines(of_split)
    assert "50.00 %, misses" in line
