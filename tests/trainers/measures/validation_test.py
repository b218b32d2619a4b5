"""Held-out data of the commands during training."""

import keras
import numpy as np
import pytest

from trainers.measures.validation import Validation


def test_a_training_that_diverges_is_not_blamed_on_the_inputs():
    """Its embeddings are checked before the callback sees them."""
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
    model.layers[-1].bias.assign([np.nan, 0])
    x, labels = np.ones((4, 3), "float32"), np.array([0, 0, 1, 1])
    callback = Validation(x, labels)
    callback.set_model(model)
    with pytest.raises(FloatingPointError, match="in epoch 2; lower the learn"):
        callback.on_epoch_end(1, {})
    model.layers[-1].bias.assign([0, 0])
    x[2] = np.nan
    with pytest.raises(ValueError, match="Input 2 is not finite"):
        callback.on_epoch_end(1, {})
