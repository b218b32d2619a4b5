"""A learned pseudo-distance of two embeddings."""

import keras
import numpy as np
import tensorflow as tf

from embeddings_tf.ops.arguments import optional_seed
from embeddings_tf.ops.arguments import positive_integer
from embeddings_tf.ops.arguments import require_floating
from embeddings_tf.ops.arguments import share
from embeddings_tf.ops.arguments import truth
from embeddings_tf.ops.pair_logits import logits_of_all_pairs
from embeddings_tf.ops.pair_logits import logits_of_pairs
from embeddings_tf.ops.tensors import real_floats
from embeddings_tf.ops.tensors import real_numbers
from embeddings_tf.ops.tensors import rows_of_one_length

# Floats per hidden layer of a block of pairs: 1 MiB, which fits the cache.
BLOCK_FLOATS = 2**18


@keras.saving.register_keras_serializable(package="embeddings_tf")
class PairDistance(keras.layers.Layer):
    """Log-likelihood ratio of a pair: same class versus different classes.

    Use it for verification, where a pair is accepted or rejected.
    `embeddings_tf.objectives.LearnedDistance` trains it together with the
    encoder. The trained score needs no impostor cohort and no back-end:

    ```
    P(same class) = sigmoid(logit)     under equal priors
    p(pair | same class) / p(pair | different classes) = exp(logit)
    ```

    A higher score means more similar. The layer does not enforce symmetry or
    the triangle inequality, or that a point is closest to itself.

    Formula, with LeakyReLU of slope 0.1 and H hidden layers:

    ```
    h_1   = LeakyReLU(W_1 [a, b] + c_1)
    h_k   = LeakyReLU(W_k h_{k-1} + c_k),   k = 2 ... H
    logit = w . Dropout(h_H) + c
    ```

    Initial weights and biases are uniform between -1 / sqrt(n) and
    1 / sqrt(n), with n the number of inputs of the layer.

    Args:
        hidden_units: Units of each hidden layer, at least one layer. The
            paper recommends three or four layers of 256 units.
        dropout: Fraction of the last hidden layer dropped in training, in
            [0, 1).
        symmetric: Whether to average the logits of (a, b) and (b, a), which
            takes twice the time. The published distance is not symmetric.
        seed: Seed of the initial weights and of dropout; None: from Keras's
            global seed.

    Call arguments:
        inputs: Two tensors `(pairs, dim)`: the first and the second
            embedding of each pair.
        training: Whether to drop units, as in Keras.

    Output shape: `(pairs,)`, float32 also under mixed precision. `all_pairs`
    scores each row of one tensor against each row of another.

    Raises:
        ValueError: If an argument is not as described, or the inputs
            are not two real tensors `(pairs, dim)` of one shape.

    Reference:
        - [Monteiro et al., 2020](https://arxiv.org/abs/2002.09469), Eqs. 5
          and 6, Appendix A.1.

    Example:

    >>> distance = embeddings_tf.layers.PairDistance(hidden_units=(32, 32))
    >>> enrolled, tested = np.ones((5, 8), "float32"), np.zeros((5, 8))
    >>> distance((enrolled, tested)).shape
    TensorShape([5])
    >>> distance.all_pairs(enrolled, tested[:2]).shape
    TensorShape([5, 2])
    """

    def __init__(
        self,
        hidden_units: tuple[int, ...] = (256, 256, 256),
        dropout: float = 0.1,
        *,
        symmetric: bool = False,
        seed: int | None = None,
        dtype="float32",
        **kwargs,
    ):
        super().__init__(dtype=dtype, **kwargs)
        require_floating(self.compute_dtype)
        if not isinstance(hidden_units, (tuple, list)) or not hidden_units:
            raise ValueError(
                "`hidden_units` must be a tuple of at least one number of "
                f"units, such as (256, 256, 256); received {hidden_units!r}."
            )
        self.hidden_units = [
            positive_integer("hidden_units", units) for units in hidden_units
        ]
        self.dropout = share("dropout", dropout)
        self.symmetric = truth("symmetric", symmetric)
        self.seed = seed = optional_seed("seed", seed)
        self.seed_generator = keras.random.SeedGenerator(seed)

    def build(self, input_shape):
        dim = _checked_dim(input_shape)
        rng = np.random.default_rng(self.seed)
        self.kernels, self.biases = [], []
        inputs = 2 * dim
        for number, units in enumerate((*self.hidden_units, 1), start=1):
            limit = 1 / np.sqrt(inputs)
            for weights, name, shape in (
                (self.kernels, "kernel", (inputs, units)),
                (self.biases, "bias", (units,)),
            ):
                # One seed for two layers of one shape would make them equal.
                seed = None if self.seed is None else int(rng.integers(2**31))
                weight = self.add_weight(
                    name=f"{name}_{number}",
                    shape=shape,
                    initializer=keras.initializers.RandomUniform(
                        -limit, limit, seed=seed
                    ),
                )
                weights.append(weight)
            inputs = units
        self.built = True

    def call(self, inputs, training=None):
        sides = [
            real_floats("Embeddings", side, self.compute_dtype)
            for side in inputs
        ]
        self._require_dim(_checked_dim([side.shape for side in sides]))
        first, second = sides
        first, second = rows_of_one_length(
            first, second, all_pairs="distance.all_pairs(first, second)"
        )
        weights, rate, seed = self._arguments(training)
        logits = logits_of_pairs(first, second, weights, rate, seed)
        if self.symmetric:
            other = logits_of_pairs(second, first, weights, rate, seed)
            logits = (logits + other) / 2
        return logits

    def all_pairs(self, a, b, *, training: bool = False) -> tf.Tensor:
        """Returns logits of each row of `a` with each row of `b`.

        The first hidden layer is computed once per row, not once per pair. The
        other layers are computed in blocks, also for the gradient. Memory is
        two to three times the size of the result (more if symmetric), plus
        tens of MiB. If the result does not fit in memory, use
        `metrics.stream_trials`, which does not store the scores.

        Args:
            a: `(rows, dim)`.
            b: `(columns, dim)`.
            training: Whether to drop units.

        Returns:
            `(rows, columns)`.

        Raises:
            ValueError: If both are not matrices with the same `dim`.
        """
        first = real_numbers("Embeddings", a)
        second = real_numbers("Embeddings", b)
        shapes = (tuple(first.shape), tuple(second.shape))
        dim = _checked_dim(shapes)
        if not self.built:
            self.build(shapes)
        self._require_dim(dim)
        first = tf.cast(first, self.compute_dtype)
        second = tf.cast(second, self.compute_dtype)
        block_size = max(1, BLOCK_FLOATS // max(self.hidden_units))
        arguments = (*self._arguments(training), block_size)
        logits = logits_of_all_pairs(first, second, *arguments)
        if self.symmetric:
            other = logits_of_all_pairs(second, first, *arguments)
            logits = (logits + tf.transpose(other)) / 2
        return logits

    def _require_dim(self, dim: int) -> None:
        """ValueError unless the weights are for embeddings of this dim."""
        expected = self.kernels[0].shape[0] // 2
        if dim != expected:
            raise ValueError(
                f"This distance compares embeddings of {expected} dimensions; "
                f"received {dim}. Embed with the encoder that it was trained "
                "with."
            )

    def _arguments(self, training) -> tuple[list, float, tf.Tensor]:
        """Returns weights as tensors, the dropout rate, and its seed."""
        weights = [
            tf.cast(tf.convert_to_tensor(weight), self.compute_dtype)
            for pair in zip(self.kernels, self.biases, strict=True)
            for weight in pair
        ]
        if not training or not self.dropout:
            return weights, 0.0, tf.zeros(2, tf.int32)
        seed = tf.cast(self.seed_generator.next(), tf.int32)
        return weights, self.dropout, seed

    def compute_output_shape(self, input_shape):
        _checked_dim(input_shape)
        return (input_shape[0][0],)

    def get_config(self):
        return {
            **super().get_config(),
            "hidden_units": list(self.hidden_units),
            "dropout": self.dropout,
            "symmetric": self.symmetric,
            "seed": self.seed,
        }


def _checked_dim(shapes) -> int:
    """Returns the dimension of two tensors; ValueError if they differ."""
    try:
        (_, dim), (_, other_dim) = shapes
    except (TypeError, ValueError):
        dim = None
    # A product of no columns ends the process in TensorFlow.
    if not dim or dim != other_dim:
        raise ValueError(
            "PairDistance compares two tensors of embeddings (n, dim) with "
            f"one dim of at least 1; received shapes {shapes}. Call it as "
            "distance((first, second))."
        )
    return dim
