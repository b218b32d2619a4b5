"""The encoder of the bird experiments, on Inception features."""

import keras

from embeddings_tf.ops.arguments import positive_integer


def bird_features_encoder(dim: int = 500) -> keras.Model:
    """Two dense layers on features of Inception v3.

    Use it for CUB-200-2011, on the 2048 values of the final pooling layer of
    a frozen Inception v3 trained on ImageNet. The features are used without
    scaling.

    ```
    dense 1024 -> ReLU -> embedding
    ```

    Args:
        dim: Dimensions of the embedding.

    Input shape: `(batch, 2048)`.
    Output shape: `(batch, dim)`, float32 also under mixed precision.

    Returns:
        A functional `keras.Model` with input `features`.

    Raises:
        ValueError: If `dim` is not a positive integer.

    Reference:
        - [Ridgeway & Mozer, 2018](https://arxiv.org/abs/1802.05312);
          Glorot-uniform weights and biases of 0.01 from the authors' code.

    Example:

    >>> encoder = embeddings_tf.models.bird_features_encoder()
    >>> encoder.output_shape
    (None, 500)
    """
    dim = positive_integer("dim", dim)
    bias = keras.initializers.Constant(0.01)
    features = keras.Input((2048,), name="features")
    x = keras.layers.Dense(1024, activation="relu", bias_initializer=bias)(
        features
    )
    embedding = keras.layers.Dense(
        dim, bias_initializer=bias, name="embedding", dtype="float32"
    )(x)
    return keras.Model(features, embedding, name="bird_features_encoder")
