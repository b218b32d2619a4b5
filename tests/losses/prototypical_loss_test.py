import numpy as np
import pytest
import tensorflow as tf
from scipy import special

from embeddings_tf.losses import PrototypicalLoss
from embeddings_tf.losses import prototypical_loss


def loss_by_loop(labels, embeddings, num_support):
    """Loops over classes, then over queries and classes, in float64."""
    embeddings = np.asarray(embeddings, "float64")
    prototypes, queries = {}, []
    for label in dict.fromkeys(labels.tolist()):
        rows = np.flatnonzero(labels == label)
        prototypes[label] = embeddings[rows[:num_support]].mean(axis=0)
        queries += [(row, label) for row in rows[num_support:]]
    losses = []
    for row, label in queries:
        logits = {
            other: -((embeddings[row] - prototype) ** 2).sum()
            for other, prototype in prototypes.items()
        }
        losses.append(special.logsumexp(list(logits.values())) - logits[label])
    return np.mean(losses)


EPISODES = {
    "class by class": [5, 5, 5, 5, -1, -1, -1, -1, 9, 9, 9, 9],
    "uneven": [0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 2, 2],
    "interleaved": [3, 1, 2, 1, 3, 2, 2, 1, 3, 3, 1, 2],
    "class without queries": [4, 4, 4, 7, 4, 7, 8, 8, 8, 4, 8, 8],
    "class of fewer rows than supports": [4, 4, 4, 4, 1, 8, 8, 8, 8, 4, 8, 8],
    "two classes": [0, 1, 1, 0, 1, 0, 1, 1, 1, 1, 0, 1],
}


@pytest.mark.parametrize("labels", EPISODES.values(), ids=EPISODES)
@pytest.mark.parametrize("num_support", [1, 2])
def test_by_loop(labels, num_support):
    labels = np.array(labels)
    embeddings = np.random.default_rng(0).normal(size=(12, 3))
    embeddings = embeddings.astype("float32")
    expected = loss_by_loop(labels, embeddings, num_support)
    values = prototypical_loss(labels, embeddings, num_support)
    np.testing.assert_allclose(values, np.full(12, expected), rtol=1e-5)
    loss = PrototypicalLoss(num_support)
    np.testing.assert_allclose(loss(labels, embeddings), expected, rtol=1e-5)


def test_arithmetic():
    """Prototypes 0 and 3; the query at 1 has distances 1 and 4."""
    values = prototypical_loss([0, 1, 0], [[0.0], [3.0], [1.0]], 1)
    np.testing.assert_allclose(values, np.log(1 + np.exp(-3)), rtol=1e-5)


def test_gradient_by_differences():
    labels = np.array(EPISODES["interleaved"])
    embeddings = tf.constant(np.random.default_rng(1).normal(size=(12, 2)))

    def value(embeddings):
        return prototypical_loss(labels, embeddings, 2)[0]

    analytic, numeric = tf.test.compute_gradient(
        value, [embeddings], delta=1e-5
    )
    np.testing.assert_allclose(analytic[0], numeric[0], atol=1e-7)


def test_far_embeddings():
    """Squared distances of 1e12: exact zeros and large losses, no NaN."""
    z = np.array([[0.0], [1e6], [0.0], [0.0]], "float32")
    right = prototypical_loss([0, 1, 0, 0], z, 1)
    wrong = prototypical_loss([0, 1, 1, 1], z, 1)
    np.testing.assert_array_equal(right, np.zeros(4))
    np.testing.assert_allclose(wrong, np.full(4, 1e12), rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("jit_compile", [False, True])
def test_far_from_the_origin(jit_compile):
    """Means of three supports need more digits than float32 has."""
    labels = np.repeat(np.arange(4), 5)
    z = np.random.default_rng(5).normal(size=(20, 3))
    z = (1e5 + z).astype("float32")

    def value_and_gradient(z):
        with tf.GradientTape() as tape:
            tape.watch(z)
            value = prototypical_loss(labels, z, 3)[0]
        return value, tape.gradient(value, z)

    compiled = tf.function(value_and_gradient, jit_compile=jit_compile)
    value, gradient = compiled(tf.constant(z))
    expected = loss_by_loop(labels, z, 3)
    np.testing.assert_allclose(value, expected, rtol=1e-6)
    # The differences to a near origin are exact.
    _, expected = value_and_gradient(tf.constant(z - np.float32(1e5)))
    np.testing.assert_allclose(gradient, expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_is_computed_in_float32(dtype):
    labels = np.array(EPISODES["interleaved"])
    embeddings = 9 * np.random.default_rng(3).normal(size=(12, 3))
    half = tf.cast(embeddings, dtype)
    expected = loss_by_loop(labels, tf.cast(half, "float64").numpy(), 2)
    values = prototypical_loss(labels, half, 2)
    assert values.dtype == tf.float32
    np.testing.assert_allclose(values, np.full(12, expected), rtol=1e-5)


def test_the_largest_embeddings():
    """The value is clipped at large squares, the gradient is not."""
    z = tf.constant([[0.0], [1e17], [1e15], [9.9e16]])
    with tf.GradientTape() as tape:
        tape.watch(z)
        value = prototypical_loss([0, 1, 1, 0], z, 1)[0]
    assert 3e32 < value < 4e32
    # Each query: 2 (z - own mean) - 2 (z - other mean), over 2 queries.
    gradient = tape.gradient(value, z).numpy()
    np.testing.assert_allclose(gradient[2:], [[-1e17], [1e17]], rtol=1e-5)
    assert np.isfinite(gradient).all()
    huge = np.array([[1e38], [-1e38], [1e38], [-1e38]], "float32")
    np.testing.assert_array_equal(prototypical_loss([0, 1, 0, 1], huge, 1), 0)
    assert np.isfinite(prototypical_loss([0, 1, 1, 0], huge, 1)).all()


def test_one_class_and_no_query():
    z = np.random.default_rng(2).normal(size=(4, 2)).astype("float32")
    np.testing.assert_array_equal(prototypical_loss([1] * 4, z, 2), [0] * 4)
    np.testing.assert_array_equal(prototypical_loss([1] * 4, z, 4), [0] * 4)


@pytest.mark.parametrize("num_support", [0, 1.5, None])
def test_num_support(num_support):
    with pytest.raises(ValueError, match="`num_support` must be an integer"):
        PrototypicalLoss(num_support)
    with pytest.raises(ValueError, match="`num_support` must be an integer"):
        prototypical_loss([0, 0, 1, 1], np.eye(4), num_support)
