"""The beta-VAE: an encoder and a decoder, trained without labels."""

import contextlib
import contextvars
import math

import keras
import tensorflow as tf

from embeddings_tf.layers import PixelRange
from embeddings_tf.models.gaussian_output import has_gaussian_output
from embeddings_tf.models.input_shape import require_input_shape
from embeddings_tf.models.prepare_for_replicas import prepare_for_replicas
from embeddings_tf.models.training_loss import OwnLossModel
from embeddings_tf.models.training_loss import training_loss
from embeddings_tf.ops import gaussian
from embeddings_tf.ops.arguments import LARGEST_NUMBER
from embeddings_tf.ops.arguments import number_at_least
from embeddings_tf.ops.arguments import one_of
from embeddings_tf.ops.arguments import optional_seed
from embeddings_tf.ops.sample_weights import weight_per_row
from embeddings_tf.ops.tensors import real_matrix
from embeddings_tf.ops.tensors import real_numbers

_IN_A_STEP = contextvars.ContextVar("model in a step of Keras", default=None)


@keras.saving.register_keras_serializable(package="embeddings_tf")
class BetaVAE(OwnLossModel):
    """Beta-VAE: a variational autoencoder with a weighted KL divergence.

    Use it as a baseline for disentangling without labels. `fit` takes batches
    of images or of `(image, label)` and ignores the label. Calling the model,
    and `predict`, return the mean of the code, which is an embedding.

    Formula, for an image `x` with code `N(mean, diag(variance))` from the
    encoder and logits `decoder(z)`, all sums per example:

    ```
    z = mean + sqrt(variance) * noise
    reconstruction = sum_pixels t log p + (1 - t) log(1 - p)
    kl   = 1/2 sum_dimensions mean^2 + variance - 1 - log(variance)
    loss = beta * kl - reconstruction
    ```

    "bernoulli": `t = x / 255` (the layer `rescaling`), `p = sigmoid(logit)`.
    "compressed_bernoulli", from the authors' code: both are mapped by
    `v -> (v + 1) / 2`, with the same optimum and weaker gradients. (The
    authors' clips to `[1e-7, 1 - 1e-7]` are left out, because sums of
    logarithms do not need them.)

    `fit` and `evaluate` log `loss`, `reconstruction` (nats, larger is better)
    and `kl` (nats). `evaluate` and validation decode the mean, without noise,
    and are deterministic. For early stopping by held-out images, use
    `keras.callbacks.EarlyStopping("val_reconstruction", mode="max")`.

    Args:
        encoder: A functional or Sequential model from images, pixels 0 to
            255, that ends in `GaussianEmbedding(dim)`.
        decoder: A functional or Sequential model from codes `(batch, dim)` to
            logits, shaped like the images.
        beta: Weight of the KL divergence, 0 to 1e18. 1 is the plain
            auto-encoder. Published: 1, 2, 4, 8.
        likelihood: "bernoulli" or "compressed_bernoulli".
        seed: Seed of the noise; None: from Keras's global seed.

    Call arguments:
        inputs: Images, as the encoder takes them.
        training: As in Keras.

    Output shape: `(batch, dim)`.

    Raises:
        ValueError: If encoder and decoder do not fit together, `beta` is not
            in its range, or the likelihood is unknown; if images are complex
            or have another shape than the encoder's inputs; in `fit` and
            `evaluate`, if the model was compiled with a loss; in
            `train_on_batch` and `test_on_batch`, if there are several
            replicas: Keras would not divide the batch.

    Reference:
        - [Higgins et al., 2017](https://openreview.net/forum?id=Sy2fzU9gl),
          Eq. 4
        - [Ridgeway & Mozer, 2018](https://arxiv.org/abs/1802.05312), Figure 4

    Example:

    >>> model = embeddings_tf.models.BetaVAE(
    ...     embeddings_tf.models.sprites_encoder(2, gaussian=True, width=8),
    ...     embeddings_tf.models.sprites_decoder(2, width=8),
    ...     beta=4.0,
    ... )
    >>> model.compile(optimizer="adam")
    >>> model.predict(np.zeros((5, 60, 60, 3), "uint8"), verbose=0).shape
    (5, 2)
    """

    # Read by `has_gaussian_output`: the output is only the mean.
    gaussian = False

    def __init__(
        self,
        encoder: keras.Model,
        decoder: keras.Model,
        beta: float = 1.0,
        *,
        likelihood: str = "bernoulli",
        seed: int | None = None,
        **kwargs,
    ):
        # The encoder casts its inputs: it may need them in float32.
        super().__init__(**{"autocast": False, **kwargs})
        beta = number_at_least("beta", beta, 0, LARGEST_NUMBER)
        _require_pair(encoder, decoder)
        self.encoder = prepare_for_replicas(encoder)
        self.decoder = prepare_for_replicas(decoder)
        self.beta = beta
        self.likelihood = one_of(
            "likelihood", likelihood, ("bernoulli", "compressed_bernoulli")
        )
        # The likelihood uses pixels of 0 to 255, rescaled to 0 to 1.
        self.pixel_range = PixelRange()
        self.rescaling = keras.layers.Rescaling(1 / 255, dtype="float32")
        self.seed = seed = optional_seed("seed", seed)
        self.seed_generator = keras.random.SeedGenerator(seed)
        self._reconstruction = keras.metrics.Mean(name="reconstruction")
        self._kl = keras.metrics.Mean(name="kl")
        self.build(encoder.input_shape)

    def build(self, input_shape):
        self.built = True  # encoder and decoder are already built

    def __call__(self, inputs, *args, **kwargs):
        # Keras would cast complex images, and add an axis for the encoder.
        if not isinstance(inputs, keras.KerasTensor):
            inputs = real_numbers("Images", inputs)
            require_input_shape("images", inputs, self, exact=True)
        return super().__call__(inputs, *args, **kwargs)

    def call(self, inputs, training=None):
        packed = self.encoder(inputs, training=training)
        return packed if self._is_in_a_step() else gaussian.unpack(packed)[0]

    def _is_in_a_step(self) -> bool:
        return _IN_A_STEP.get() is self

    def train_step(self, *args, **kwargs):
        with _whole_gaussians(self):
            return super().train_step(*args, **kwargs)

    def test_step(self, *args, **kwargs):
        with _whole_gaussians(self):
            return super().test_step(*args, **kwargs)

    def compute_output_shape(self, input_shape):
        return (input_shape[0], self.decoder.input_shape[-1])

    def log_likelihood(self, images, code, training=False) -> tf.Tensor:
        """Log-likelihood in nats of each image given its code.

        Args:
            images: `(batch, ...)`, pixels 0 to 255.
            code: `(batch, dim)`.
            training: As in Keras.

        Returns:
            `(batch,)`, the sum over pixels and channels.

        Raises:
            ValueError: If images or codes are not real numbers or have another
                shape than the model's, or there are more of one (in a graph
                that does not know the numbers:
                `tf.errors.InvalidArgumentError`).
        """
        images = real_numbers("Images", images, "float32")
        require_input_shape("images", images, self, exact=True)
        code = real_matrix("Codes", code)
        if not images.shape[:1].is_compatible_with(code.shape[:1]):
            raise ValueError(
                f"Each image has a code; received {images.shape[0]} images and "
                f"{code.shape[0]} codes."
            )
        # In a graph that does not know the numbers, one code would be
        # broadcast. `reshape` fails unless there is a code for each image.
        rows = tf.shape(images)[0], tf.shape(code)[1]
        code = tf.ensure_shape(tf.reshape(code, rows), code.shape)
        target = self.rescaling(self.pixel_range(images))
        logits = tf.cast(self.decoder(code, training=training), "float32")
        log_bright = tf.math.log_sigmoid(logits)
        log_dark = tf.math.log_sigmoid(-logits)
        if self.likelihood == "compressed_bernoulli":
            target = (target + 1.0) / 2.0
            log_bright = tf.math.log1p(tf.sigmoid(logits)) - math.log(2)
            log_dark -= math.log(2)
        by_pixel = target * log_bright + (1.0 - target) * log_dark
        return tf.reduce_sum(by_pixel, axis=tuple(range(1, logits.shape.rank)))

    def decode(self, code) -> tf.Tensor:
        """Returns images of codes `(batch, dim)`, pixels 0 to 255."""
        code = real_matrix("Codes", code)
        return 255 * tf.sigmoid(tf.cast(self.decoder(code), "float32"))

    def compute_metrics(self, x, y, y_pred, sample_weight=None):
        if self._is_in_a_step():
            y_pred, _ = gaussian.unpack(y_pred)
        return super().compute_metrics(x, y, y_pred, sample_weight)

    def compute_loss(
        self,
        x=None,
        y=None,
        y_pred=None,
        sample_weight=None,
        training=True,
    ):
        if self.loss is not None:
            raise ValueError(
                "A BetaVAE brings its own loss; it was compiled with "
                f"loss={self.loss!r}. Compile without a loss."
            )
        if not self._is_in_a_step():  # `y_pred`, the mean, lacks the variance
            y_pred = self.encoder(x, training=training)
        mean, variance = gaussian.unpack(y_pred)
        sample_weight = weight_per_row(sample_weight, mean)
        code = mean
        if training:
            code += tf.sqrt(variance) * self._noise(tf.shape(mean))
        reconstruction = self.log_likelihood(x, code, training=training)
        kl = gaussian.kl_to_standard_normal(mean, variance)
        self._reconstruction.update_state(reconstruction, sample_weight)
        self._kl.update_state(kl, sample_weight)
        return training_loss(
            self, self.beta * kl - reconstruction, sample_weight
        )

    def _noise(self, shape) -> tf.Tensor:
        seed = tf.cast(self.seed_generator.next(), tf.int32)
        # A SeedGenerator draws the same noise on every replica.
        replica = tf.distribute.get_replica_context().replica_id_in_sync_group
        seed = tf.random.experimental.stateless_fold_in(
            seed, replica, alg="philox"
        )
        return tf.random.stateless_normal(shape, seed, alg="philox")

    def get_config(self):
        return {
            **super().get_config(),
            "encoder": keras.saving.serialize_keras_object(self.encoder),
            "decoder": keras.saving.serialize_keras_object(self.decoder),
            "beta": self.beta,
            "likelihood": self.likelihood,
            "seed": self.seed,
        }

    @classmethod
    def from_config(cls, config):
        config = dict(config)
        for part in ("encoder", "decoder"):
            config[part] = keras.saving.deserialize_keras_object(config[part])
        return cls(**config)


