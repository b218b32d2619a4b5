"""The objective of the study of uncertainty."""

import keras
import numpy as np
import pytest

from benchmarks._regularised_prototypes import RegularisedPrototypes
from embeddings_tf import objectives

RNG = np.random.default_rng(0)
LABELS = np.repeat(np.arange(3), 4)
MEAN = RNG.normal(size=(12, 2)).astype("float32")
VARIANCE = RNG.uniform(0.1, 2.0, size=(12, 2)).astype("float32")
PACKED = np.hstack([MEAN, VARIANCE])


def test_the_divergence_is_added():
    plain = objectives.StochasticPrototypes(2, seed=0)(LABELS, PACKED)
    regularised = RegularisedPrototypes(2, seed=0, beta=0.5)(LABELS, PACKED)
    divergence = [
        sum(
            (m**2 + v - 1 - np.log(v)) / 2
            for m, v in zip(mean, variance, strict=True)
        )
        for mean, variance in zip(MEAN, VARIANCE, strict=True)
    ]
    expected = plain.numpy() + 0.5 * np.mean(divergence)
    np.testing.assert_allclose(regularised, expected, rtol=1e-5)


@pytest.mark.parametrize("rate", [1.0, 10.0])
def test_the_rate_of_the_noise(rate):
    objective = RegularisedPrototypes(2, seed=0, noise_rate=rate)
    objective(LABELS, PACKED)
    # n_s * 0.01^(2 / dim), as in StochasticPrototypes.
    np.testing.assert_allclose(objective.noise_variance, 0.02, rtol=1e-5)
    raw = np.log(np.expm1(0.02))
    optimizer = keras.optimizers.Adam(0.1)
    optimizer.apply([1.0], [objective.raw_noise_variance])
    # The first step of Adam has the size of the learning rate.
    expected = np.log1p(np.exp(raw - 0.1 * rate))
    np.testing.assert_allclose(objective.noise_variance, expected, rtol=1e-4)


def test_the_config_is_complete():
    objective = RegularisedPrototypes(2, beta=0.1, noise_rate=3.0)
    again = RegularisedPrototypes.from_config(objective.get_config())
    assert again.get_config() == objective.get_config()
    assert (again.beta, again.noise_rate) == (0.1, 3.0)
