import math

import numpy as np
import pytest
import tensorflow as tf
from scipy import optimize

from embeddings_tf.losses import BinomialDevianceLoss
from embeddings_tf.losses import binomial_deviance_loss
from tests.losses.random_points import points

BATCHES = {
    "class by class": [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3],
    "uneven and mixed": [5, -2, 5, 5, 7, -2, 5, 7, 5, 9, 9, 5],
    "with singletons": [1, 2, 3, 1, 4, 2, 5, 1, 6, 7, 8, 1],
}
DEFAULTS = (2.0, 0.5, 10.0)
OTHERS = (3.0, -0.2, 25.0)


def of_positive(s, scale, threshold, cost):
    return math.log(1 + math.exp(-scale * (s - threshold)))


def of_negative(s, scale, threshold, cost, form="published"):
    more = 1e-5 if form == "authors" else 0
    return math.log(1 + more + math.exp(scale * cost * (s - threshold)))


def loss_by_loop(labels, z, parameters=DEFAULTS, form="published"):
    z = np.asarray(z, "float64")
    positives, negatives = [], []
    for i in range(len(labels)):
        for j in range(i):
            s = z[i] @ z[j] / np.sqrt((z[i] @ z[i]) * (z[j] @ z[j]))
            if labels[i] == labels[j]:
                positives.append(of_positive(s, *parameters))
            else:
                negatives.append(of_negative(s, *parameters, form))
    return sum(np.mean(values) for values in (positives, negatives) if values)


@pytest.mark.parametrize("labels", BATCHES.values(), ids=BATCHES)
@pytest.mark.parametrize("parameters", [DEFAULTS, OTHERS])
@pytest.mark.parametrize("form", ["published", "authors"])
def test_by_loop(labels, parameters, form):
    z = points()
    expected = loss_by_loop(labels, z, parameters, form)
    values = binomial_deviance_loss(labels, z, *parameters, form=form)
    np.testing.assert_allclose(values, np.full(12, expected), rtol=1e-5)
    loss = BinomialDevianceLoss(*parameters, form=form)
    np.testing.assert_allclose(loss(labels, z), expected, rtol=1e-5)


def test_the_forms_differ_where_negatives_cost_nothing():
    """At a cosine of -1 negatives cost exp(-30), or 1e-5 more."""
    z = np.array([[1.0], [-1.0]], "float32")
    values = binomial_deviance_loss([0, 1], z)
    np.testing.assert_allclose(values, [math.exp(-30)] * 2, rtol=1e-4)
    values = binomial_deviance_loss([0, 1], z, form="authors")
    np.testing.assert_allclose(values, [1e-5] * 2, rtol=1e-4)


@pytest.mark.parametrize("parameters", [DEFAULTS, OTHERS])
@pytest.mark.parametrize("form", ["published", "authors"])
def test_gradient_by_differences(parameters, form):
    labels = BATCHES["uneven and mixed"]
    z = points(seed=1)

    def value(flat):
        return loss_by_loop(labels, flat.reshape(12, 3), parameters, form)

    variable = tf.Variable(z)
    with tf.GradientTape() as tape:
        mean = tf.reduce_mean(
            binomial_deviance_loss(labels, variable, *parameters, form=form)
        )
    expected = optimize.approx_fprime(z.ravel().astype(float), value, 1e-7)
    np.testing.assert_allclose(
        tape.gradient(mean, variable),
        expected.reshape(12, 3),
        rtol=1e-3,
        atol=1e-5,
    )


@pytest.mark.parametrize("form", ["published", "authors"])
def test_degenerate_batches(form):
    z = points()
    labels = BATCHES["with singletons"]

    def expected(ids):
        return loss_by_loop(ids, z, form=form)

    at_one, at_zero = (
        of_positive(s, *DEFAULTS) + of_negative(s, *DEFAULTS, form)
        for s in (1, 0)
    )
    for case, (ids, embeddings, value) in {
        "one class": (np.zeros(12), z, expected(np.zeros(12))),
        "singletons": (np.arange(12), z, expected(np.arange(12))),
        "one row": ([1], z[:1], 0),
        "all points coincide": (labels, np.repeat(z[:1], 12, 0), at_one),
        "zeros": (labels, 0 * z, at_zero),
        "tiny": (labels, z * np.float32(1e-18), expected(labels)),
        "huge": (labels, z * np.float32(1e18), expected(labels)),
    }.items():
        variable = tf.Variable(embeddings)
        with tf.GradientTape() as tape:
            values = binomial_deviance_loss(ids, variable, form=form)
        gradient = tape.gradient(values, variable)
        assert np.isfinite(gradient).all(), case
        np.testing.assert_allclose(values, [value] * len(ids), 1e-4, 0, case)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"scale": -2}, "`scale` must be a finite number of at least 0"),
        ({"threshold": float("inf")}, "`threshold` must be a finite number"),
        ({"threshold": -1.5}, "of at least -1; received -1.5"),
        ({"threshold": 1.5}, "`threshold` must be at most 1; received 1.5"),
        ({"scale": 1e38}, r"`scale` must be at most 1e\+18; received 1e\+38"),
        ({"negative_cost": 1e38}, r"`negative_cost` must be at most 1e\+18"),
        ({"negative_cost": None}, "`negative_cost` must.*received None"),
        ({"form": "paper"}, "one of 'published', 'authors'; received 'paper'"),
    ],
)
def test_errors(arguments, message):
    with pytest.raises(ValueError, match=message):
        BinomialDevianceLoss(**arguments)
    with pytest.raises(ValueError, match=message):
        binomial_deviance_loss([0, 0, 1], points(3), **arguments)
