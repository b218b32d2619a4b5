"""A head that predicts how large the loss of an input is."""

import keras
import tensorflow as tf

from embeddings_tf.ops.arguments import optional_seed
from embeddings_tf.ops.arguments import positive_integer
from embeddings_tf.ops.arguments import sequence
from embeddings_tf.ops.arguments import share
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
    u(x)   = softplus(network(f(x)))
    target = -ln p(y | x)        by the method's `represent` and `log_prob`
    v      = mean over rows of (u(x) - target)^2
    ```

    Train it on images of varied quality (`datasets.degrade_randomly`): a head
    that saw only clean images can be wrong about damage.

    Args:
        hidden_units: Units of each hidden layer.
        dropout: Dropout after each hidden layer, in training.
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
        num_samples: int = 20,
        seed: int | None = None,
        dtype="float32",
        **kwargs,
    ):
        super().__init__(dtype=dtype, **kwargs)
        self.hidden_units = tuple(
            positive_integer("hidden_units", units)
            for units in sequence("hidden_units", hidden_units)
        )
        self.dropout = share("dropout", dropout)
        self.num_samples = positive_integer("num_samples", num_samples)
        self.seed = optional_seed("seed", seed)
        self.seed_generator = keras.random.SeedGenerator(self.seed)
        self.standardize = keras.layers.BatchNormalization(
            center=False, scale=False, dtype=dtype
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
        shape = tuple(input_shape)
        for layer in (*self.hidden, self.last):
            layer.build(shape)
            shape = layer.compute_output_shape(shape)

    def call(self, features, training=None):
        x = real_floats("Features", features, self.compute_dtype)
        # Bounded, since damage that training did not contain moves features
        # far beyond their usual range.
        x = tf.tanh(self.standardize(x, training=training) / 2)
        for layer in self.hidden:
            x = self.drop(layer(x), training=training)
        return tf.nn.softplus(self.last(x)[:, 0])

    def compute_output_shape(self, input_shape):
        return (input_shape[0],)

    def next_seed(self) -> tf.Tensor:
        """A new seed for the samples of a target."""
        return tf.cast(self.seed_generator.next(), tf.int32)

    def get_config(self):
        return {
            **super().get_config(),
            "hidden_units": self.hidden_units,
            "dropout": self.dropout,
            "num_samples": self.num_samples,
            "seed": self.seed,
        }
