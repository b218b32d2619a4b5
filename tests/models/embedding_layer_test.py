import keras
import numpy as np
import pytest

from embeddings_tf.models.embedding_layer import embedding_layer


@pytest.mark.parametrize("gaussian", [True, False])
def test_of_zeros(gaussian):
    layer = embedding_layer(
        2,
        gaussian,
        0.05 if gaussian else None,
        bias_initializer=keras.initializers.Constant(3),
    )
    expected = [0, 0, 0.05, 0.05] if gaussian else [3, 3]
    np.testing.assert_allclose(
        layer(np.zeros((1, 4), "float32")), [expected], rtol=1e-5
    )
    assert layer.name == "embedding"
    assert layer.dtype_policy.name == "float32"


def test_a_variance_of_points():
    with pytest.raises(ValueError, match=r"received 0\.5 with gaussian=False"):
        embedding_layer(2, False, 0.5)
