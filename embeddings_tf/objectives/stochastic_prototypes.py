"""Stochastic prototype embeddings: the objective."""

import keras
import numpy as np
import tensorflow as tf

from embeddings_tf.objectives.embedding_objective import EmbeddingObjective
from embeddings_tf.ops import gaussian
from embeddings_tf.ops.arguments import LARGEST_NUMBER
from embeddings_tf.ops.arguments import one_of
from embeddings_tf.ops.arguments import positive_integer
from embeddings_tf.ops.arguments import positive_number
from embeddings_tf.ops.arguments import random_seed
from embeddings_tf.ops.batch_needs import BatchNeeds
from embeddings_tf.ops.batch_needs import episode_needs
from embeddings_tf.ops.episode import mean_over_queries
from embeddings_tf.ops.episode import split_episode
from embeddings_tf.ops.global_batch import gather_global_batch
from embeddings_tf.ops.labelled_batch import labelled_batch
from embeddings_tf.ops.labelled_batch import real_matrix
from embeddings_tf.ops.prototypes import finite
from embeddings_tf.ops.prototypes import log_mean_exp
from embeddings_tf.ops.prototypes import require_support
from embeddings_tf.ops.seed_pair import seed_pair

SAMPLERS = ("intersection", "naive")
# Floats of a block of samples in `log_prob`: 16 MiB.
BLOCK_FLOATS = 2**21


