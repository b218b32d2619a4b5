import numpy as np
import pytest
import tensorflow as tf

from embeddings_tf.datasets.checked_images import checked_images


@pytest.mark.parametrize("shape", [(4, 8), (4, 8, 8), (1, 4, 8, 8, 3)])
def test_images_of_another_rank(shape):
    message = r"shape \(batch, height, width, channels\); received shape"
    for known_size in (True, False):
        with pytest.raises(ValueError, match=message):
            checked_images(np.ones(shape), known_size)


@pytest.mark.parametrize("shape", [(2, 0, 6, 1), (2, 6, 0, 1), (2, None, 6, 1)])
def test_images_without_a_known_size(shape):
    @tf.function(input_signature=[tf.TensorSpec(shape)])
    def checked(images):
        return checked_images(images)

    with pytest.raises(ValueError, match="known and not zero; received shape"):
        checked.get_concrete_function()

    @tf.function(input_signature=[tf.TensorSpec(shape)])
    def of_any_size(images):
        return checked_images(images, known_size=False)

    assert of_any_size.get_concrete_function().output_shapes[1:] == shape[1:]
