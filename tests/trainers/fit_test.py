import random

import numpy as np

from tests.trainers.train_test import TINY
from trainers import fit
from trainers.config import load_recipe
from trainers.data import data


def test_initial_weights_do_not_depend_on_reading_the_data(
    monkeypatch, in_checkout
):
    """Preparing data or computing features draws numbers, the first time."""
    load = data.datasets.load
    weights = []
    for num_draws in (0, 1):

        def load_and_draw(*args, num_draws=num_draws, **options):
            for _ in range(num_draws):
                random.random()
                np.random.random()
            return load(*args, **options)

        monkeypatch.setattr(data.datasets, "load", load_and_draw)
        run = load_recipe(TINY, ["deterministic=False"])
        model, _ = fit.check_recipe(run)
        weights.append(model.get_weights())
    assert any(np.ptp(weight) > 0 for weight in weights[0])
    for one, other in zip(*weights, strict=True):
        np.testing.assert_array_equal(one, other)