@keras.saving.register_keras_serializable(package="embeddings_tf")
class StochasticPrototypes(EmbeddingObjective):
    """Classifies queries by Gaussian prototypes and learns the uncertainty.

    Use it for few-shot classification with unclear inputs. It learns a
    variance per input and dimension without a regulariser, gives unclear
    supports less weight, and aligns differences between classes with the
    axes. Join it to an encoder that ends in
    `GaussianEmbedding` with `embeddings_tf.models.EmbeddingModel`, and feed
    batches from `embeddings_tf.sampling.episodes`.

    Formula, with supports `S_y`, `N` the diagonal Gaussian and `s^2 =
    noise_variance` (the paper's sigma_epsilon squared):

    ```
    p(z | x)     = N(z; mu_x, sigma_x^2)                            (Eq. 1)
    sigma_y^2    = 1 / sum over S_y of 1 / (sigma_i^2 + s^2)        (Eq. 5)
    mu_y         = sigma_y^2 sum over S_y of mu_i / (sigma_i^2 + s^2)
    p(y | z)     = N(z; mu_y, sigma_y^2 + s^2) / sum over c of the same
    p(y | x)     = E over z ~ p(z | x) of p(y | z)                  (Eq. 7)
    v            = -mean over queries of ln p(y | x)
    ```

    Two samplers estimate the expectation. `"naive"` draws from `p(z | x)`.
    `"intersection"` draws from the normalised product of `p(z | x)` and the
    target class's Gaussian (Eqs. 8 and 9), and one sample is enough to train:

    ```
    ln p(y | x) = ln N(mu_x; mu_y, sigma_y^2 + s^2 + sigma_x^2)
                  + logmeanexp over samples z of
                    -logsumexp over c of ln N(z; mu_c, sigma_c^2 + s^2)
    ```

    The intersection estimate is unbiased but may exceed 1, so a loss below
    zero is no error, and it never serves for prediction: `log_prob` uses the
    naive sampler, or intersections with self-normalised weights. Where a
    query's variance exceeds its class's
    (`1 / shat_y^2 + 1 / sigma_x^2 < 2 / shat_max^2`), the *variance* of the
    estimate is infinite: single losses are heavy-tailed but every value and
    gradient stays finite. If training is unsteady, clip the gradient
    (`global_clipnorm=10` in the optimiser, as the recipes do), take
    `num_samples > 1`, or use episodes with more queries.

    Of each label, the first `num_support` rows in batch order are supports
    and the rest are queries. A class without queries still competes; a batch
    without any query has loss 0 and zero gradients; with one class the naive
    loss is 0. Under `tf.distribute` the episode is the global batch and the
    samples are drawn for it, the same on every replica. A variance
    of 0 counts as 1e-37 and has a gradient of 0, so that points have finite
    losses and gradients. A negative variance, which no Gaussian has, makes the
    loss NaN.

    Args:
        num_support: Supports per class, at least 1.
        sampler: `"intersection"` or `"naive"`. The naive one needs tens of
            samples, or `GaussianEmbedding(initial_variance=0.05)`.
        num_samples: Samples per query in training.
        initial_noise_variance: Where `noise_variance` starts, at most 1e18.
            None is the paper's prescription, `num_support * 0.01 ** (2 / dim)`:
            linear in the supports for an early signal, unit volume over
            dimensions.
        noise_transform: `"softplus"` or `"exp"`, from the trainable weight to
            `noise_variance`.
        seed: Seed of the training samples; None: from Keras's global seed.

    Call arguments:
        y_true: Class ids `(batch,)`, any integers.
        y_pred: Packed Gaussians `(batch, 2 * dim)`.

    Returns:
        `(batch,)`, float32, `v` in every entry.

    Raises:
        ValueError: If an argument is not of the kind above, if the last axis
            of `y_pred` is odd, or if a method's labels leave a class without
            support.

    Reference:
        - [Scott, Ridgeway & Mozer, 2019](https://arxiv.org/abs/1909.11702),
          Eqs. 1-9.

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
        seed: int | None = None,
        dtype="float32",
        **kwargs,
    ):
        super().__init__(dtype=dtype, **kwargs)
        self.num_support = positive_integer("num_support", num_support)
        self.sampler = one_of("sampler", sampler, SAMPLERS)
        self.num_samples = positive_integer("num_samples", num_samples)
        if initial_noise_variance is not None:
            initial_noise_variance = positive_number(
                "initial_noise_variance", initial_noise_variance, LARGEST_NUMBER
            )
        self.initial_noise_variance = initial_noise_variance
        self.noise_transform = one_of(
            "noise_transform", noise_transform, ("softplus", "exp")
        )
        # XLA has no gradient of a loop over samples of an unknown number of
        # queries; compile(jit_compile="auto") reads this.
        self.supports_jit = sampler != "naive"
        self.seed = seed = None if seed is None else random_seed("seed", seed)
        self.seed_generator = keras.random.SeedGenerator(seed)

    @property
    def batch_needs(self) -> BatchNeeds:
        return episode_needs(self.num_support)

    def build(self, y_true_shape, y_pred_shape):
        width = y_pred_shape[-1]
        if width is None or width % 2:
            raise ValueError(
                "StochasticPrototypes reads packed Gaussians (batch, 2 * dim)"
                f"; received embeddings of shape {tuple(y_pred_shape)}. Let "
                "the encoder end in GaussianEmbedding(dim)."
            )
        start = self.initial_noise_variance
        if start is None:
            start = self.num_support * 0.01 ** (2 / (width // 2))
        inverse = {
            "exp": np.log,
            # ln(e^v - 1), without overflow for large v
            "softplus": lambda v: v + np.log(-np.expm1(-v)),
        }
        self.raw_noise_variance = self.add_weight(
            name="raw_noise_variance",
            shape=(),
            initializer=keras.initializers.Constant(
                float(inverse[self.noise_transform](start))
            ),
        )

    @property
    def noise_variance(self) -> tf.Tensor:
        """The trainable variance of a class around its prototype, scalar."""
        if not self.built:
            raise ValueError(
                "noise_variance starts from a value that depends on the "
                "embedding's dim, which is not known yet. Call the objective "
                "or one of its methods on embeddings first, or join it to an "
                "encoder with EmbeddingModel."
            )
        transform = {"exp": tf.exp, "softplus": tf.nn.softplus}
        raw = tf.convert_to_tensor(self.raw_noise_variance)
        return transform[self.noise_transform](raw)

    def call(self, y_true, y_pred):
        labels, local = labelled_batch(y_true, y_pred)
        labels, packed = gather_global_batch(labels, local)
        episode = split_episode(labels, self.num_support)
        is_query = tf.logical_not(episode.is_support)
        prototypes = self._prototypes(
            tf.boolean_mask(packed, episode.is_support),
            tf.boolean_mask(episode.class_ids, episode.is_support),
            episode.num_classes,
        )
        queries = tf.boolean_mask(packed, is_query)
        targets = tf.boolean_mask(episode.class_ids, is_query)
        seed = self._next_seed()
        if self.sampler == "naive":
            log_prob = self._naive(queries, prototypes, self.num_samples, seed)
            target_log_prob = tf.gather(log_prob, targets, batch_dims=1)
        else:
            target_log_prob = self._intersection(
                queries, targets, prototypes, seed
            )
        return tf.fill(tf.shape(local)[:1], mean_over_queries(-target_log_prob))

    def prototypes(self, packed, labels, num_classes) -> tf.Tensor:
        """Posterior of each class's prototype given its supports (Eq. 5).

        Args:
            packed: Supports `(n, 2 * dim)`.
            labels: `(n,)` in `[0, num_classes)`, each class at least once.
            num_classes: Number of classes.

        Returns:
            Packed Gaussians `(num_classes, 2 * dim)`, with the variance of
            the prototype, without `noise_variance`.

        Raises:
            ValueError: If a class has no support (in a graph:
                `tf.errors.InvalidArgumentError`).
        """
        labels, packed = labelled_batch(labels, self._built_for(packed))
        labels = require_support(labels, num_classes)
        return self._prototypes(packed, labels, num_classes)

    def represent(self, packed, class_ids, num_classes) -> tf.Tensor:
        """Represents classes in few-shot use by `prototypes`."""
        return self.prototypes(packed, class_ids, num_classes)

    def log_prob(
        self,
        packed_queries,
        packed_prototypes,
        num_samples=200,
        seed=None,
        *,
        sampler="naive",
    ) -> tf.Tensor:
        """Log-probability of every class for every query (Eq. 7).

        `"naive"` averages softmaxes over samples of the query's Gaussian.
        `"intersection"` draws from the products of the query's Gaussian with
        the classes' Gaussians instead, from each product in proportion to its
        mass (Eq. 8), and weights the softmaxes:

        ```
        w(z)     = 1 / sum over classes c of N(z; mu_c, sigma_c^2 + s^2)
        p(y | x) = sum over z of w(z) p(y | z) / sum over z of w(z)
        ```

        With both samplers the classes sum to 1, and many samples give the same
        probabilities. Where a query is wider than a class, the weights are
        heavy-tailed and `"naive"` needs fewer samples.

        All queries share one set of standard normal draws, scaled by each
        query's own variance. The answer to a query therefore depends on the
        seed, not on the other queries of the batch. Probabilities are computed
        in float64: every finite embedding has finite log-probabilities.

        Args:
            packed_queries: `(queries, 2 * dim)`.
            packed_prototypes: `(classes, 2 * dim)` from `prototypes`;
                `noise_variance` is added here.
            num_samples: Samples per query.
            seed: int or int32 `(2,)`, for a repeatable answer. None: a new
                one each time.
            sampler: `"naive"` or `"intersection"`.

        Returns:
            `(queries, classes)`. Memory beside the draws is a few times
            `queries * classes * dim` floats, or tens of MiB if that is more,
            whatever the number of samples.
        """
        num_samples = positive_integer("num_samples", num_samples)
        sampler = one_of("sampler", sampler, SAMPLERS)
        queries = self._built_for(packed_queries)
        prototypes = real_matrix("Prototypes", packed_prototypes, queries.dtype)
        gaussian.require_one_dim(queries, prototypes)
        if seed is None:
            seed = self._next_seed()
        mean, variance = gaussian.unpack(queries)
        noise = gaussian.standard_normal(
            num_samples, mean.shape[-1], seed, mean.dtype
        )
        tensors = mean, variance, *self._class_likelihood(prototypes), noise
        tensors = [tf.cast(tensor, tf.float64) for tensor in tensors]
        if sampler == "naive":
            log_prob = _log_mean_softmax(*tensors)
        else:
            first = tf.random.stateless_uniform(
                (),
                tf.random.experimental.stateless_fold_in(
                    seed_pair(seed, True), 1, alg="philox"
                ),
                dtype=tf.float64,
                alg="philox",
            )
            log_prob = _log_weighted_softmax(*tensors, first)
        lowest = tf.constant(mean.dtype.min, tf.float64)
        return tf.cast(tf.maximum(log_prob, lowest), mean.dtype)

    def log_evidence(self, packed_queries, packed_prototypes) -> tf.Tensor:
        """Log-density of every query under the classes, equally likely.

        The denominator that `log_prob` divides by, in closed form: no samples
        are drawn. It is small for a query far from every class.

        ```
        ln mean over classes y of N(mean_q; mean_y, variance_q + variance_y
                                            + noise_variance)
        ```

        Args:
            packed_queries: `(queries, 2 * dim)`.
            packed_prototypes: `(classes, 2 * dim)` from `prototypes`;
                `noise_variance` is added here.

        Returns:
            `(queries,)`.
        """
        queries = self._built_for(packed_queries)
        prototypes = real_matrix("Prototypes", packed_prototypes, queries.dtype)
        gaussian.require_one_dim(queries, prototypes)
        mean, variance, class_mean, class_variance = (
            tf.cast(tensor, tf.float64)
            for tensor in (
                *gaussian.unpack(queries),
                *self._class_likelihood(prototypes),
            )
        )
        densities = gaussian.log_density(
            mean[:, None] - class_mean, variance[:, None] + class_variance
        )
        return finite(log_mean_exp(densities), queries.dtype)

    def score_pairs(self, packed_first, packed_second) -> tf.Tensor:
        """Log-density of one row given a class with one support, row by row.

        `log_evidence` of the first for a class enrolled by the second alone;
        both sides may be exchanged. Not a log-likelihood ratio: the prototype
        has no prior.

        Args:
            packed_first: `(n, 2 * dim)`.
            packed_second: `(n, 2 * dim)`.

        Returns:
            `(n,)`.
        """
        first = self._built_for(packed_first)
        second = real_matrix("Gaussians", packed_second, first.dtype)
        gaussian.require_one_dim(first, second)
        mean_1, variance_1, mean_2, variance_2, noise = (
            tf.cast(tensor, tf.float64)
            for tensor in (
                *gaussian.unpack(first),
                *gaussian.unpack(second),
                self.noise_variance,
            )
        )
        density = gaussian.log_density(
            mean_1 - mean_2, variance_1 + variance_2 + 2 * noise
        )
        return finite(density, first.dtype)

    def diagnostics(self) -> dict:
        """The learned `noise_variance`."""
        return {"noise_variance": self.noise_variance}

    def _built_for(self, packed) -> tf.Tensor:
        """Methods called on a fresh object build it from what they receive."""
        packed = real_matrix("Gaussians", packed, self.compute_dtype)
        if not self.built:
            self.build((None,), tuple(packed.shape))
        return packed

    def _next_seed(self) -> tf.Tensor:
        return tf.cast(self.seed_generator.next(), tf.int32)

    def _prototypes(self, packed, class_ids, num_classes) -> tf.Tensor:
        mean, variance = gaussian.unpack_valid(packed)
        return gaussian.pack(
            *gaussian.posterior(
                mean, variance + self.noise_variance, class_ids, num_classes
            )
        )

    def _class_likelihood(self, prototypes) -> tuple[tf.Tensor, tf.Tensor]:
        """Mean and variance of `p(z | y)`: the prototype and its noise."""
        mean, variance = gaussian.unpack(prototypes)
        return mean, variance + self.noise_variance

    def _naive(self, queries, prototypes, num_samples, seed) -> tf.Tensor:
        mean, variance = gaussian.unpack_positive(queries)
        stddev = tf.sqrt(variance)
        classes = gaussian.diagonal_normal(*self._class_likelihood(prototypes))

        def sample_log_prob(index):
            noise = tf.random.stateless_normal(
                tf.shape(mean),
                tf.random.experimental.stateless_fold_in(
                    seed, index, alg="philox"
                ),
                dtype=mean.dtype,
                alg="philox",
            )
            z = mean + stddev * noise
            return tf.nn.log_softmax(classes.log_prob(z[:, None]))

        def add_sample(index, total):
            total = tf.reduce_logsumexp(
                tf.stack([total, sample_log_prob(index)]), axis=0
            )
            return index + 1, total

        _, total = tf.while_loop(
            lambda index, _: index < num_samples,
            add_sample,
            (tf.constant(1), sample_log_prob(tf.constant(0))),
        )
        return total - np.log(num_samples)

    def _intersection(self, queries, targets, prototypes, seed) -> tf.Tensor:
        mean, variance = gaussian.unpack_positive(queries)
        class_mean, class_variance = self._class_likelihood(prototypes)
        target_mean = tf.gather(class_mean, targets)
        target_variance = tf.gather(class_variance, targets)
        overlap = gaussian.diagonal_normal(
            target_mean, target_variance + variance
        ).log_prob(mean)
        product_mean, product_variance = gaussian.product(
            (mean, variance), (target_mean, target_variance)
        )
        noise = tf.random.stateless_normal(
            tf.concat([[self.num_samples], tf.shape(mean)], 0),
            seed,
            dtype=mean.dtype,
            alg="philox",
        )
        z = product_mean + tf.sqrt(product_variance) * noise
        classes = gaussian.diagonal_normal(class_mean, class_variance)
        evidence = tf.reduce_logsumexp(classes.log_prob(z[:, :, None]), -1)
        return (
            overlap
            + tf.reduce_logsumexp(-evidence, 0)
            - np.log(self.num_samples)
        )

    def get_config(self):
        return {
            **super().get_config(),
            "num_support": self.num_support,
            "sampler": self.sampler,
            "num_samples": self.num_samples,
            "initial_noise_variance": self.initial_noise_variance,
            "noise_transform": self.noise_transform,
            "seed": self.seed,
        }


# Shapes are open, so that functions are traced once for all models, shapes and
# calls: mean and variance of queries and of classes, and draws.
OPEN = [tf.TensorSpec((None, None), tf.float64)] * 5


@tf.function(input_signature=OPEN, autograph=False)
def _log_mean_softmax(mean, variance, class_mean, class_variance, noise):
    """Log of the mean over samples of softmax of the classes' densities.

    Args:
        mean: Means of queries, `(queries, dim)`.
        variance: Variances of queries, `(queries, dim)`.
        class_mean: `(classes, dim)`.
        class_variance: `(classes, dim)`, positive.
        noise: Standard normal draws `(num_samples, dim)`, the same for all
            queries.

    Returns:
        `(queries, classes)`.
    """
    stddev = tf.sqrt(variance)
    total = _log_sum_over_samples(
        lambda noise, _: mean + stddev * noise[:, None],
        tf.nn.log_softmax,
        (tf.shape(mean)[0], class_mean, class_variance),
        noise,
    )
    return total - tf.math.log(tf.cast(tf.shape(noise)[0], tf.float64))


@tf.function(
    input_signature=[*OPEN, tf.TensorSpec((), tf.float64)], autograph=False
)
def _log_weighted_softmax(
    mean, variance, class_mean, class_variance, noise, first
):
    """As `_log_mean_softmax`, with samples of intersections, and weights.

    The products of a query's Gaussian with those of all classes, added up, are
    `N(z; query) * sum over c of N(z; c)`. Divided by its integral this is the
    density that samples are drawn from, so that their weights are 1 over the
    sum.

    Args:
        mean: As in `_log_mean_softmax`.
        variance: As in `_log_mean_softmax`.
        class_mean: As in `_log_mean_softmax`.
        class_variance: As in `_log_mean_softmax`.
        noise: As in `_log_mean_softmax`.
        first: In [0, 1): where the regular steps begin that share samples out
            over the products.

    Returns:
        `(queries, classes)`.
    """
    num_samples = tf.cast(tf.shape(noise)[0], tf.float64)
    query = mean[:, None], variance[:, None]
    mass = gaussian.log_density(
        query[0] - class_mean, query[1] + class_variance
    )
    reached = tf.cumsum(tf.nn.softmax(mass), axis=-1)
    product_mean, product_variance = gaussian.product(
        query, (class_mean, class_variance)
    )
    product_stddev = tf.sqrt(product_variance)

    def sample(noise, numbers):
        steps = (tf.cast(numbers, tf.float64) + first) / num_samples
        steps = tf.broadcast_to(
            steps, [tf.shape(mean)[0], tf.shape(numbers)[0]]
        )
        chosen = tf.searchsorted(reached, steps, side="right")
        # Rounding may leave the last class short of 1.
        chosen = tf.minimum(chosen, tf.shape(reached)[1] - 1)
        z = tf.gather(product_mean, chosen, batch_dims=1)
        z += tf.gather(product_stddev, chosen, batch_dims=1) * noise
        return tf.transpose(z, [1, 0, 2])

    def weighted_softmax(log_density):
        evidence = tf.reduce_logsumexp(log_density, axis=-1, keepdims=True)
        return log_density - 2 * evidence

    total = _log_sum_over_samples(
        sample,
        weighted_softmax,
        (tf.shape(mean)[0], class_mean, class_variance),
        noise,
    )
    return tf.nn.log_softmax(total)


def _log_sum_over_samples(sample, log_term, classes, noise):
    """Log of the sum over samples of a function of the classes' densities.

    Args:
        sample: From draws `(block, dim)` and the numbers of samples `(block,)`
            to samples of the queries `(block, queries, dim)`.
        log_term: From log-densities, up to a constant, to the logarithms of
            what is added, both `(block, queries, classes)`.
        classes: The number of queries, `class_mean` and `class_variance`.
        noise: `(num_samples, dim)`.

    Returns:
        `(queries, classes)`.
    """
    num_queries, class_mean, class_variance = classes
    num_samples, dim = tf.unstack(tf.shape(noise))
    floats = num_queries * tf.size(class_mean)
    block = tf.clip_by_value(
        BLOCK_FLOATS // tf.maximum(floats, 1), 1, num_samples
    )
    num_blocks = (num_samples + block - 1) // block
    padding = num_blocks * block - num_samples
    # Blocks have one length, as XLA needs it: samples that fill the last one
    # have no weight.
    noise = tf.reshape(
        tf.pad(noise, [[0, padding], [0, 0]]), [num_blocks, block, dim]
    )
    precision = 1 / class_variance
    log_volume = tf.reduce_sum(tf.math.log(class_variance), axis=-1)

    def add_block(index, total):
        numbers = index * block + tf.range(block)
        z = sample(noise[index], numbers)
        square = tf.math.squared_difference(z[:, :, None], class_mean)
        exponent = tf.reduce_sum(square * precision, axis=-1) + log_volume
        terms = log_term(-exponent / 2)
        is_sample = (numbers < num_samples)[:, None, None]
        terms = tf.where(is_sample, terms, -np.inf)
        total = tf.concat([total[None], terms], axis=0)
        return index + 1, tf.reduce_logsumexp(total, axis=0)

    start = tf.fill([num_queries, tf.shape(class_mean)[0]], -np.inf)
    _, total = tf.while_loop(
        lambda index, _: index < num_blocks,
        add_block,
        (tf.constant(0), tf.cast(start, tf.float64)),
        parallel_iterations=1,
    )
    return total
