"""An encoder with a pretrained network, fine-tuned at a lower rate."""

import keras

from embeddings_tf.models.backbone import backbone_output
from embeddings_tf.models.embedding_layer import embedding_layer
from embeddings_tf.models.prepare_for_replicas import prepare_for_replicas
from embeddings_tf.ops.arguments import positive_integer
from embeddings_tf.ops.arguments import sequence
from embeddings_tf.ops.arguments import truth


def backbone_encoder(
    dim: int = 128,
    *,
    backbone: str = "ResNet50",
    weights: str | None = "imagenet",
    image_shape: tuple[int, int, int] = (224, 224, 3),
    learning_rate_factor: float = 0.1,
    hidden_units: tuple[int, ...] = (),
    gaussian: bool = False,
    seed: int | None = None,
) -> keras.Model:
    """A pretrained network with a new head, trained together.

    Use it for photographs when you have enough images to fine-tune a network;
    with few images or little time, train a `features_encoder` on the features
    of a frozen `backbone`. Images are red, green, blue, 0 to 255; a single
    channel is repeated.

    ```
    preprocessing of the network -> network -> mean over the image
    -> (dense -> ReLU) for each hidden layer -> embedding
    ```

    Args:
        dim: Dimensions of the embedding.
        backbone: A network of `keras.applications`, or `FILE.py:FUNCTION`, as
            for `models.backbone`.
        weights: `"imagenet"`, the path of a file, or None for random weights,
            as for `models.backbone`.
        image_shape: `(height, width, channels)`, with 1 or 3 channels.
        learning_rate_factor: Factor for the network, in [0, 1]; the head trains
            at the full rate. 0 freezes the network. `EmbeddingModel` and the
            commands apply it; otherwise call `models.lower_rates` after
            `compile`.
        hidden_units: Units of hidden layers of the head.
        gaussian: Whether the embedding is a Gaussian, for
            `StochasticPrototypes` and `HedgedInstances`.
        seed: Random seed of random weights; None: from Python's `random`, as
            everywhere in Keras.

    Output shape: `(batch, dim)`, or `(batch, 2 * dim)` if `gaussian`, float32
    also under mixed precision.

    Returns:
        A functional `keras.Model` with input `image`.

    Raises:
        OSError: If the weights cannot be downloaded or read.
        ValueError: For an unknown network, other weights, or images that the
            network does not take.

    Example:

    >>> encoder = embeddings_tf.models.backbone_encoder(
    ...     16, backbone="MobileNetV2", weights=None, image_shape=(32, 32, 1)
    ... )
    >>> encoder.output_shape
    (None, 16)
    """
    dim = positive_integer("dim", dim)
    gaussian = truth("gaussian", gaussian)
    image, x = backbone_output(
        backbone, weights, image_shape, learning_rate_factor, seed
    )
    for units in sequence("hidden_units", hidden_units):
        units = positive_integer("hidden_units", units)
        x = keras.layers.Dense(units, activation="relu")(x)
    head = embedding_layer(dim, gaussian)
    return prepare_for_replicas(
        keras.Model(image, head(x), name="backbone_encoder")
    )
