"""Errors over a list of trials, by hand."""

import types

import keras
import numpy as np

from embeddings_tf.losses import ContrastiveLoss
from trainers.measures.listed_trials import listed_trials


def test_each_trial_compares_its_two_recordings():
    """On a line, the pairs have the distances 0.5, 1, 2 and 3."""
    x = np.array([[0.0], [1.0], [3.0], [3.5]], "float32")
    first, second = np.array([2, 0, 1, 0]), np.array([3, 1, 2, 2])
    is_target = np.array([True, False, True, False])
    model = keras.Sequential([keras.Input((1,)), keras.layers.Identity()])
    model.compile(loss=ContrastiveLoss())
    run = types.SimpleNamespace(
        evaluation=types.SimpleNamespace(trials_split="test", euclidean=True)
    )
    data = types.SimpleNamespace(
        trials=lambda split, path: (x, first, second, is_target)
    )
    found, curves = listed_trials(run, data, model, None, "trials.txt")
    assert (found["examples"], found["trials"], found["targets"]) == (4, 4, 2)
    # Targets at 0.5 and 2, others at 1 and 3: at a threshold between 1 and 2,
    # one of two targets is missed and one of two others accepted.
    assert found["l2"]["equal_error_rate"] == 0.5
    # A target is nearer than another trial in three of four pairs of trials.
    assert found["l2"]["one_minus_auc"] == 0.25
    assert "l2" in curves
