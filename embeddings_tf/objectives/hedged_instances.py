"""Hedged instance embeddings: the objective."""

import keras
import numpy as np
import tensorflow as tf

from embeddings_tf.objectives.embedding_objective import EmbeddingObjective
from embeddings_tf.ops import gaussian
from embeddings_tf.ops import prototypes
from embeddings_tf.ops.arguments import LARGEST_NUMBER
from embeddings_tf.ops.arguments import number_at_least
from embeddings_tf.ops.arguments import one_of
from embeddings_tf.ops.arguments import positive_integer
from embeddings_tf.ops.arguments import random_seed
from embeddings_tf.ops.distances import RESOLUTION
from embeddings_tf.ops.distances import square_root
from embeddings_tf.ops.episode import mean_over_queries
from embeddings_tf.ops.global_batch import gather_global_batch
from embeddings_tf.ops.labelled_batch import labelled_batch
from embeddings_tf.ops.labelled_batch import real_matrix
from embeddings_tf.ops.pairs import mean_over
from embeddings_tf.ops.pairs import positive_and_negative
from embeddings_tf.ops.prototypes import require_support
from embeddings_tf.ops.seed_pair import seed_pair

# Samples of both sides, scale and offset. Shapes are open, so that a function
# is traced once for all models, shapes and calls.
SAMPLES = [
    *[tf.TensorSpec((None, None, None), tf.float64)] * 2,
    *[tf.TensorSpec((), tf.float64)] * 2,
]


