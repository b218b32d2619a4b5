"""The residual network of the encoders for small images."""

import keras


def convolution(x, filters: int, size: int, *, strides: int = 1, padding=0):
    """A convolution without bias, with equal zero padding on both sides."""
    if padding:
        # At stride 2, "same" would pad only the right and lower side.
        x = keras.layers.ZeroPadding2D(padding)(x)
    return keras.layers.Conv2D(
        filters,
        size,
        strides=strides,
        use_bias=False,
        # Uniform within 1 / sqrt(fan_in).
        kernel_initializer=keras.initializers.VarianceScaling(
            1 / 3, "fan_in", "uniform"
        ),
    )(x)


def normalized_relu(x):
    """Batch normalisation, then ReLU."""
    x = keras.layers.BatchNormalization(momentum=0.9, epsilon=1e-5)(x)
    return keras.layers.ReLU()(x)


def residual_stages(x, width: int = 64):
    """Four stages of two pre-activation blocks; `width` channels to 8 times.

    Sides shrink by 8, rounded up. No activation follows the last sum.
    """
    for factor, first_strides in ((1, 1), (2, 2), (4, 2), (8, 2)):
        for strides in (first_strides, 1):
            x = _block(x, factor * width, strides)
    return x


def _block(x, filters: int, strides: int):
    active = normalized_relu(x)
    if strides > 1 or x.shape[-1] != filters:
        x = convolution(active, filters, 1, strides=strides)
    active = convolution(active, filters, 3, strides=strides, padding=1)
    active = normalized_relu(active)
    return keras.layers.Add()([x, convolution(active, filters, 3, padding=1)])
