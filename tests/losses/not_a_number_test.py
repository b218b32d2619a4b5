"""Embeddings of NaN have a loss of NaN, under XLA too."""

import numpy as np
import pytest
import tensorflow as tf

from embeddings_tf import layers
from embeddings_tf import losses
from embeddings_tf import objectives

LOSSES = {
    "triplet_hard": lambda: losses.TripletLoss(mining="hard"),
    "triplet_cosine": lambda: losses.TripletLoss(distance="cosine"),
    "histogram": losses.HistogramLoss,
    "binomial_deviance": losses.BinomialDevianceLoss,
    "lifted_structure": losses.LiftedStructureLoss,
}
LABELS = np.repeat([0, 1, 2], 2)
Z = np.random.default_rng(0).normal(size=(6, 4)).astype("float32")


def compiled(loss, labels, embeddings):
    """The value of a loss that XLA has compiled."""
    return tf.function(loss, jit_compile=True)(labels, embeddings).numpy()


@pytest.mark.parametrize("name", LOSSES)
def test_a_batch_of_nan(name):
    loss, nothing = LOSSES[name](), np.full_like(Z, np.nan)
    assert np.isnan(loss(LABELS, nothing))
    assert np.isnan(compiled(loss, LABELS, nothing))


def test_one_row_of_nan_among_hard_triplets():
    z = Z.copy()
    z[0] = np.nan
    loss = losses.TripletLoss(mining="hard")
    assert np.isnan(loss(LABELS, z)) and np.isnan(compiled(loss, LABELS, z))


@pytest.mark.parametrize("label", [-1, 3])
def test_labels_without_a_class_of_the_classifier(label):
    objective = objectives.LearnedDistance(
        layers.PairDistance((4,), dropout=0.0), 3, "softmax"
    )
    objective(LABELS, Z)  # makes its weights
    assert np.isfinite(compiled(objective, LABELS, Z)).all()
    labels = LABELS.copy()
    labels[-1] = label
    assert np.isnan(compiled(objective, labels, Z)).any()