@keras.saving.register_keras_serializable(package="embeddings_tf")
class HedgedInstances(EmbeddingObjective):
    """Gaussian embeddings and the probability that two inputs match.

    Use it for pairs of inputs that may be unclear: an unclear input gets a
    wide Gaussian. For classes with several examples each,
    `StochasticPrototypes` needs fewer samples and has no constant to choose.
    Join it to an encoder that ends in
    `GaussianEmbedding` with `embeddings_tf.models.EmbeddingModel`, and feed
    batches of several classes with several rows each
    (`embeddings_tf.sampling.class_balanced_batches`).

    Formula, with `a > 0` and `b` trained (`scale` and `offset`) and K samples
    z of each row's Gaussian:

    ```
    p(match | z_1, z_2) = sigmoid(b - a ||z_1 - z_2||)
    p(match | x_1, x_2) = mean of this over the K x K pairs of samples
    v = 1/2 mean over positive pairs of -ln p(match)
      + 1/2 mean over negative pairs of -ln(1 - p(match))
      + 2 beta mean over rows of KL(N(mean, variance) || N(0, I))
    ```

    Pairs are all pairs of two rows of the batch, positive if of one class.
    Both kinds have one half of the weight, as if half of the pairs had been
    drawn from each; a pair pays for the Gaussians of both of its rows, hence
    the 2. Where a batch has no pair of a kind (one class; no two rows of one
    class), that half is 0, with gradients of 0.

    `beta` limits what an embedding can tell about its input. Without it the
    Gaussians shrink to points; with a large one all inputs get the same
    Gaussian.

    `average="loss"` takes the mean of `-ln p(match | z_1, z_2)` instead of
    the logarithm of the mean: the bound of the variational information
    bottleneck. It is never below the other, equal for points, and rewards
    narrow Gaussians.

    Rows that coincide, and samples that do (closer than 1e-7 of their
    distance from the middle of the batch), have a distance of 0 whose
    gradient is 0. Variances below 1e-37 count as 1e-37 in the divergence, so
    that points have finite values. A negative variance, which no Gaussian has,
    makes the value NaN. Under `tf.distribute` pairs are those of
    the global batch and the samples are drawn for it, the same on every
    replica.

    Args:
        num_samples: K, samples per row. Time grows with its square, memory
            does not: it is that of a few times `batch * batch` floats.
        beta: Weight of the divergence, 0 to 1e18. The value of the paper for
            digits; the right one depends on the data (1e-6 to 1e-2).
        average: `"probability"` or `"loss"`.
        seed: Seed of the training samples; None: from Keras's global seed.

    Attributes:
        scale: `a`, a scalar above 0. Starts at 1.
        offset: `b`, a scalar. Starts at 0.

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
        - [Oh et al., 2019](https://arxiv.org/abs/1810.00319). How pairs are
          weighted, and how a stays above 0 (softplus), are choices made here.

    Example:

    >>> objective = embeddings_tf.objectives.HedgedInstances()
    >>> here, there = [0, 0, 1e-8, 1e-8], [3, 4, 1e-8, 1e-8]
    >>> log_p = objective.match_log_probability([here], [here, there], seed=0)
    >>> np.exp(log_p).round(3)
    array([[0.5  , 0.007]], dtype=float32)
    """

    is_gaussian = True
    signatures = ("classify", "score_pairs")

    def __init__(
        self,
        num_samples: int = 8,
        beta: float = 1e-4,
        *,
        average: str = "probability",
        seed: int | None = None,
        dtype="float32",
        **kwargs,
    ):
        super().__init__(dtype=dtype, **kwargs)
        self.num_samples = positive_integer("num_samples", num_samples)
        self.beta = number_at_least("beta", beta, 0, LARGEST_NUMBER)
        self.average = one_of("average", average, ("probability", "loss"))
        self.seed = seed = None if seed is None else random_seed("seed", seed)
        self.seed_generator = keras.random.SeedGenerator(seed)
        # They do not depend on the embeddings, so methods work before build.
        self.raw_scale = self.add_weight(
            name="raw_scale",
            shape=(),
            initializer=keras.initializers.Constant(np.log(np.expm1(1.0))),
        )
        self.offset = self.add_weight(
            name="offset", shape=(), initializer="zeros"
        )

    @property
    def scale(self) -> tf.Tensor:
        """The trainable `a`, how fast a match fades with distance; above 0."""
        return tf.nn.softplus(tf.convert_to_tensor(self.raw_scale))

    def build(self, y_true_shape, y_pred_shape):
        width = y_pred_shape[-1]
        if width is None or width % 2:
            raise ValueError(
                "HedgedInstances reads packed Gaussians (batch, 2 * dim); "
                f"received embeddings of shape {tuple(y_pred_shape)}. Let the "
                "encoder end in GaussianEmbedding(dim)."
            )

    def call(self, y_true, y_pred):
        labels, local = labelled_batch(y_true, y_pred)
        labels, packed = gather_global_batch(labels, local)
        mean, variance = gaussian.unpack_positive(packed)
        positive, negative = positive_and_negative(labels)
        z = _samples(mean, variance, self.num_samples, self._seed(None))
        sign = 2 * tf.cast(positive, z.dtype) - 1
        cost = -_log_average(
            z,
            z,
            self.scale,
            tf.convert_to_tensor(self.offset),
            sign,
            self.average == "probability",
        )
        value = (mean_over(positive, cost) + mean_over(negative, cost)) / 2
        if self.beta:
            # Squares of embeddings beyond 1e19 leave float32.
            divergence = gaussian.kl_to_standard_normal(
                tf.cast(mean, tf.float64), tf.cast(variance, tf.float64)
            )
            divergence = 2 * self.beta * mean_over_queries(divergence)
            value += tf.cast(divergence, value.dtype)
        return tf.fill(tf.shape(local)[:1], value)

    def match_log_probability(
        self, packed_first, packed_second, num_samples=None, seed=None
    ) -> tf.Tensor:
        """Log-probability that each row of one set matches each of another.

        1 minus the probability that a row matches itself tells how unclear
        it is. With a seed it is a score for `metrics.score_all_pairs`. All
        rows of a set share one set of standard normal draws, scaled by each
        row's own variance. The answer for a pair therefore depends on the
        seed, not on the other rows. Probabilities are computed in float64:
        every finite embedding has a finite log-probability.

        Args:
            packed_first: `(first, 2 * dim)`.
            packed_second: `(second, 2 * dim)`.
            num_samples: Samples of each row; None: as many as in training.
            seed: int or int32 `(2,)`, for a repeatable answer. None: a new
                one each time.

        Returns:
            `(first, second)`. Memory is a few times `first * second` floats,
            for any number of samples.
        """
        first, second = self._samples_of_both(
            packed_first, packed_second, num_samples, seed
        )
        return self._finite(
            _log_match(first, second, *self._scale_and_offset())
        )

    def match_logit(
        self, packed_first, packed_second, num_samples=None, seed=None
    ) -> tf.Tensor:
        """ln(p / (1 - p)) of the match of two sets of rows, row by row.

        Args:
            packed_first: `(n, 2 * dim)`.
            packed_second: `(n, 2 * dim)`.
            num_samples: As in `match_log_probability`.
            seed: As in `match_log_probability`.

        Returns:
            `(n,)`.
        """
        first, second = self._samples_of_both(
            packed_first, packed_second, num_samples, seed
        )
        if not first.shape[1:2].is_compatible_with(second.shape[1:2]):
            raise ValueError(
                "Pairs are compared row by row; received "
                f"{first.shape[1]} and {second.shape[1]} rows. For all pairs "
                "take match_log_probability."
            )
        scale, offset = self._scale_and_offset()
        square = tf.math.squared_difference(first[:, None], second)
        logit = offset - scale * square_root(tf.reduce_sum(square, axis=-1))
        # The logarithms of the two means, except for the number of samples.
        return self._finite(
            tf.reduce_logsumexp(tf.math.log_sigmoid(logit), axis=(0, 1))
            - tf.reduce_logsumexp(tf.math.log_sigmoid(-logit), axis=(0, 1))
        )

    def score_pairs(
        self, packed_first, packed_second, num_samples=None, seed=None
    ) -> tf.Tensor:
        """Log-likelihood ratio of a match, row by row: `match_logit`."""
        return self.match_logit(packed_first, packed_second, num_samples, seed)

    def score_all_pairs(
        self, packed_first, packed_second, num_samples=None, seed=None
    ) -> tf.Tensor:
        """`match_logit` of each row of one set with each of another.

        Args:
            packed_first: `(first, 2 * dim)`.
            packed_second: `(second, 2 * dim)`.
            num_samples: As in `match_log_probability`.
            seed: As in `match_log_probability`.

        Returns:
            `(first, second)`. Memory as in `match_log_probability`, time twice
            as long.
        """
        return self._finite(
            self._all_logits(packed_first, packed_second, num_samples, seed)
        )

    def _all_logits(self, packed_first, packed_second, num_samples, seed):
        first, second = self._samples_of_both(
            packed_first, packed_second, num_samples, seed
        )
        scale, offset = self._scale_and_offset()
        # Both logarithms: near 1 a probability says little about its rest.
        return _log_match(first, second, scale, offset) - _log_no_match(
            first, second, scale, offset
        )

    def represent(self, packed, class_ids, num_classes) -> tuple:
        """Represents classes in few-shot use by all of their supports.

        Returns:
            The arguments of `log_prob` after the queries: the supports, their
            classes in `[0, num_classes)`, and the number of classes.
        """
        return prototypes.all_supports(packed, class_ids, num_classes)

    def log_prob(
        self,
        packed_queries,
        packed_supports,
        support_labels,
        num_classes,
        num_samples=None,
        seed=None,
    ) -> tf.Tensor:
        """Log-probability of every class for every query.

        The most probable class is the class of the best matching support, the
        nearest neighbour by `match_log_probability`:

        ```
        p(y | x) = max over supports i of y of p(match | x, x_i)
                   / sum over classes c of the same
        ```

        Args:
            packed_queries: `(queries, 2 * dim)`.
            packed_supports: `(supports, 2 * dim)`.
            support_labels: `(supports,)` in `[0, num_classes)`, each class at
                least once.
            num_classes: Number of classes.
            num_samples: As in `match_log_probability`.
            seed: As in `match_log_probability`.

        Returns:
            `(queries, classes)`.

        Raises:
            ValueError: If a class has no support (in a graph:
                `tf.errors.InvalidArgumentError`).
        """
        labels, packed_supports = labelled_batch(
            support_labels, packed_supports
        )
        labels = require_support(labels, num_classes)
        log_match = self.match_log_probability(
            packed_queries, packed_supports, num_samples, seed
        )
        best = tf.math.unsorted_segment_max(
            tf.transpose(log_match), labels, num_classes
        )
        return tf.nn.log_softmax(tf.transpose(best))

    def log_evidence(
        self,
        packed_queries,
        packed_supports,
        support_labels,
        num_classes,
        num_samples=None,
        seed=None,
    ) -> tf.Tensor:
        """Log-likelihood ratio that a query is of any class, against none.

        The classes are equally likely; each answers by the support that
        matches best.

        ```
        ln mean over classes y of max over supports i of y of
            p(match | x, x_i) / (1 - p(match | x, x_i))
        ```

        Args:
            packed_queries: `(queries, 2 * dim)`.
            packed_supports: As in `log_prob`.
            support_labels: As in `log_prob`.
            num_classes: Number of classes.
            num_samples: As in `match_log_probability`.
            seed: As in `match_log_probability`.

        Returns:
            `(queries,)`.

        Raises:
            ValueError: As `log_prob`.
        """
        labels = require_support(support_labels, num_classes)
        logits = self._all_logits(
            packed_queries, packed_supports, num_samples, seed
        )
        best = tf.math.unsorted_segment_max(
            tf.transpose(logits), labels, num_classes
        )
        return self._finite(prototypes.log_mean_exp(tf.transpose(best)))

    def diagnostics(self) -> dict:
        """The learned `scale` and `offset`."""
        return {"scale": self.scale, "offset": self.offset}

    def _samples_of_both(self, first, second, num_samples, seed):
        """Samples of two sets in float64, each set with draws of its own."""
        if num_samples is None:
            num_samples = self.num_samples
        num_samples = positive_integer("num_samples", num_samples)
        seed, samples = self._seed(seed), []
        sides = [
            real_matrix("Gaussians", packed, self.compute_dtype)
            for packed in (first, second)
        ]
        moments = [gaussian.unpack(packed) for packed in sides]
        gaussian.require_one_dim(*sides)
        for side, (mean, variance) in enumerate(moments):
            noise = gaussian.standard_normal(
                num_samples,
                mean.shape[-1],
                tf.random.experimental.stateless_fold_in(
                    seed, side, alg="philox"
                ),
                mean.dtype,
            )
            mean, variance, noise = (
                tf.cast(tensor, tf.float64)
                for tensor in (mean, variance, noise)
            )
            samples.append(mean + square_root(variance) * noise[:, None])
        return samples

    def _scale_and_offset(self) -> tuple[tf.Tensor, tf.Tensor]:
        scale, offset = self.scale, tf.convert_to_tensor(self.offset)
        return tf.cast(scale, tf.float64), tf.cast(offset, tf.float64)

    def _finite(self, values) -> tf.Tensor:
        """Values of float64 in the dtype of the objective, not infinite."""
        return prototypes.finite(values, tf.as_dtype(self.compute_dtype))

    def _seed(self, seed) -> tf.Tensor:
        if seed is None:
            return tf.cast(self.seed_generator.next(), tf.int32)
        return seed_pair(seed, True)

    def get_config(self):
        return {
            **super().get_config(),
            "num_samples": self.num_samples,
            "beta": self.beta,
            "average": self.average,
            "seed": self.seed,
        }


