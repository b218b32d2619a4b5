import keras
import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

from embeddings_tf.models.pre_activation_resnet18 import residual_stages

BATCH_NORMALIZATION = 1 / np.sqrt(1 + 1e-5)  # of an untrained layer


@pytest.fixture(scope="module")
def stages():
    x = keras.Input((7, 10, 64))
    return keras.Model(x, residual_stages(x))


def kernels(model, size):
    """Kernels of all convolutions of a size, from input to output."""
    return [
        np.asarray(layer.kernel, "float64")
        for layer in model.layers
        if isinstance(layer, keras.layers.Conv2D)
        and layer.kernel_size == (size, size)
    ]


def convolution(x, kernel, strides):
    """Pads with zeros, so that strides of 1 keep the image size."""
    size = kernel.shape[0]
    margin = (size // 2, size // 2)
    x = np.pad(x, ((0, 0), margin, margin, (0, 0)))
    windows = sliding_window_view(x, (size, size), axis=(1, 2))
    windows = windows[:, ::strides, ::strides]
    return np.einsum("bhwcij,ijcf->bhwf", windows, kernel, optimize=True)


def active(x):
    return np.maximum(x * BATCH_NORMALIZATION, 0)


def test_in_numpy(stages):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2, 7, 10, 64)).astype("float32")
    threes, ones = iter(kernels(stages, 3)), iter(kernels(stages, 1))
    y = x.astype("float64")
    for filters in (64, 128, 256, 512):
        for block in range(2):
            strides = 2 if block == 0 and filters > 64 else 1
            a = active(y)
            shortcut = y
            if strides == 2:
                shortcut = convolution(a, next(ones), 2)
            b = convolution(a, next(threes), strides)
            y = shortcut + convolution(active(b), next(threes), 1)
    assert not [*threes, *ones]
    assert y.shape == (2, 1, 2, 512)  # 7, 4, 2, 1; 10, 5, 3, 2
    assert y.min() < 0  # no activation after the last sum
    np.testing.assert_allclose(stages(x), y, rtol=1e-3, atol=1e-5)


def test_initial_weights(stages):
    first, second = kernels(stages, 3)[:2]
    limit = 1 / np.sqrt(9 * 64)
    for kernel in (first, second):
        assert 0.99 * limit < np.abs(kernel).max() <= limit
    assert np.any(first != second)
