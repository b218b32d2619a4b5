import keras
import numpy as np
import pytest
import tensorflow as tf

from embeddings_tf.export import export_saved_model
from embeddings_tf.models import EmbeddingModel
from embeddings_tf.objectives import StochasticPrototypes

IMAGES = keras.Input((4, 4, 3))
POINTS = keras.layers.Flatten()(IMAGES)


@pytest.mark.parametrize(
    ("outputs", "received"),
    [
        ([POINTS, POINTS], "list of 2. Use `keras.Model"),
        ({"a": POINTS}, "a dictionary with 'a'. Use `keras.Model"),
        (IMAGES, "one of shape (None, 4, 4, 3). End the model with"),
    ],
)
def test_a_model_that_returns_no_matrix(outputs, received, tmp_path):
    with pytest.raises(ValueError, match="must return one tensor") as error:
        export_saved_model(keras.Model(IMAGES, outputs), tmp_path / "model")
    assert received in str(error.value)


@pytest.mark.slow
def test_negative_variances_are_refused(tmp_path):
    """Their probabilities are NaN."""
    inputs = keras.Input((2,), name="x")
    encoder = keras.Model(inputs, keras.layers.Identity()(inputs))
    model = EmbeddingModel(encoder, StochasticPrototypes(1), gaussian=True)
    model(np.zeros((1, 2), "float32"))
    path = export_saved_model(model, tmp_path / "model")
    loaded = tf.saved_model.load(str(path)).signatures["serving_default"]
    found = loaded(x=tf.constant([[5.0, 0.5], [4.0, 0.0]]))
    np.testing.assert_array_equal(found["embedding"], [[5], [4]])
    np.testing.assert_array_equal(found["variance"], [[0.5], [0]])
    with pytest.raises(tf.errors.InvalidArgumentError, match="negative var"):
        loaded(x=tf.constant([[5.0, 0.5], [4.0, -0.25]]))