def _samples(mean, variance, num_samples, seed) -> tf.Tensor:
    """Samples of each row's Gaussian, `(num_samples, rows, dim)`."""
    noise = tf.random.stateless_normal(
        tf.concat([[num_samples], tf.shape(mean)], 0),
        seed,
        dtype=mean.dtype,
        alg="philox",
    )
    return mean + square_root(variance) * noise


@tf.function(input_signature=SAMPLES, autograph=False)
def _log_match(first, second, scale, offset) -> tf.Tensor:
    """Log of the mean probability of a match, see `_log_average`."""
    sign = tf.ones((tf.shape(first)[1], tf.shape(second)[1]), first.dtype)
    return _log_average(first, second, scale, offset, sign, True)


@tf.function(input_signature=SAMPLES, autograph=False)
def _log_no_match(first, second, scale, offset) -> tf.Tensor:
    """Log of the mean probability of no match, see `_log_average`."""
    sign = -tf.ones((tf.shape(first)[1], tf.shape(second)[1]), first.dtype)
    return _log_average(first, second, scale, offset, sign, True)


def _log_average(first, second, scale, offset, sign, of_probability):
    """Log of the mean probability, or mean log-probability, of an outcome.

    The outcome of rows i and j is a match where `sign[i, j]` is 1 and none
    where it is -1; both have the probability sigmoid(sign * logit).

    Goes through pairs of samples one at a time, and once more for the
    gradient, so that memory does not depend on their number.

    Args:
        first: `(num_samples, n, dim)`.
        second: `(num_samples, m, dim)`.
        scale, offset: Scalars.
        sign: `(n, m)`.
        of_probability: Whether it is the log of the mean.

    Returns:
        `(n, m)`.
    """
    num_samples = first.shape[0]
    if num_samples is None:
        num_samples = tf.shape(first)[0]
    num_pairs = num_samples * num_samples
    dtype = first.dtype
    # Distances do not change, and close points keep their digits.
    middle = tf.stop_gradient(tf.reduce_mean(first, axis=(0, 1)))
    # An empty batch has no mean; use 0.
    middle = tf.math.multiply_no_nan(middle, tf.cast(tf.size(first) > 0, dtype))

    def loop(step, *start):
        """`step(i, j, *sums) -> sums` for all pairs of samples."""
        return tf.while_loop(
            lambda pair, *_: pair < num_pairs,
            lambda pair, *sums: (
                pair + 1,
                *step(pair // num_samples, pair % num_samples, *sums),
            ),
            (tf.constant(0), *start),
            parallel_iterations=1,
        )[1:]

    @tf.custom_gradient
    def log_average(first, second, scale, offset):
        def logits(i, j):
            """Two samples in float64, their distances, and signed logits."""
            a, b = (tf.cast(z, tf.float64) for z in (first[i], second[j]))
            norms = tf.reduce_sum(a * a, -1)[:, None] + tf.reduce_sum(b * b, -1)
            square = norms - 2 * tf.matmul(a, b, transpose_b=True)
            coincide = square <= RESOLUTION * norms
            square = tf.where(coincide, tf.zeros_like(square), square)
            distance = tf.cast(tf.sqrt(square), dtype)
            return a, b, distance, sign * (offset - scale * distance)

        def add(i, j, total):
            log_p = tf.math.log_sigmoid(logits(i, j)[-1])
            if not of_probability:
                return (total + log_p,)
            larger = tf.maximum(total, log_p)
            smaller = tf.minimum(total, log_p)
            return (larger + tf.math.log1p(tf.exp(smaller - larger)),)

        start = tf.zeros_like(sign) + (-np.inf if of_probability else 0.0)
        (total,) = loop(add, start)

        def gradient(upstream):
            def add_gradient(i, j, by_first, by_second, by_scale, by_offset):
                a, b, distance, logit = logits(i, j)
                share = 1 / tf.cast(num_pairs, dtype)
                if of_probability:
                    share = tf.exp(tf.math.log_sigmoid(logit) - total)
                by_logit = upstream * share * sign * tf.sigmoid(-logit)
                by_square = tf.cast(
                    tf.math.divide_no_nan(-scale * by_logit, distance),
                    tf.float64,
                )
                of_a = tf.reduce_sum(by_square, 1)[:, None] * a - tf.matmul(
                    by_square, b
                )
                of_b = tf.reduce_sum(by_square, 0)[:, None] * b - tf.matmul(
                    by_square, a, transpose_a=True
                )
                # A scatter fails without rows.
                i, j = tf.unstack(
                    tf.one_hot([i, j], num_samples, dtype=tf.float64)
                )
                return (
                    by_first + i[:, None, None] * of_a,
                    by_second + j[:, None, None] * of_b,
                    by_scale - tf.reduce_sum(by_logit * distance),
                    by_offset + tf.reduce_sum(by_logit),
                )

            sums = loop(
                add_gradient,
                tf.zeros_like(first, tf.float64),
                tf.zeros_like(second, tf.float64),
                tf.zeros_like(scale),
                tf.zeros_like(offset),
            )
            return [tf.cast(total, dtype) for total in sums]

        if of_probability:
            return total - tf.math.log(tf.cast(num_pairs, dtype)), gradient
        return total / tf.cast(num_pairs, dtype), gradient

    return log_average(first - middle, second - middle, scale, offset)
