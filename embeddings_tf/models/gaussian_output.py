"""Whether a model's embeddings are packed Gaussians."""

import keras

from embeddings_tf.compat import every_layer
from embeddings_tf.layers.gaussian_embedding import GaussianEmbedding
from embeddings_tf.ops import gaussian as packed_gaussian
from embeddings_tf.ops.arguments import keras_layer

# A built model knows the shapes of its inputs, but not their types.
INPUT_TYPES = ("float32", "int32", "string")


def has_gaussian_output(model) -> bool:
    """Returns True if the model's embeddings are packed Gaussians.

    Use it before you read a model's output: `(batch, 2 * dim)` of means and
    variances, or `(batch, dim)` of points. The output is Gaussian if the last
    layer has an attribute `gaussian` that is True, like `GaussianEmbedding`.
    This works in Sequential and functional models, and in models nested in
    them. An `EmbeddingModel` uses its encoder, or its argument `gaussian`. A
    `BetaVAE` returns points, the means of its encoder.

    A model or layer with a `call` of your own is run without data. Its output
    is Gaussian if `call` returns the output of a `GaussianEmbedding`. Before
    the model is built, and with a last layer of your own, the layer that the
    model creates last is taken for its last layer. If that is wrong, give the
    model an attribute `gaussian`, True or False.

    Raises:
        ValueError: If `model` is not a Keras model or layer, or if it has a
            `call` of its own that cannot be run without data.

    Example:

    >>> encoder = embeddings_tf.models.n_digit_encoder(2, gaussian=False)
    >>> embeddings_tf.models.has_gaussian_output(encoder)
    False
    """
    keras_layer("model", model)
    while not isinstance(getattr(model, "gaussian", None), bool):
        if getattr(model, "operations", None):
            model = model.operations[-1]  # functional: in the order of data
        elif isinstance(model, keras.Sequential) and model.layers:
            model = model.layers[-1]
        else:
            return isinstance(model, keras.Layer) and _returns_gaussians(model)
    return model.gaussian


def _returns_gaussians(model) -> bool:
    """The same for a model or layer with a `call` of its own."""
    marked = [
        layer
        for layer in every_layer(model)
        if getattr(layer, "gaussian", None) is True
    ]
    if not marked:
        return False
    shapes = model.get_build_config()  # None: not built
    if shapes and any(isinstance(m, GaussianEmbedding) for m in marked):
        return _run_without_data(model, shapes)
    return isinstance(model, keras.Model) and has_gaussian_output(
        model.layers[-1]
    )


def _run_without_data(model, shapes: dict) -> bool:
    """Whether the output of a built model has the mark of Gaussians."""
    reason: Exception | None = None
    for dtype in INPUT_TYPES:
        output = _Output(model)
        try:
            output(_arguments(shapes, dtype))
        except Exception as error:  # of the user's code, so of any kind
            reason = error
        else:
            return output.is_gaussian
    raise ValueError(
        f"{type(model).__name__} has a GaussianEmbedding, but it is not known "
        "whether it returns the packed Gaussians: its `call` cannot be run "
        "without data. Give the model an attribute `gaussian`, True or False. "
        f"The reason: {reason}"
    ) from reason


def _arguments(shapes: dict, dtype: str) -> tuple[list, dict]:
    """Symbolic arguments of `call`, of the shapes that Keras has stored."""

    def symbols(shape):
        return keras.tree.map_shape_structure(
            lambda size: keras.KerasTensor(size, dtype), shape
        )

    if "input_shape" in shapes:
        return [symbols(shapes["input_shape"])], {}
    named = shapes["shapes_dict"]
    return [], {n.removesuffix("_shape"): symbols(named[n]) for n in named}


class _Output(keras.layers.Layer):
    """Runs a model and records whether its output has the mark.

    The model is not a part of this layer: Keras clears the losses of the layer
    that is called first, and of its parts.
    """

    def __init__(self, model):
        # A graph knows no name that starts with "_".
        super().__init__(name="output", autocast=False)
        self._run = model.__call__

    def call(self, inputs):
        args, kwargs = inputs
        output = self._run(*args, **kwargs)
        self.is_gaussian = packed_gaussian.is_marked(output)
        return output


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
