import keras
import pytest

from embeddings_tf.export import export_saved_model

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
