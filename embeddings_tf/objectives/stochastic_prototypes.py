"""Stochastic prototype embeddings: the objective."""

import keras
import tensorflow as tf

from embeddings_tf.objectives.episodic_objective import EpisodicObjective
from embeddings_tf.ops import gaussian
from embeddings_tf.ops import positive_weight
from embeddings_tf.ops import prototype_samplers
from embeddings_tf.ops.arguments import LARGEST_NUMBER
from embeddings_tf.ops.arguments import number_at_least
from embeddings_tf.ops.arguments import one_of
from embeddings_tf.ops.arguments import optional_seed
from embeddings_tf.ops.arguments import positive_integer
from embeddings_tf.ops.arguments import positive_number
from embeddings_tf.ops.episode import split_episode
from embeddings_tf.ops.global_batch import gather_global_batch
from embeddings_tf.ops.labelled_batch import labelled_batch
from embeddings_tf.ops.numerics import finite
from embeddings_tf.ops.numerics import finite_or_nan
from embeddings_tf.ops.numerics import mean_or_zero
from embeddings_tf.ops.prototypes import require_support
from embeddings_tf.ops.tensors import real_matrix
from embeddings_tf.ops.tensors import require_one_width
from embeddings_tf.ops.tensors import rows_of_one_length


@keras.saving.register_keras_serializable(package="embeddings_tf")
class StochasticPrototypes(EpisodicObjective):
    """Classifies queries by Gaussian prototypes and learns the uncertainty.

    Use it for few-shot classification with unclear inputs. It learns a
    variance per input and dimension, and gives unclear
    supports less weight; axes often become factors of the classes. Join it with
    `embeddings_tf.models.EmbeddingModel` to an encoder that ends in
    `GaussianEmbedding`; feed it `embeddings_tf.sampling.episodes`.

    Formula, with supports `S_y`, `N` the diagonal Gaussian and `s^2 =
    noise_variance` (the paper's sigma_epsilon squared):

    ```
    p(z | x)     = N(z; mu_x, sigma_x^2)                            (Eq. 1)
    sigma_y^2    = 1 / sum over S_y of 1 / (sigma_i^2 + s^2)        (Eq. 5)
    mu_y         = sigma_y^2 sum over S_y of mu_i / (sigma_i^2 + s^2)
    p(y | z)     = N(z; mu_y, sigma_y^2 + s^2) / sum over c of the same
    p(y | x)     = E over z ~ p(z | x) of p(y | z)                  (Eq. 7)
    v            = -mean over queries of ln p(y | x)
                   + beta * mean over rows of KL(p(z | x) || N(0, I))
    ```

    Two samplers estimate the expectation. `"naive"` draws from `p(z | x)`.
    `"intersection"` draws from the normalised product of `p(z | x)` and the
    target class's Gaussian (Eqs. 8 and 9), and one sample is enough to train.
    Its estimate is unbiased but may exceed 1, so a loss below zero is no
    error; `log_prob` predicts by other estimates. If training is unsteady,
    clip the gradient (`docs/stochastic_prototypes.md`).

    The first `num_support` rows of each label, in batch order, are supports;
    the rest are queries. A batch without queries has only the divergence. Under
    `tf.distribute` the episode is the global batch.

    Args:
        num_support: Supports per class, at least 1.
        sampler: `"intersection"`; or `"naive"`, which needs tens of samples,
            or `GaussianEmbedding(initial_variance=0.05)`.
        num_samples: Samples per query in training.
        initial_noise_variance: Where `noise_variance` starts, at most 1e18.
            None: `num_support * 0.01 ** (2 / dim)`, our reconstruction; the
            formula is missing from the paper's text.
        noise_transform: `"softplus"` or `"exp"`, from the weight to its value.
        beta: Weight of the KL divergence from N(0, I), 0 to 1e18. 0 is the
            paper's loss. In many dimensions the loss alone may not train the
            predicted variance; then try 1e-3 (`docs/uncertainty.md`).
        seed: Seed of the training samples; None: from Keras's global seed.

    Attributes:
        noise_variance: The trainable variance of a class around its
            prototype, a scalar. Known once the objective is built.

    Call arguments:
        y_true: Class ids `(batch,)`, any integers.
        y_pred: Packed Gaussians `(batch, 2 * dim)`.

    Returns:
        `(batch,)`, float32, `v` in every entry. `v` and its gradient are finite
        for embeddings up to 1e15 if `noise_variance` is at least 1e-3 and
        `beta` at most 1.

    Raises:
        ValueError: For an argument of another kind, an odd last axis of
            `y_pred`, or a class without support.

    Reference:
        - [Scott, Ridgeway & Mozer, 2019](https://arxiv.org/abs/1909.11702)

    Example:

    >>> objective = embeddings_tf.objectives.StochasticPrototypes(num_support=2)
    >>> support = np.array([[0, 0, 1, 1], [1, 0, 1, 1]], "float32")
    >>> prototypes = objective.prototypes(support, [0, 0], num_classes=1)
    >>> prototypes.numpy()[0, :2]
    array([0.5, 0. ], dtype=float32)
    """

    is_gaussian = True
    signatures = ("classify",)

    def __init__(
        self,
        num_support: int,
        sampler: str = "intersection",
        num_samples: int = 1,
        *,
        initial_noise_variance: float | None = None,
        noise_transform: str = "softplus",
        beta: float = 0.0,
        seed: int | None = None,
        dtype="float32",
        **kwargs,
    ):
        super().__init__(dtype=dtype, **kwargs)
        self.num_support = positive_integer("num_support", num_support)
        self.sampler = one_of("sampler", sampler, prototype_samplers.SAMPLERS)
        self.num_samples = positive_integer("num_samples", num_samples)
        start = initial_noise_variance
        if start is not None:
            start = positive_number(
                "initial_noise_variance", start, LARGEST_NUMBER
            )
        self.initial_noise_variance = start
        self.noise_transform = one_of(
            "noise_transform", noise_transform, (*positive_weight.TRANSFORMS,)
        )
        self.beta = number_at_least("beta", beta, 0, LARGEST_NUMBER)
        self.has_divergence = self.beta > 0
        # XLA has no gradient of a loop over an unknown number of queries.
        self.supports_jit = sampler != "naive"
        self.seed = seed = optional_seed("seed", seed)
        self.seed_generator = keras.random.SeedGenerator(seed)

    def build(self, y_true_shape, y_pred_shape):
        dim = gaussian.dim_of("StochasticPrototypes", y_pred_shape)
        start = self.initial_noise_variance
        if start is None:
            start = self.num_support * 0.01 ** (2 / dim)
        raw = positive_weight.inverse(self.noise_transform, start)
        self.raw_noise_variance = self.add_weight(
            name="raw_noise_variance",
            shape=(),
            initializer=keras.initializers.Constant(raw),
        )

    @property
    def noise_variance(self) -> tf.Tensor:
        """The trainable variance of a class around its prototype, scalar."""
        if not self.built:
            raise ValueError(
                "noise_variance starts from a value that depends on the "
                "embedding's dim, which is not known yet. Call the objective "
                "on embeddings first, or join it to an encoder."
            )
        raw = tf.convert_to_tensor(self.raw_noise_variance)
        return positive_weight.TRANSFORMS[self.noise_transform](raw)

    def call(self, y_true, y_pred):
        labels, local = labelled_batch(y_true, y_pred)
        labels, packed = gather_global_batch(labels, local)
        packed = finite_or_nan(packed)
        episode = split_episode(labels, self.num_support)
        prototypes = self._prototypes(
            episode.supports(packed),
            episode.supports(episode.class_ids),
            episode.num_classes,
        )
        targets = episode.queries(episode.class_ids)
        mean, variance = gaussian.unpack_positive(episode.queries(packed))
        classes = self._class_likelihood(prototypes)
        sampling = self.num_samples, self._next_seed()
        if self.sampler == "naive":
            log_prob = prototype_samplers.naive_log_prob(
                mean, variance, *classes, *sampling
            )
            target_log_prob = tf.gather(log_prob, targets, batch_dims=1)
        else:
            target_log_prob = prototype_samplers.intersection_log_prob(
                mean, variance, targets, *classes, *sampling
            )
        value = mean_or_zero(-target_log_prob)
        if self.beta:
            moments = gaussian.unpack_positive(packed)
            value += gaussian.weighted_divergence(*moments, self.beta)
        return tf.fill(tf.shape(local)[:1], value)

    def prototypes(self, packed, labels, num_classes) -> tf.Tensor:
        """Posterior of each class's prototype given its supports (Eq. 5).

        Args:
            packed: Supports `(n, 2 * dim)`.
            labels: `(n,)` in `[0, num_classes)`, each class at least once.
            num_classes: Number of classes.

        Returns:
            Packed Gaussians `(num_classes, 2 * dim)`, without
            `noise_variance`.
        """
        labels, packed = labelled_batch(labels, self._built_for(packed))
        labels = require_support(labels, num_classes)
        return self._prototypes(packed, labels, num_classes)

    def represent(self, embeddings, class_ids, num_classes) -> tf.Tensor:
        """Represents classes in few-shot use by `prototypes`."""
        return self.prototypes(embeddings, class_ids, num_classes)

    def log_prob(
        self,
        packed_queries,
        packed_prototypes,
        num_samples=200,
        seed=None,
        *,
        sampler="naive",
    ) -> tf.Tensor:
        """Log-probability `(queries, classes)` of every class (Eq. 7).

        The classes sum to 1. The answer to a query does not depend on the
        other queries.

        Args:
            packed_queries: `(queries, 2 * dim)`.
            packed_prototypes: `(classes, 2 * dim)` from `prototypes`;
                `noise_variance` is added here.
            num_samples: Samples per query. Memory is for the queries and
                classes, plus `num_samples * dim` numbers.
            seed: int or int32 `(2,)`; None: a new one each time.
            sampler: `"naive"` averages over samples of the query,
                `"intersection"` over weighted samples of its products with the
                classes.
        """
        num_samples = positive_integer("num_samples", num_samples)
        sampler = one_of("sampler", sampler, prototype_samplers.SAMPLERS)
        queries, prototypes = self._two_sets(packed_queries, packed_prototypes)
        if seed is None:
            seed = self._next_seed()
        tensors = (
            *gaussian.unpack_valid(queries),
            *self._class_likelihood(prototypes),
        )
        sampling = num_samples, seed, sampler
        return prototype_samplers.shared_log_prob(*tensors, *sampling)

    def log_evidence(self, queries, prototypes) -> tf.Tensor:
        """Log-density of every query under the classes, equally likely.

        `ln mean over y of N(mu_x; mu_y, sigma_x^2 + sigma_y^2 + s^2)`.
        """
        queries, prototypes = self._two_sets(queries, prototypes)
        return prototype_samplers.log_evidence(
            *gaussian.unpack_valid(queries), *self._class_likelihood(prototypes)
        )

    def score_pairs(self, first, second) -> tf.Tensor:
        """Log-density of one row given a class with one support, row by row.

        Equals `log_evidence` of `first` under one class whose only support is
        `second`: a log-density, not a likelihood ratio. Sets `(n, 2 * dim)`
        give `(n,)`.
        """
        first, second = self._two_sets(first, second)
        first, second = rows_of_one_length(first, second)
        mean, variance, other_mean, other_variance, noise = (
            tf.cast(tensor, tf.float64)
            for tensor in (
                *gaussian.unpack_valid(first),
                *gaussian.unpack_valid(second),
                self.noise_variance,
            )
        )
        spread = variance + other_variance + 2 * noise
        density = gaussian.log_density(mean - other_mean, spread)
        return finite(density, first.dtype)

    def diagnostics(self) -> dict:
        """The learned `noise_variance`."""
        return {"noise_variance": self.noise_variance}

    def _built_for(self, packed) -> tf.Tensor:
        # A fresh object is built from what a method receives.
        packed = real_matrix("Gaussians", packed, self.compute_dtype)
        if not self.built:
            self.build((None,), tuple(packed.shape))
        return packed

    def _two_sets(self, first, second) -> tuple[tf.Tensor, tf.Tensor]:
        first = self._built_for(first)
        second = real_matrix("Gaussians", second, first.dtype)
        require_one_width(first, second)
        return first, second

    def _prototypes(self, packed, class_ids, num_classes) -> tf.Tensor:
        mean, variance = gaussian.unpack_valid(packed)
        variance += tf.cast(self.noise_variance, variance.dtype)
        return gaussian.pack(
            *gaussian.posterior(mean, variance, class_ids, num_classes)
        )

    def _class_likelihood(self, prototypes) -> tuple[tf.Tensor, tf.Tensor]:
        mean, variance = gaussian.unpack_valid(prototypes)
        return mean, variance + tf.cast(self.noise_variance, variance.dtype)

    def get_config(self):
        return {
            **super().get_config(),
            "num_support": self.num_support,
            "sampler": self.sampler,
            "num_samples": self.num_samples,
            "initial_noise_variance": self.initial_noise_variance,
            "noise_transform": self.noise_transform,
            "beta": self.beta,
            "seed": self.seed,
        }
