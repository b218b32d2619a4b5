"""Whether a model's embeddings are packed Gaussians."""

import keras

from embeddings_tf.ops.arguments import keras_layer


def has_gaussian_output(model) -> bool:
    """True if the model's embeddings are means and variances side by side.

    Use it before reading a model's output: `(batch, 2 * dim)` of means and
    variances, or `(batch, dim)` of points. The output is Gaussian if the last
    layer has an attribute `gaussian` that is True, as `GaussianEmbedding` has:
    in Sequential and functional models, and in models nested in them. An
    `EmbeddingModel` knows from its encoder, or from its argument `gaussian`. A
    `BetaVAE` gives points, the means of its encoder.

    Raises:
        ValueError: If `model` is no Keras model or layer.

    Example:

    >>> encoder = embeddings_tf.models.n_digit_encoder(2, gaussian=False)
    >>> embeddings_tf.models.has_gaussian_output(encoder)
    False
    """
    keras_layer("model", model)
    while not isinstance(getattr(model, "gaussian", None), bool):
        if hasattr(model, "encoder"):
            model = model.encoder
        elif getattr(model, "operations", None):
            model = model.operations[-1]  # functional: in the order of data
        elif isinstance(model, keras.Model) and model.layers:
            model = model.layers[-1]
        else:
            return False
    return model.gaussian


def reads_gaussians(objective) -> bool:
    """Whether an objective or a loss takes packed Gaussians, not points.

    Its attribute `is_gaussian` says so; without one it takes points.
    """
    return bool(getattr(objective, "is_gaussian", False))


def require_match(gaussian: bool, objective) -> None:
    """ValueError unless embeddings are of the kind that `objective` reads.

    Any even width passes for a mean and a variance side by side, so a
    mismatch trains without an error, on NaN or on variances as coordinates.
    """
    name = type(objective).__name__
    if reads_gaussians(objective) and not gaussian:
        raise ValueError(
            f"{name} reads Gaussians, a mean and a variance for every input; "
            "the encoder does not end in a GaussianEmbedding layer. End it "
            "with embeddings_tf.layers.GaussianEmbedding(dim). If its own last "
            "layer gives packed Gaussians, say so: "
            "EmbeddingModel(encoder, objective, gaussian=True)."
        )
    if gaussian and not reads_gaussians(objective):
        raise ValueError(
            f"{name} compares points; the encoder ends in a Gaussian, and its "
            "variances would count as coordinates. End the encoder with a "
            "layer of points, such as keras.layers.Dense(dim), or use an "
            "objective that reads Gaussians, such as StochasticPrototypes. An "
            "objective of your own that reads them has the attribute "
            "`is_gaussian = True`."
        )
