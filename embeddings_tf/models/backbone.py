"""A frozen, pretrained network that makes features of images."""

import inspect
import os
import random

import keras

from embeddings_tf.layers import PixelRange
from embeddings_tf.models.application_input import ApplicationInput
from embeddings_tf.models.application_input import application_names
from embeddings_tf.models.fine_tuned import FineTuned
from embeddings_tf.ops.arguments import checked_shape
from embeddings_tf.ops.arguments import random_seed
from embeddings_tf.ops.own_code import own_object
from embeddings_tf.ops.own_code import split_name


def backbone(
    network: str = "ResNet50",
    *,
    weights: str | None = "imagenet",
    image_shape: tuple[int, int, int] = (224, 224, 3),
    seed: int = 0,
) -> keras.Model:
    """A frozen network from images to feature vectors.

    Use it to compute features once, and train a `features_encoder` on them:
    much faster than training the network. `backbone_encoder` trains it
    instead. Images are red, green, blue, 0 to 255; a single channel is
    repeated. The network's own preprocessing is part of the model.

    Args:
        network: A network of `keras.applications`, such as `"MobileNetV2"`,
            without its classifier. Or `FILE.py:FUNCTION` or `MODULE:FUNCTION`
            of your own: the function returns a Keras model from images of 0 to
            255 to vectors or feature maps. If it has an argument
            `image_shape`, it receives it.
        weights: `"imagenet"`: weights of `keras.applications`, downloaded at
            first use and kept in Keras's cache. Or the path of a file of such
            weights without classifier, `.h5` or `.weights.h5`. None: random
            weights, or the weights that your function sets.
        image_shape: `(height, width, channels)`, with 1 or 3 channels. The
            smallest size depends on the network, often 32.
        seed: Random seed of random weights.

    Output shape: `(batch, features)`, float32: the mean over the image.

    Returns:
        A functional `keras.Model` with input `image`. It is not trainable.

    Raises:
        OSError: If the weights cannot be downloaded or read.
        ValueError: For an unknown network, other weights, or images that the
            network does not take.

    Reference:
        - [Keras applications](https://keras.io/api/applications/), with the
          accuracy, size and paper of each network.

    Example:

    >>> features = embeddings_tf.models.backbone(
    ...     "MobileNetV2", weights=None, image_shape=(32, 32, 3)
    ... )
    >>> features.output_shape
    (None, 1280)
    """
    image, features = backbone_output(network, weights, image_shape, 0.0, seed)
    model = keras.Model(image, features, name="backbone")
    model.trainable = False
    return model


def backbone_output(network, weights, image_shape, learning_rate_factor, seed):
    """Returns the input of a network, and its features.

    `seed` is of random weights; None goes on with Python's random numbers.
    """
    shape = checked_shape(image_shape, channels=(1, 3))
    if not isinstance(weights, str | None):
        raise ValueError(
            "`weights` must be imagenet, the path of a file, or None; received "
            f"{weights!r}."
        )
    if weights is not None:
        weights = os.path.expanduser(weights)
    state = random.getstate()
    if seed is not None:
        random.seed(random_seed("seed", seed))  # of Keras's initial weights
    try:
        is_own = isinstance(network, str) and split_name(network) is not None
        make = _own_network if is_own else application
        made = make(network, weights, (*shape[:2], 3))
    finally:
        if seed is not None:
            random.setstate(state)
    image = keras.Input(shape, name="image")
    x = PixelRange()(image)
    if shape[2] == 1:
        x = keras.layers.Concatenate()([x, x, x])
    if not is_own:
        x = ApplicationInput(network)(x)
    x = FineTuned(made, learning_rate_factor, name="network")(x)
    if len(x.shape) == 4:
        x = keras.layers.GlobalAveragePooling2D()(x)
    if len(x.shape) != 2 or x.shape[1] is None:
        raise ValueError(
            f"{network} must return vectors (batch, features) or feature maps "
            f"(batch, height, width, channels); it returns shape {x.shape}."
        )
    float32 = keras.layers.Activation("linear", dtype="float32")
    return image, float32(x)


def application(network, weights, shape) -> keras.Model:
    """Returns a network of `keras.applications` with mean pooling, no top.

    Raises:
        OSError: If the weights cannot be downloaded or read.
        ValueError: For an unknown network, other weights, or images that the
            network does not take.
    """
    names = application_names()
    if not isinstance(network, str) or network not in names:
        raise ValueError(
            f"`network` must be FILE.py:FUNCTION or one of {', '.join(names)}; "
            f"received {network!r}."
        )
    try:
        return getattr(keras.applications, network)(
            include_top=False,
            weights=weights,
            input_shape=shape,
            pooling="avg",
            name=network.lower(),
        )
    except ValueError as error:
        # Keras's error says which argument is wrong, in several lines.
        raise ValueError(
            f"{network} with weights={weights!r} and images of shape {shape}: "
            f"{' '.join(str(error).split())}"
        ) from error
    except Exception as error:  # Keras reports failed downloads as Exception
        raise OSError(
            f"The weights {weights!r} of {network} could not be downloaded or "
            f"read: {' '.join(str(error).split())} Download them where there "
            "is a network and pass the path of the file (without top) as "
            "`weights`, or None for random weights."
        ) from error


def _own_network(network, weights, shape):
    function = own_object(network)
    arguments = {}
    if "image_shape" in inspect.signature(function).parameters:
        arguments["image_shape"] = shape
    try:
        made = function(**arguments)
    except TypeError as error:
        raise ValueError(f"{network}: {error}") from error
    if not isinstance(made, keras.Model):
        raise ValueError(
            f"{network} must return a Keras model from images to features; it "
            f"returned a {type(made).__name__}."
        )
    if not made.built:
        made.build((None, *shape))
    if weights == "imagenet":
        raise ValueError(
            f"{network} has no ImageNet weights; `weights` is the path of a "
            "file, or None for the weights that the function sets."
        )
    if weights is not None:
        try:
            made.load_weights(weights)
        except OSError as error:
            raise OSError(
                f"The weights {weights!r} of {network} cannot be read "
                f"({error.strerror or 'not a file of weights'}); name another "
                "file, or None for the weights that the function sets."
            ) from error
        except ValueError as error:
            raise ValueError(
                f"The weights {weights!r} do not fit {network}: "
                f"{' '.join(str(error).split())}"
            ) from error
    return made
