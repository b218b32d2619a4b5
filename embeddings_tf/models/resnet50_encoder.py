"""The encoder of the ImageNet and retrieval experiments."""

import keras

from embeddings_tf.layers import PixelRange
from embeddings_tf.models.backbone import application
from embeddings_tf.models.prepare_for_replicas import prepare_for_replicas
from embeddings_tf.ops.arguments import checked_shape
from embeddings_tf.ops.arguments import positive_integer

# Mean of ImageNet in pixels: blue, green, red, as for the pretrained weights.
MEAN = (103.939, 116.779, 123.68)


def resnet50_encoder(
    dim: int = 128,
    *,
    weights: str | None = "imagenet",
    image_shape: tuple[int, int, int] = (224, 224, 3),
) -> keras.Model:
    """A ResNet-50 pretrained on ImageNet, with a projection.

    Use it for photographs, such as CUB-200-2011, Cars196 and Stanford Online
    Products. Pixels are red, green, blue, 0 to 255. The encoder converts them
    for the pretrained weights, so an exported model works on the same images.

    ```
    blue, green, red minus the mean of ImageNet
    -> convolutional part of ResNet-50 -> mean over the image (2048)
    -> embedding
    ```

    The embedding is not normalised. `encoder.get_layer("resnet50")` is the
    pretrained part, to freeze it: `.trainable = False`.

    Args:
        dim: Dimensions of the embedding.
        weights: Initial weights of the convolutional part. `"imagenet"`:
            weights of `keras.applications`, 95 MB, downloaded at first use
            and kept in Keras's cache. Or the path of a file of such weights.
            None: random weights.
        image_shape: `(height, width, 3)`, sides of at least 32.

    Output shape: `(batch, dim)`, float32 also under mixed precision.

    Returns:
        A functional `keras.Model` with input `image`.

    Raises:
        OSError: If the weights cannot be downloaded or read.
        ValueError: For other `weights` or images too small.

    Reference:
        - [Monteiro et al., 2020](https://arxiv.org/abs/2002.09469), Section
          4.4 and Appendix C, use the ResNet-50 of torchvision. It has its
          strides in the 3x3 convolutions of blocks; this network, like
          [He et al., 2015](https://arxiv.org/abs/1512.03385), has them in
          the first 1x1. The projection's Glorot-uniform weights are ours.

    Example:

    >>> encoder = embeddings_tf.models.resnet50_encoder(
    ...     weights=None, image_shape=(32, 32, 3)
    ... )
    >>> encoder.output_shape
    (None, 128)
    """
    dim = positive_integer("dim", dim)
    shape = checked_shape(image_shape, channels=(3,))
    backbone = application("ResNet50", weights, shape)
    image = keras.Input(shape, name="image")
    x = keras.layers.Rescaling(1.0, offset=[-mean for mean in MEAN])(
        PixelRange()(image)[..., ::-1]
    )
    embedding = keras.layers.Dense(dim, name="embedding", dtype="float32")(
        backbone(x)
    )
    return prepare_for_replicas(
        keras.Model(image, embedding, name="resnet50_encoder")
    )
