"""The encoder of the CIFAR-10 experiments."""

import keras

from embeddings_tf.layers import PixelRange
from embeddings_tf.models.pre_activation_resnet18 import convolution
from embeddings_tf.models.pre_activation_resnet18 import normalized_relu
from embeddings_tf.models.pre_activation_resnet18 import residual_stages
from embeddings_tf.models.prepare_for_replicas import prepare_for_replicas
from embeddings_tf.ops.arguments import checked_shape
from embeddings_tf.ops.arguments import positive_integer

# Mean and standard deviation of the training images, in pixel values.
MEAN = (125.3, 123.0, 113.9)
STANDARD_DEVIATION = (63.0, 62.1, 66.7)


def cifar_resnet18_encoder(
    *, image_shape: tuple[int, int, int] = (32, 32, 3), width: int = 64
) -> keras.Model:
    """The residual network of 18 layers for images of 32x32 pixels.

    Use it for CIFAR-10 and other small colour images. Pixels are 0 to 255.
    The encoder applies mean and standard deviation of CIFAR-10, so an
    exported model works on the same images.

    ```
    conv 3x3, 64 -> batch normalisation -> ReLU
    -> 2 blocks each of 64, 128, 256 and 512 filters, the first of the last
       three at stride 2
    -> mean over the image

    block(x):  a = ReLU(batch normalisation(x))
               conv 3x3(a) -> batch normalisation -> ReLU -> conv 3x3
               + (conv 1x1(a) where the shape changes, elsewhere x)
    ```

    The embedding is not normalised. At 32x32 pixels, the mean over 4x4
    positions covers the whole image.

    Args:
        image_shape: `(height, width, 3)`.
        width: Filters of the first stage; the other stages, and the embedding,
            grow with it. The published network has 64.

    Output shape: `(batch, 8 * width)`, float32 also under mixed precision.

    Returns:
        A functional `keras.Model` with input `image`.

    Raises:
        ValueError: If an argument is not as described.

    Reference:
        - [Monteiro et al., 2020](https://arxiv.org/abs/2002.09469), Section 4;
          sizes, convolutions without bias and weights uniform within
          `1 / sqrt(fan_in)` from the authors' code, batch normalisation with
          momentum 0.9 and epsilon 1e-5 as its framework has it. The blocks
          are from [He et al., 2016](https://arxiv.org/abs/1603.05027).

    Example:

    >>> encoder = embeddings_tf.models.cifar_resnet18_encoder()
    >>> encoder.output_shape
    (None, 512)
    """

    width = positive_integer("width", width)
    image = keras.Input(checked_shape(image_shape, channels=(3,)), name="image")
    x = keras.layers.Normalization(
        mean=MEAN, variance=[deviation**2 for deviation in STANDARD_DEVIATION]
    )(PixelRange()(image))
    x = normalized_relu(convolution(x, width, 3, padding=1))
    embedding = keras.layers.GlobalAveragePooling2D(
        name="embedding", dtype="float32"
    )(residual_stages(x, width))
    return prepare_for_replicas(
        keras.Model(image, embedding, name="cifar_resnet18_encoder")
    )