@contextlib.contextmanager
def _whole_gaussians(model):
    """Within it, a call of the model gives the Gaussian; steps encode once.

    Encoding twice would also move batch statistics twice. The variable is of
    the thread, because every replica has its own.
    """
    token = _IN_A_STEP.set(model)
    try:
        yield
    finally:
        _IN_A_STEP.reset(token)


def _require_pair(encoder, decoder) -> None:
    """Raises ValueError unless the shapes of both parts fit together."""
    for name, model in (("encoder", encoder), ("decoder", decoder)):
        if not (getattr(model, "built", False) and hasattr(model, "inputs")):
            raise ValueError(
                f"`{name}` must be a functional or Sequential model that "
                f"starts with keras.Input; received {model!r}."
            )
    if not has_gaussian_output(encoder):
        raise ValueError(
            "`encoder` must end in a Gaussian, mean and variance; its last "
            f"layer is {encoder.layers[-1]!r}. End it with "
            "`embeddings_tf.layers.GaussianEmbedding(dim)`, for example by "
            "`sprites_encoder(dim, gaussian=True)`."
        )
    dim = encoder.output_shape[-1] // 2
    expected = (None, dim), encoder.input_shape
    received = decoder.input_shape, decoder.output_shape
    if received != expected:
        raise ValueError(
            f"`decoder` must map codes {expected[0]} to images {expected[1]}, "
            f"as `encoder` needs it; received one from {received[0]} to "
            f"{received[1]}."
        )
