"""Whether a model's embeddings are packed Gaussians."""

import keras

from embeddings_tf.ops.arguments import keras_layer


def has_gaussian_output(model) -> bool:
    """Returns True if the model's embeddings are packed Gaussians.

    Use it before you read a model's output: `(batch, 2 * dim)` of means and
    variances, or `(batch, dim)` of points. The output is Gaussian if the last
    layer has an attribute `gaussian` that is True, like `GaussianEmbedding`.
    This works in Sequential and functional models, and in models nested in
    them. An `EmbeddingModel` uses its encoder, or its argument `gaussian`. A
    `BetaVAE` returns points, the means of its encoder.

    The last layer of a model with a `call` of your own is the one that its
    constructor makes last. If `call` ends in another layer, give the model an
    attribute `gaussian`, True or False.

    Raises:
        ValueError: If `model` is not a Keras model or layer.

    Example:

    >>> encoder = embeddings_tf.models.n_digit_encoder(2, gaussian=False)
    >>> embeddings_tf.models.has_gaussian_output(encoder)
    False
    """
    keras_layer("model", model)
    while not isinstance(getattr(model, "gaussian", None), bool):
        if getattr(model, "operations", None):
            model = model.operations[-1]  # functional: in the order of data
        elif isinstance(model, keras.Model) and model.layers:
            model = model.layers[-1]
        else:
            return False
    return model.gaussian


def require_gaussian(gaussian: bool, initial_variance) -> None:
    """Raises ValueError for a variance of an encoder of points."""
    if initial_variance is not None and not gaussian:
        raise ValueError(
            "`initial_variance` is the variance of a Gaussian embedding; "
            f"received {initial_variance!r} with gaussian=False. Set "
            "gaussian=True, or leave it out."
        )


def reads_gaussians(objective) -> bool:
    """Whether an objective or a loss takes packed Gaussians, not points.

    Its attribute `is_gaussian` declares this; the default is points.
    """
    return bool(getattr(objective, "is_gaussian", False))


def require_match(gaussian: bool, objective) -> None:
    """Raises ValueError unless embeddings are as `objective` expects.

    Any even width could be mean and variance, so a mismatch would train
    without an error, on NaN or on variances as coordinates.
    """
    name = type(objective).__name__
    if reads_gaussians(objective) and not gaussian:
        raise ValueError(
            f"{name} reads Gaussians, a mean and a variance for every input; "
            "the encoder does not end in a GaussianEmbedding layer. End it "
            "with embeddings_tf.layers.GaussianEmbedding(dim). If your own "
            "last layer returns packed Gaussians, pass "
            "EmbeddingModel(encoder, objective, gaussian=True)."
        )
    if gaussian and not reads_gaussians(objective):
        raise ValueError(
            f"{name} compares points; the encoder ends in a Gaussian, and its "
            "variances would count as coordinates. End the encoder with a "
            "layer of points, such as keras.layers.Dense(dim), or use an "
            "objective that reads Gaussians, such as StochasticPrototypes. "
            "Your own objective that reads Gaussians needs the attribute "
            "`is_gaussian = True`."
        )
