"""A head that predicts how large the loss of an input is."""

import keras
import tensorflow as tf

from embeddings_tf.ops.arguments import LARGEST_NUMBER
from embeddings_tf.ops.arguments import number_at_least
from embeddings_tf.ops.arguments import optional_seed
from embeddings_tf.ops.arguments import positive_integer
from embeddings_tf.ops.arguments import require_floating
from embeddings_tf.ops.arguments import sequence
from embeddings_tf.ops.arguments import share
from embeddings_tf.ops.global_batch import global_num_rows
from embeddings_tf.ops.tensors import real_floats


@keras.saving.register_keras_serializable(package="embeddings_tf")
class UncertaintyHead(keras.layers.Layer):
    """Predicts the loss of an input, as an uncertainty for every method.

    Use it as `EmbeddingModel(encoder, objective, uncertainty=head)`, with any
    loss or objective, to know which embeddings are unreliable. It changes
    neither the encoder nor its embeddings. docs/uncertainty.md says what it
    sees and what it does not see.

    The head is a small network on features `f` of the encoder: the embedding,
    the logarithm of its norm and, for each channel of inner layers, the mean,
    standard deviation and maximum over space and the difference of
    neighbouring pixels. No gradient flows into `f`, and with `global_clipnorm`
    of the optimizer the gradients of the head have their own norm.
    In training, half of the rows of each class of a batch represent the class,
    the other half are queries, and vice versa. The head learns the loss of the
    queries by least squares:

    ```
    l(x)   = softplus(network(z))        z: f(x), standardised
    target = -ln p(y | x)        by the method's `represent` and `log_prob`
    v      = mean over rows of (l(x) - target)^2
    ```

    Sample weights weight these errors, too.

    A network can predict anything for inputs that differ from its training
    inputs. So a prediction adds a penalty where features are further from
    their means than in training:

    ```
    n(x) = ln(mean over features of z^2)
    u(x) = l(x) + novelty_weight * max(0, (n(x) - E[n]) / sd[n] - 2)
    ```

    with mean and standard deviation of `n` in training. Few inputs of the
    kind of the training have a penalty.

    Train it on images of varied quality (`datasets.degrade_randomly`): a head
    that saw only clean images can be wrong about damage.

    Args:
        hidden_units: Units of each hidden layer.
        dropout: Dropout after each hidden layer, in training.
        novelty_weight: Uncertainty that each further standard deviation of
            `n` adds, in nats, 0 to 1e18. 0: no penalty.
        num_samples: Samples of each query for the target, with objectives that
            sample.
        seed: Seed of these samples; None: from Keras's global seed.

    Input shape: Features `(batch, num_features)`.
    Output shape: `(batch,)`, float32, at least 0.

    Raises:
        ValueError: If an argument is not as described.

    Reference:
        - [Yoo & Kweon, 2019](https://arxiv.org/abs/1905.03677), loss
          prediction
        - [Kirchhof et al., 2023](https://arxiv.org/abs/2307.03810), the
          benchmark that it leads
        - [Lee et al., 2018](https://arxiv.org/abs/1807.03888), unknown inputs
          by features of inner layers. The penalty is ours; docs/results/
          uncertainty.md has its measurements.

    Example:

    >>> encoder = embeddings_tf.models.omniglot_encoder(8)
    >>> model = embeddings_tf.models.EmbeddingModel(
    ...     encoder,
    ...     embeddings_tf.losses.PrototypicalLoss(num_support=5),
    ...     uncertainty=embeddings_tf.layers.UncertaintyHead(),
    ... )
    >>> model.predict_uncertainty(np.zeros((3, 105, 105, 3), "uint8")).shape
    (3,)
    """

    def __init__(
        self,
        hidden_units: tuple[int, ...] = (256,),
        *,
        dropout: float = 0.3,
        novelty_weight: float = 0.2,
        num_samples: int = 20,
        seed: int | None = None,
        dtype="float32",
        **kwargs,
    ):
        super().__init__(dtype=dtype, **kwargs)
        require_floating(self.compute_dtype)
        self.hidden_units = tuple(
            positive_integer("hidden_units", units)
            for units in sequence("hidden_units", hidden_units)
        )
        self.dropout = share("dropout", dropout)
        self.novelty_weight = number_at_least(
            "novelty_weight", novelty_weight, 0, LARGEST_NUMBER
        )
        self.num_samples = positive_integer("num_samples", num_samples)
        self.seed = optional_seed("seed", seed)
        self.seed_generator = keras.random.SeedGenerator(self.seed)
        self.standardize = keras.layers.BatchNormalization(
            center=False, scale=False, dtype=dtype
        )
        self.novelty = None
        if self.novelty_weight:
            self.novelty = keras.layers.BatchNormalization(
                center=False, scale=False, dtype="float32"
            )
        self.hidden = [
            keras.layers.Dense(units, "relu", dtype=dtype)
            for units in self.hidden_units
        ]
        self.drop = keras.layers.Dropout(
            self.dropout, seed=self.seed, dtype=dtype
        )
        self.last = keras.layers.Dense(1, dtype=dtype)
        self.input_spec = keras.layers.InputSpec(ndim=2)

    def build(self, input_shape):
        self.num_features = input_shape[-1]
        self.standardize.build(input_shape)
        if self.novelty is not None:
            self.novelty.build((None, 1))
        shape = tuple(input_shape)
        for layer in (*self.hidden, self.last):
            layer.build(shape)
            shape = layer.compute_output_shape(shape)

    def call(self, features, training=None):
        x = real_floats("Features", features, self.compute_dtype)
        x = _normalized(self.standardize, x, training)
        penalty = self._penalty(x, training)
        # Bounded, since damage that training did not contain moves features
        # far beyond their usual range.
        x = tf.tanh(x / 2)
        for layer in self.hidden:
            x = self.drop(layer(x), training=training)
        predicted = tf.cast(self.last(x)[:, 0], tf.float32)
        return tf.nn.softplus(predicted) + penalty

    def _penalty(self, standardized, training) -> tf.Tensor:
        """Returns what unusual features add, `(batch,)`; 0 in training.

        In training, features are standardised by their batch. So the scale of
        `n` does not drift while the averages of `standardize` settle.
        """
        if self.novelty is None:
            return tf.zeros(())
        x = tf.cast(standardized, tf.float32)
        squares = tf.square(tf.clip_by_value(x, -1e9, 1e9))
        far = tf.reduce_sum(squares, axis=-1) / max(self.num_features, 1)
        novelty = tf.math.log(tf.maximum(far, 1e-6))[:, tf.newaxis]
        deviations = _normalized(self.novelty, novelty, training)[:, 0]
        if training:
            return tf.zeros(())
        return self.novelty_weight * tf.nn.relu(deviations - 2)

    def compute_output_shape(self, input_shape):
        return (input_shape[0],)

    def compute_output_spec(self, features, **kwargs):
        shape = self.compute_output_shape(features.shape)
        return keras.KerasTensor(shape, "float32")

    def next_seed(self) -> tf.Tensor:
        """A new seed for the samples of a target."""
        return tf.cast(self.seed_generator.next(), tf.int32)

    def get_config(self):
        return {
            **super().get_config(),
            "hidden_units": self.hidden_units,
            "dropout": self.dropout,
            "novelty_weight": self.novelty_weight,
            "num_samples": self.num_samples,
            "seed": self.seed,
        }


def _normalized(normalization, x, training) -> tf.Tensor:
    """Applies a `BatchNormalization` that ignores batches without rows.

    Such a batch has no mean, and the moving averages would become NaN.
    """
    if not training:
        return normalization(x, training=False)
    averages = normalization.moving_mean, normalization.moving_variance
    before = [tf.convert_to_tensor(average.value) for average in averages]
    normalized = normalization(x, training=True)
    has_rows = global_num_rows(x) > 0
    for average, old in zip(averages, before, strict=True):
        average.assign(tf.where(has_rows, average.value, old))
    return normalized
