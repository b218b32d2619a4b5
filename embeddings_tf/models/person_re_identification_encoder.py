"""The encoder of the person re-identification experiments."""

import keras

from embeddings_tf.layers import LocalResponseNormalization
from embeddings_tf.layers import PixelRange
from embeddings_tf.ops.arguments import fixed_image_shape
from embeddings_tf.ops.arguments import positive_integer


def person_re_identification_encoder(
    dim: int = 500, *, image_shape: tuple[int, int, int] = (160, 60, 3)
) -> keras.Model:
    """The three-part convolutional network for images of persons.

    Use it for upright images of persons, CUHK03 `(160, 60, 3)` and
    Market-1501 `(128, 64, 3)`. Pixels are 0 to 255; the encoder scales them,
    so an exported model works on the same images.

    The image is divided into three horizontal parts without overlap: two of
    `height // 3` rows and the rest. Each part passes through:

    ```
    conv 7x7, 64 (shared by all parts) -> ReLU -> normalise -> max-pool 7x7 / 2
    -> conv 5x5, 64 (one per part) -> ReLU -> normalise -> max-pool 5x5 / 2
    ```

    then the three parts are concatenated and embedded. "Normalise" is
    `layers.LocalResponseNormalization`.

    Args:
        dim: Dimensions of the embedding.
        image_shape: `(height, width, channels)`, at least 3 rows.

    Output shape: `(batch, dim)`, float32 also under mixed precision.

    Returns:
        A functional `keras.Model` with input `image`.

    Raises:
        ValueError: If the image has fewer than 3 rows.

    Reference:
        - [Yi, Lei & Li, 2014](https://arxiv.org/abs/1407.4979), as changed by
          [Ridgeway & Mozer, 2018](https://arxiv.org/abs/1802.05312); sizes,
          Glorot-uniform weights and biases of 0.01 from the authors' code.
          [Ustinova & Lempitsky, 2016](https://arxiv.org/abs/1611.00822) use
          other pooling, no normalisation, and dropout.

    Example:

    >>> encoder = embeddings_tf.models.person_re_identification_encoder()
    >>> encoder.output_shape
    (None, 500)
    """
    dim = positive_integer("dim", dim)
    shape = fixed_image_shape(image_shape)
    height = shape[0]
    if height < 3:
        raise ValueError(
            "The image is cut into three parts, one above the other; "
            f"`image_shape` must have at least 3 rows; received {shape}."
        )
    bias = keras.initializers.Constant(0.01)

    def convolution(size, name):
        return keras.layers.Conv2D(
            64,
            size,
            padding="same",
            activation="relu",
            bias_initializer=bias,
            name=name,
        )

    image = keras.Input(shape, name="image")
    scaled = keras.layers.Rescaling(1 / 255)(PixelRange()(image))
    shared = convolution(7, "shared")
    third = height // 3
    ends = (0, third, 2 * third, height)
    parts = []
    for name, top, bottom in zip(
        ("upper", "middle", "lower"), ends[:-1], ends[1:], strict=True
    ):
        rows = (top, height - bottom)
        x = keras.layers.Cropping2D((rows, (0, 0)))(scaled)
        for layer, pool in ((shared, 7), (convolution(5, name), 5)):
            x = LocalResponseNormalization()(layer(x))
            x = keras.layers.MaxPooling2D(pool, strides=2, padding="same")(x)
        parts.append(keras.layers.Flatten()(x))
    features = keras.layers.Concatenate(name="features")(parts)
    embedding = keras.layers.Dense(
        dim, bias_initializer=bias, name="embedding", dtype="float32"
    )(features)
    return keras.Model(
        image, embedding, name="person_re_identification_encoder"
    )
