"""The encoder of the mini-ImageNet experiments."""

import keras

from embeddings_tf.layers import PixelRange
from embeddings_tf.models.pre_activation_resnet18 import convolution
from embeddings_tf.models.pre_activation_resnet18 import normalized_relu
from embeddings_tf.models.pre_activation_resnet18 import residual_stages
from embeddings_tf.models.prepare_for_replicas import prepare_for_replicas
from embeddings_tf.ops.arguments import checked_shape
from embeddings_tf.ops.arguments import one_of

# Mean and standard deviation of ImageNet, for pixels of 0 to 1.
MEAN = (0.485, 0.456, 0.406)
STANDARD_DEVIATION = (0.229, 0.224, 0.225)


def mini_imagenet_resnet18_encoder(
    *, image_shape: tuple[int, int, int] = (84, 84, 3), pooling: str = "global"
) -> keras.Model:
    """The residual network of 18 layers for images of 84x84 pixels.

    Use it for mini-ImageNet and other colour images of that size. Pixels are
    0 to 255. The encoder applies mean and standard deviation of ImageNet, so
    an exported model works on the same images.

    ```
    conv 5x5, 64 (one zero on each side) -> batch normalisation -> ReLU
    -> max-pool 3x3 / 2 -> blocks as in `cifar_resnet18_encoder`
    -> mean over the image
    ```

    Sides at 84x84: 82 after the convolution, 41 after pooling, then 41, 21,
    11 and 6 after the four pairs of blocks.

    Args:
        image_shape: `(height, width, 3)`.
        pooling: Positions of the final mean. `"global"`: all positions.
            `"authors"`: the upper left 4x4, as in the authors' code, which
            ignores 20 of the 36 positions at 84x84; for comparisons with it.

    Output shape: `(batch, 512)`, float32 also under mixed precision.

    Returns:
        A functional `keras.Model` with input `image`.

    Raises:
        ValueError: For another `pooling`, or for `"authors"` with fewer than
            4x4 positions.

    Reference:
        - [Monteiro et al., 2020](https://arxiv.org/abs/2002.09469), Section 4;
          sizes and initial weights from the authors' code. Pooling over the
          whole image is ours.

    Example:

    >>> encoder = embeddings_tf.models.mini_imagenet_resnet18_encoder()
    >>> encoder.output_shape
    (None, 512)
    """

    one_of("pooling", pooling, ("global", "authors"))
    image = keras.Input(checked_shape(image_shape, channels=(3,)), name="image")
    x = keras.layers.Normalization(
        mean=[255 * mean for mean in MEAN],
        variance=[(255 * deviation) ** 2 for deviation in STANDARD_DEVIATION],
    )(PixelRange()(image))
    x = normalized_relu(convolution(x, 64, 5, padding=1))
    # Activations are not negative, so padding with zeros is neutral.
    x = keras.layers.MaxPooling2D(3, strides=2)(
        keras.layers.ZeroPadding2D(1)(x)
    )
    x = residual_stages(x)
    if pooling == "authors":
        if any(size is None or size < 4 for size in x.shape[1:3]):
            raise ValueError(
                'pooling="authors" needs at least 4x4 positions; received '
                f"an image of {image_shape}, which leaves "
                f"{tuple(x.shape[1:3])}. "
                'Take larger images or pooling="global".'
            )
        x = x[:, :4, :4]
    embedding = keras.layers.GlobalAveragePooling2D(
        name="embedding", dtype="float32"
    )(x)
    return prepare_for_replicas(
        keras.Model(image, embedding, name="mini_imagenet_resnet18_encoder")
    )
