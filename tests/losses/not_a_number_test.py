"""Embeddings that are not finite have no finite loss, under XLA too."""

import itertools

import numpy as np
import pytest
import tensorflow as tf

from embeddings_tf import layers
from embeddings_tf import losses
from embeddings_tf import objectives
from embeddings_tf.ops import distances
from embeddings_tf.ops import sum_over_pairs
from tests import conformance_test

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


@pytest.mark.slow
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


@pytest.mark.slow
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


# The repaired functions of distances, and every other loss.
ENTRIES = conformance_test.LOSSES + conformance_test.OBJECTIVES
OF_DISTANCES = ("PrototypicalLoss", "LiftedStructureLoss")


def with_xla():
    """Entries with XLA; most take seconds to compile."""
    for entry in ENTRIES:
        is_slow = not str(entry).startswith(OF_DISTANCES)
        if "xla" not in entry.not_applicable:
            marks = [pytest.mark.slow] if is_slow else []
            yield pytest.param(entry, True, marks=marks, id=f"{entry}-xla")


def batches_with(value, z, is_loss):
    """Puts `value` into a row with a positive, into a query, and into neither.

    With rows of one sign, all products with infinity have one sign.
    """
    signs = [z, -np.abs(z)] if is_loss else [z]
    for rows, row, column in itertools.product(signs, (0, 5, 6), (0, 1)):
        changed = rows.copy()
        changed[row, column] = value
        yield changed


@pytest.mark.every_nth(3)
@pytest.mark.parametrize(
    "entry, xla",
    [*(pytest.param(e, False, id=str(e)) for e in ENTRIES), *with_xla()],
)
def test_a_number_that_is_not_finite(entry, xla):
    z = np.float32(entry.batch()[1])
    # Two classes of three rows, and classes of one row.
    labels = np.array([0, 0, 0, 1, 1, 1, *range(2, len(z) - 4)])
    loss = entry.new()
    assert np.isfinite(loss(labels, z)).all()
    if xla:
        loss = tf.function(loss.__call__, autograph=False, jit_compile=True)
    for value in (np.inf, -np.inf, np.nan):
        for changed in batches_with(value, z, entry in conformance_test.LOSSES):
            found = loss(tf.constant(labels), tf.constant(changed))
            assert not np.isfinite(found).any(), (value, changed)


@pytest.mark.parametrize("form", ["published", "authors"])
def test_infinity_in_blocks_of_pairs(form, monkeypatch):
    monkeypatch.setattr(sum_over_pairs, "BLOCK_SIZE", 12)  # 2 rows of 6
    z = -np.abs(Z)
    z[5, 1] = np.inf
    assert np.isnan(losses.LiftedStructureLoss(form=form)(LABELS, z))


SQUARED = {
    "squared_l2": distances.squared_l2,
    "squared_l2_between": distances.squared_l2_between,
    "squared_l2_within": lambda a, _: distances.squared_l2_within(a),
}


@pytest.mark.parametrize("name", SQUARED)
@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_infinite_rows_have_no_distances(name, value):
    z = -np.abs(Z)
    expected = ((z[:, None] - z.astype("float64")) ** 2).sum(axis=-1)
    z[1, 0] = value
    expected[1] = expected[:, 1] = np.nan
    z = tf.constant(z)
    for squared in (
        SQUARED[name],
        tf.function(SQUARED[name], autograph=False, jit_compile=True),
    ):
        np.testing.assert_allclose(squared(z, z), expected, 1e-5, 1e-6)
