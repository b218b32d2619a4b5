"""An encoder for vectors of features."""

import keras

from embeddings_tf.models.embedding_layer import embedding_layer
from embeddings_tf.models.prepare_for_replicas import prepare_for_replicas
from embeddings_tf.ops.arguments import positive_integer
from embeddings_tf.ops.arguments import sequence
from embeddings_tf.ops.arguments import truth

# The first layer divides by at least this standard deviation: a constant
# feature must not become noise.
SMALLEST_DEVIATION = 1e-3
# The sum of squares of larger features overflows in float32.
LARGEST_FEATURE = 1e15


def features_encoder(
    dim: int,
    *,
    num_features: int,
    hidden_units: tuple[int, ...] = (256,),
    gaussian: bool = False,
    initial_variance: float | None = None,
) -> keras.Model:
    """Dense layers for a table of features, or features of a frozen network.

    Use it for rows of numbers. The first layer standardises each feature, so
    units and ranges of the columns do not matter, as long as a column has a
    standard deviation of at least 0.001 and no value beyond 1e15. Multiply or
    divide other columns by a constant. Subtract a constant from large values
    that differ little, such as seconds since 1970: float32 rounds them.

    ```
    batch normalisation -> dense -> ReLU (for each of hidden_units) -> embedding
    ```

    Args:
        dim: Dimensions of the embedding.
        num_features: Number of features of an example.
        hidden_units: Units of each hidden layer; empty for none.
        gaussian: True: ends in `GaussianEmbedding(dim)`, output
            `(batch, 2 * dim)`. False: a point, `(batch, dim)`.
        initial_variance: As in `GaussianEmbedding`; only if `gaussian`.

    Input shape: `(batch, num_features)`.
    Output shape: `(batch, dim)`, or `(batch, 2 * dim)` with `gaussian`;
        float32 also under mixed precision.

    Returns:
        A functional `keras.Model` with input `features`.

    Raises:
        ValueError: If an argument is not as described.

    Example:

    >>> encoder = embeddings_tf.models.features_encoder(8, num_features=30)
    >>> encoder.output_shape
    (None, 8)
    """
    dim = positive_integer("dim", dim)
    num_features = positive_integer("num_features", num_features)
    gaussian = truth("gaussian", gaussian)
    features = keras.Input((num_features,), name="features")
    # Few steps find the scale, and small features keep their meaning. In half
    # precision, large features would lose their digits before they are scaled.
    x = keras.layers.BatchNormalization(
        momentum=0.9, epsilon=SMALLEST_DEVIATION**2, dtype="float32"
    )(features)
    for units in sequence("hidden_units", hidden_units):
        units = positive_integer("hidden_units", units)
        x = keras.layers.Dense(units, activation="relu")(x)
    head = embedding_layer(dim, gaussian, initial_variance)
    return prepare_for_replicas(
        keras.Model(features, head(x), name="features_encoder")
    )
