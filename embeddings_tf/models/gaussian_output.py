"""Whether a model's embeddings are packed Gaussians."""

import keras

from embeddings_tf.layers import GaussianEmbedding
from embeddings_tf.objectives import HedgedInstances
from embeddings_tf.objectives import StochasticPrototypes


def has_gaussian_output(model) -> bool:
    """True if the model's embeddings are means and variances side by side.

    Use it before reading a model's output: `(batch, 2 * dim)` of means and
    variances, or `(batch, dim)` of points. They are Gaussian if the model's
    objective is `StochasticPrototypes` or `HedgedInstances`, or if the last
    layer is a `GaussianEmbedding`: of Sequential and functional models, of
    encoders of an `EmbeddingModel`, and of models nested in them. A `BetaVAE`
    gives points, the means of its encoder.

    Example:

    >>> encoder = embeddings_tf.models.n_digit_encoder(2, gaussian=False)
    >>> embeddings_tf.models.has_gaussian_output(encoder)
    False
    """
    objective = getattr(model, "objective", None)
    if isinstance(objective, (StochasticPrototypes, HedgedInstances)):
        return True
    while not isinstance(model, GaussianEmbedding):
        if hasattr(model, "decoder"):
            return False  # a BetaVAE gives the mean alone
        if hasattr(model, "encoder"):
            model = model.encoder
        elif isinstance(model, keras.Model) and model.layers:
            model = model.layers[-1]
        else:
            return False
    return True
