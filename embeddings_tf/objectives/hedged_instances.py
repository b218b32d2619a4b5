"""Hedged instance embeddings: the objective."""

import keras
import tensorflow as tf

from embeddings_tf.objectives.match_objective import MatchObjective
from embeddings_tf.ops import gaussian
from embeddings_tf.ops import match_probability
from embeddings_tf.ops.arguments import LARGEST_NUMBER
from embeddings_tf.ops.arguments import number_at_least
from embeddings_tf.ops.arguments import one_of
from embeddings_tf.ops.arguments import optional_seed
from embeddings_tf.ops.arguments import positive_integer
from embeddings_tf.ops.global_batch import gather_global_batch
from embeddings_tf.ops.labelled_batch import labelled_batch
from embeddings_tf.ops.sigmoid_means import LARGEST_NUM_SAMPLES


@keras.saving.register_keras_serializable(package="embeddings_tf")
class HedgedInstances(MatchObjective):
    """Trains Gaussian embeddings and the probability that two inputs match.

    Use it for pairs of inputs that may be unclear: an unclear input gets a
    wide Gaussian. For classes with several examples each,
    `StochasticPrototypes` needs fewer samples and has no constant to choose.
    Combine it with an encoder that ends in `GaussianEmbedding` in
    `embeddings_tf.models.EmbeddingModel`, and feed batches of several classes
    with several rows each (`embeddings_tf.sampling.class_balanced_batches`).

    Formula, with `a > 0` and `b` trained (`scale` and `offset`) and K samples
    z of each row's Gaussian:

    ```
    p(match | z_1, z_2) = sigmoid(b - a ||z_1 - z_2||)
    p(match | x_1, x_2) = mean of this over the K x K pairs of samples
    v = 1/2 mean over positive pairs of -ln p(match)
      + 1/2 mean over negative pairs of -ln(1 - p(match))
      + 2 beta mean over rows of KL(N(mean, variance) || N(0, I))
    ```

    Pairs are all pairs of two rows of the batch. A pair is positive if both
    rows have the same class. If the batch has no pairs of one kind, that half
    is 0. Under `tf.distribute`, the pairs are all pairs of the global batch.
    `docs/hedged_instances.md` describes equal rows and variances of 0.

    Args:
        num_samples: K, samples per row, at most 46,340. Time grows with K^2.
            Memory is a few times `batch * batch` floats, tens of MiB for a
            small batch, and a few times the samples.
        beta: Weight of the divergence, 0 to 1e18. With 0 the Gaussians shrink
            to points; with a large weight all inputs get the same Gaussian.
            The default is ours; try 1e-6 to 1e-2.
        average: `"probability"`, as above, or `"loss"`, the mean of
            `-ln p(match | z_1, z_2)`: the variational bound, which rewards
            narrow Gaussians.
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
        ValueError: If an argument is not as described, if the last axis of
            `y_pred` has an odd size, or if a class of a method's labels has no
            support.

    Reference:
        - [Oh et al., 2019](https://arxiv.org/abs/1810.00319). The weights of
          pairs and the softplus that keeps `a` above 0 are choices of this
          library.

    Example:

    >>> objective = embeddings_tf.objectives.HedgedInstances()
    >>> here, there = [0, 0, 1e-8, 1e-8], [3, 4, 1e-8, 1e-8]
    >>> log_p = objective.match_log_probability([here], [here, there], seed=0)
    >>> np.exp(log_p).round(3)
    array([[0.5  , 0.007]], dtype=float32)
    """

    is_gaussian = True

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
        self.num_samples = _checked_num_samples(num_samples)
        self.beta = number_at_least("beta", beta, 0, LARGEST_NUMBER)
        self.has_divergence = self.beta > 0
        self.average = one_of("average", average, ("probability", "loss"))
        self.seed = seed = optional_seed("seed", seed)
        self.seed_generator = keras.random.SeedGenerator(seed)

    def build(self, y_true_shape, y_pred_shape):
        gaussian.dim_of("HedgedInstances", y_pred_shape)

    def call(self, y_true, y_pred):
        labels, local = labelled_batch(y_true, y_pred)
        labels, packed = gather_global_batch(labels, local)
        mean, variance = gaussian.unpack_positive(packed)
        samples = match_probability.samples_of_rows(
            mean, variance, self.num_samples, self._next_seed()
        )
        value = match_probability.match_loss(
            labels,
            samples,
            *self._weights(local.dtype),
            self.average == "probability",
        )
        if self.beta:
            weight = 2 * self.beta
            value += gaussian.weighted_divergence(mean, variance, weight)
        return tf.fill(tf.shape(local)[:1], value)

    def match_log_probability(
        self, first, second, num_samples=None, seed=None
    ) -> tf.Tensor:
        """Log-probability that each row of one set matches each row of another.

        1 minus the probability that a row matches itself measures how unclear
        the input is. The result of a pair depends on the seed, but not on other
        rows, except that samples closer than 1e-7 of their distance from the
        middle of `second` count as equal. Every finite embedding has a finite
        log-probability.

        Args:
            first: Packed Gaussians `(n, 2 * dim)`.
            second: Packed Gaussians `(m, 2 * dim)`.
            num_samples: Samples of each row; None: as many as in training.
            seed: int or int32 `(2,)`, for a repeatable result. None: a new
                seed in each call.

        Returns:
            `(n, m)`. Memory is a few times `n * m` floats, plus a few times
            the samples of all rows.
        """
        pair = self._samples_and_weights(first, second, num_samples, seed)
        return self._finite(match_probability.log_match(*pair))

    def score_pairs(
        self, first, second, num_samples=None, seed=None
    ) -> tf.Tensor:
        """Log-likelihood ratio of a match, row by row: `ln(p / (1 - p))`.

        Two sets `(n, 2 * dim)` give `(n,)`. `num_samples` and `seed` are as in
        `match_log_probability`. Memory is a few times the samples of all rows.
        """
        return self._score_pairs(first, second, num_samples, seed)

    def score_all_pairs(
        self, first, second, num_samples=None, seed=None
    ) -> tf.Tensor:
        """`score_pairs` of each row of one set with each row of another.

        Arguments, shapes and memory are as in `match_log_probability`.
        """
        return self._score_all_pairs(first, second, num_samples, seed)

    def represent(self, embeddings, class_ids, num_classes) -> tuple:
        """Represents classes by all of their supports, packed Gaussians.

        Returns:
            The arguments of `log_prob` after the queries: the supports, their
            classes in `[0, num_classes)`, and the number of classes.
        """
        gaussian.unpack(embeddings)  # refuses points of an odd width
        return super().represent(embeddings, class_ids, num_classes)

    def log_prob(
        self,
        queries,
        supports,
        class_ids,
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
            queries: `(queries, 2 * dim)`.
            supports: `(supports, 2 * dim)`.
            class_ids: `(supports,)` in `[0, num_classes)`, each class at
                least once.
            num_classes: Number of classes.
            num_samples, seed: As in `match_log_probability`.

        Returns:
            `(queries, classes)`.

        Raises:
            ValueError: If a class has no support (in a graph:
                `tf.errors.InvalidArgumentError`).
        """
        classes = supports, class_ids, num_classes
        return self._log_prob(queries, *classes, num_samples, seed)

    def log_evidence(
        self,
        queries,
        supports,
        class_ids,
        num_classes,
        num_samples=None,
        seed=None,
    ) -> tf.Tensor:
        """Log-likelihood ratio: the query is in any class, versus in none.

        The classes are equally likely. The score of a class is the score of
        its best matching support.

        ```
        ln mean over classes y of max over supports i of y of
            p(match | x, x_i) / (1 - p(match | x, x_i))
        ```

        Args:
            queries: `(queries, 2 * dim)`.
            supports, class_ids, num_classes: As in `log_prob`.
            num_samples, seed: As in `match_log_probability`.

        Returns:
            `(queries,)`.
        """
        classes = supports, class_ids, num_classes
        return self._log_evidence(queries, *classes, num_samples, seed)

    def _samples_and_weights(self, first, second, num_samples, seed) -> tuple:
        """Samples of two sets, scale and offset, all in float64."""
        if num_samples is None:
            num_samples = self.num_samples
        num_samples = _checked_num_samples(num_samples)
        if seed is None:
            seed = self._next_seed()
        samples = match_probability.samples_of_sets(
            first, second, num_samples, seed, self.compute_dtype
        )
        return *samples, *self._weights(tf.float64)

    def get_config(self):
        return {
            **super().get_config(),
            "num_samples": self.num_samples,
            "beta": self.beta,
            "average": self.average,
            "seed": self.seed,
        }


def _checked_num_samples(value) -> int:
    num_samples = positive_integer("num_samples", value)
    if num_samples > LARGEST_NUM_SAMPLES:
        raise ValueError(
            f"`num_samples` must be at most {LARGEST_NUM_SAMPLES}, because all "
            f"pairs of samples are compared; received {num_samples}."
        )
    return num_samples
