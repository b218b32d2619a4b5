"""The decoder of the sprites experiments."""

import keras

from embeddings_tf.models.uncompiled_resizing import UncompiledResizing
from embeddings_tf.ops.arguments import positive_integer


def sprites_decoder(dim: int = 22, *, width: int = 2048) -> keras.Model:
    """Decodes 60x60 images from codes; the reverse of `sprites_encoder`.

    Use it as the decoder of a `BetaVAE`. It returns logits: their sigmoid is
    the intensity of a pixel, from 0 to 1.

    ```
    dense 2048 -> ReLU -> dense 4608 -> ReLU -> 12x12x32
    -> nearest 28x28 -> conv 5x5, 64 -> ReLU -> nearest 60x60 -> conv 5x5, 3
    ```

    Args:
        dim: Dimensions of the code.
        width: Units of the first dense layer.

    Input shape: `(batch, dim)`.
    Output shape: `(batch, 60, 60, 3)`, float32 also under mixed precision.

    Returns:
        A functional `keras.Model` with input `code`.

    Raises:
        ValueError: If `dim` or `width` is not a positive integer.

    Reference:
        - [Ridgeway & Mozer, 2018](https://arxiv.org/abs/1802.05312); sizes,
          Glorot-uniform weights and biases of 0.01 from the authors' code.

    Example:

    >>> decoder = embeddings_tf.models.sprites_decoder(2, width=8)
    >>> decoder.output_shape
    (None, 60, 60, 3)
    """
    dim = positive_integer("dim", dim)
    width = positive_integer("width", width)
    bias = keras.initializers.Constant(0.01)
    code = keras.Input((dim,), name="code")
    x = code
    for units in (width, 12 * 12 * 32):
        x = keras.layers.Dense(units, activation="relu", bias_initializer=bias)(
            x
        )
    x = keras.layers.Reshape((12, 12, 32))(x)
    x = UncompiledResizing(28, 28, interpolation="nearest")(x)
    x = keras.layers.Conv2D(
        64, 5, padding="same", activation="relu", bias_initializer=bias
    )(x)
    x = UncompiledResizing(60, 60, interpolation="nearest")(x)
    logits = keras.layers.Conv2D(
        3,
        5,
        padding="same",
        bias_initializer=bias,
        name="logits",
        dtype="float32",
    )(x)
    return keras.Model(code, logits, name="sprites_decoder")
