import math

import numpy as np
import pytest
import tensorflow as tf
from scipy import optimize
from scipy import special

from embeddings_tf.losses import LiftedStructureLoss
from embeddings_tf.losses import lifted_structure_loss
from tests.losses.random_points import points

BATCHES = {
    "class by class": [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3],
    "uneven and mixed": [5, -2, 5, 5, 7, -2, 5, 7, 5, 9, 9, 5],
    "with singletons": [1, 2, 3, 1, 4, 2, 5, 1, 6, 7, 8, 1],
}
FORMS = ["published", "authors"]


def loss_by_loop(labels, z, margin=1.0, form="published"):
    """Loops over positive pairs (each once) and their negative pairs."""
    z = np.asarray(z, "float64")

    def d(i, j):
        square = ((z[i] - z[j]) ** 2).sum()
        return math.sqrt(square) if form == "published" else square

    rows = range(len(labels))
    total = num_pairs = 0
    for i in rows:
        for j in range(i):
            if labels[i] != labels[j]:
                continue
            num_pairs += 1
            negatives = [
                margin - d(end, k)
                for end in (i, j)
                for k in rows
                if labels[k] != labels[end]
            ]
            if not negatives:
                continue
            hinge = max(0, special.logsumexp(negatives) + d(i, j))
            total += hinge**2 if form == "published" else hinge
    factor = 2 if form == "published" else 4
    return total / (factor * num_pairs) if num_pairs else 0.0


@pytest.mark.parametrize("labels", BATCHES.values(), ids=BATCHES)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("scale", [0.1, 1, 5])
def test_by_loop(labels, form, scale):
    z = points() * np.float32(scale)
    for margin in (0, 1, 2.5):
        expected = loss_by_loop(labels, z, margin, form)
        values = lifted_structure_loss(labels, z, margin, form=form)
        np.testing.assert_allclose(values, np.full(12, expected), rtol=1e-5)
        loss = LiftedStructureLoss(margin, form=form)
        np.testing.assert_allclose(loss(labels, z), expected, rtol=1e-5)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("scale", [1, 5])
def test_gradient_by_differences(form, scale):
    labels = BATCHES["uneven and mixed"]
    z = points(seed=1) * np.float32(scale)

    def value(flat):
        return loss_by_loop(labels, flat.reshape(12, 3), 1.0, form)

    variable = tf.Variable(z)
    with tf.GradientTape() as tape:
        mean = tf.reduce_mean(
            lifted_structure_loss(labels, variable, form=form)
        )
    expected = optimize.approx_fprime(z.ravel().astype(float), value, 1e-7)
    np.testing.assert_allclose(
        tape.gradient(mean, variable),
        expected.reshape(12, 3),
        rtol=1e-3,
        atol=1e-4,
    )


def test_arithmetic():
    """One positive pair, at 0 and 2; the negative is also at 2."""
    z = np.array([[0.0], [2.0], [2.0]], "float32")
    hinge = math.log(math.exp(-1) + math.exp(1)) + 2
    values = lifted_structure_loss([0, 0, 1], z)
    np.testing.assert_allclose(values, [hinge**2 / 2] * 3, rtol=1e-6)
    hinge = math.log(math.exp(-3) + math.exp(1)) + 4
    values = lifted_structure_loss([0, 0, 1], z, form="authors")
    np.testing.assert_allclose(values, [hinge / 4] * 3, rtol=1e-6)


@pytest.mark.parametrize("form", FORMS)
def test_far_negatives_cost_nothing(form):
    """Exponentials of distances of 1e4 exceed float32."""
    z = np.array([[0.0], [1.0], [1e4], [1e4 + 1]], "float32")
    values = lifted_structure_loss([0, 0, 1, 1], z, form=form)
    np.testing.assert_array_equal(values, np.zeros(4))
    swapped = lifted_structure_loss([0, 1, 0, 1], z, form=form)
    expected = loss_by_loop([0, 1, 0, 1], z, form=form)
    np.testing.assert_allclose(swapped, [expected] * 4, rtol=1e-5)


@pytest.mark.parametrize("form", FORMS)
def test_degenerate_batches(form):
    z = points()
    labels = np.array([0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3])
    hinge = 1 + math.log(2 * (12 - 3))
    at_one_place = hinge**2 / 2 if form == "published" else hinge / 4
    huge = z * np.float32(1e18)
    for case, (ids, embeddings, expected) in {
        "one class": (np.zeros(12), z, 0),
        "singletons": (np.arange(12), z, 0),
        "one row": ([1], z[:1], 0),
        "all points coincide": (labels, np.repeat(z[:1], 12, 0), at_one_place),
        "tiny": (labels, z * np.float32(1e-18), at_one_place),
        "huge": (labels, huge, loss_by_loop(labels, huge, form=form)),
    }.items():
        variable = tf.Variable(embeddings)
        with tf.GradientTape() as tape:
            values = lifted_structure_loss(ids, variable, form=form)
        gradient = tape.gradient(values, variable)
        assert np.isfinite(gradient).all(), case
        np.testing.assert_allclose(values, [expected] * len(ids), 1e-5, 0, case)
        if not expected:
            np.testing.assert_array_equal(gradient, 0 * embeddings, case)


def test_nan_is_not_hidden():
    z = points()
    z[3, 1] = np.nan
    for form in FORMS:
        labels = BATCHES["class by class"]
        assert np.isnan(lifted_structure_loss(labels, z, form=form)).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"margin": -1}, "`margin` must be a finite number of at least 0"),
        ({"margin": 1e38}, r"`margin` must be at most 1e\+18; received 1e\+38"),
        ({"margin": float("inf")}, "received inf"),
        ({"form": "song"}, "one of 'published', 'authors'; received 'song'"),
    ],
)
def test_errors(arguments, message):
    with pytest.raises(ValueError, match=message):
        LiftedStructureLoss(**arguments)
    with pytest.raises(ValueError, match=message):
        lifted_structure_loss([0, 0, 1], points(3), **arguments)
