import keras
import numpy as np
import pytest
import tensorflow as tf

from embeddings_tf.losses import TripletLoss
from embeddings_tf.models import EmbeddingModel
from embeddings_tf.models.training_loss import mean_over_rows
from embeddings_tf.objectives import SoftContrastive


@pytest.mark.parametrize("weight", [None, 2.0])
@pytest.mark.parametrize("rows", [0, 3])
def test_mean_of_values(rows, weight):
    """A scalar also without values, eagerly and in a graph."""
    values = np.arange(2, 2 + rows, dtype="float32")  # 2 + 3 + 4
    expected = (weight or 1) * 3.0 if rows else 0.0
    for mean in (mean_over_rows, tf.function(mean_over_rows)):
        found = mean(tf.constant(values), weight)
        assert found.shape == ()
        assert float(found) == pytest.approx(expected)


@pytest.mark.parametrize("objective", [SoftContrastive(), TripletLoss()])
def test_a_batch_without_rows_has_the_loss_zero(objective):
    encoder = keras.Sequential([keras.Input((4,)), keras.layers.Identity()])
    model = EmbeddingModel(encoder, objective)
    x, y = tf.zeros((0, 4)), tf.zeros(0, "int64")
    loss = model.compute_loss(x, y, model(x))
    assert loss.shape == () and loss == 0
