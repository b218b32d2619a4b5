"""Stochastic prototypes with full covariance, in a plane: the objective."""

import keras
import numpy as np
import tensorflow as tf

from embeddings_tf.objectives.episodic_objective import EpisodicObjective
from embeddings_tf.ops import gaussian
from embeddings_tf.ops import plane_gaussian
from embeddings_tf.ops.arguments import optional_seed
from embeddings_tf.ops.arguments import positive_integer
from embeddings_tf.ops.episode import split_episode
from embeddings_tf.ops.global_batch import gather_global_batch
from embeddings_tf.ops.labelled_batch import labelled_batch
from embeddings_tf.ops.numerics import finite
from embeddings_tf.ops.numerics import log_mean_exp
from embeddings_tf.ops.numerics import mean_or_zero
from embeddings_tf.ops.positive_weight import inverse
from embeddings_tf.ops.prototypes import require_support
from embeddings_tf.ops.tensors import real_matrix
from embeddings_tf.ops.tensors import rows_of_one_length


@keras.saving.register_keras_serializable(package="embeddings_tf")
class FullCovariancePrototypes(EpisodicObjective):
    """Stochastic prototypes in a plane, whose Gaussians have full covariance.

    Use it to draw inputs in a plane with ellipses that may tilt. In more
    dimensions, and if axes should mean something, use `StochasticPrototypes`,
    whose covariance is diagonal. Join it to an encoder of points of width 5,
    such as one that ends in `keras.layers.Dense(5)`: mean, raw variances and
    raw correlation.

    Formula, with supports `S_y` and `s^2 = noise_variance`; the variances in
    `C_x` are a softplus and the correlation is 0.999 times a hyperbolic
    tangent:

    ```
    p(z | x)  = N(z; mu_x, C_x)
    C_y       = inverse(sum over S_y of inverse(C_i + s^2 I))
    mu_y      = C_y sum over S_y of inverse(C_i + s^2 I) mu_i
    p(y | z)  = N(z; mu_y, C_y + s^2 I) / sum over c of the same
    v         = -mean over queries of ln E over z ~ p(z | x) of p(y | z)
    ```

    Training draws samples from the normalised product of a query and its
    class, as the intersection sampler of `StochasticPrototypes` does;
    `log_prob` averages over samples of the query. All is computed in float64.
    Batches are episodes, as for `StochasticPrototypes`.

    Args:
        num_support: Supports per class, at least 1.
        num_samples: Samples per query in training.
        seed: Seed of the training samples; None: from Keras's global seed.

    Attributes:
        noise_variance: The trainable variance of a class around its
            prototype, a scalar. Starts at `num_support * 0.01`.

    Call arguments:
        y_true: Class ids `(batch,)`, any integers.
        y_pred: Embeddings `(batch, 5)`.

    Returns:
        `(batch,)`, float32, `v` in every entry.

    Raises:
        ValueError: If an argument is not valid, the embeddings have another
            width, or a class has no support.

    Reference:
        - [Scott, Ridgeway & Mozer, 2019](https://arxiv.org/abs/1909.11702),
          Appendix C, which mentions the variant and gives no formulas.

    Example:

    >>> objective = embeddings_tf.objectives.FullCovariancePrototypes(1)
    >>> support = np.array([[2, 3, 0.5, 0.5, -1]], "float32")
    >>> objective.represent(support, [0], 1).numpy()[0, :2]
    array([2., 3.], dtype=float32)
    """

    signatures = ("classify",)

    def __init__(
        self,
        num_support: int,
        num_samples: int = 1,
        *,
        seed: int | None = None,
        dtype="float32",
        **kwargs,
    ):
        super().__init__(dtype=dtype, **kwargs)
        self.num_support = positive_integer("num_support", num_support)
        self.num_samples = positive_integer("num_samples", num_samples)
        self.seed = seed = optional_seed("seed", seed)
        self.seed_generator = keras.random.SeedGenerator(seed)
        # It does not depend on the embeddings, so methods work before build.
        raw = inverse("softplus", self.num_support * 0.01)
        self.raw_noise_variance = self.add_weight(
            name="raw_noise_variance",
            shape=(),
            initializer=keras.initializers.Constant(raw),
        )

    def build(self, y_true_shape, y_pred_shape):
        _require_width(y_pred_shape)

    @property
    def noise_variance(self) -> tf.Tensor:
        """The trainable variance of a class around its prototype, scalar."""
        return tf.nn.softplus(tf.convert_to_tensor(self.raw_noise_variance))

    def call(self, y_true, y_pred):
        labels, local = labelled_batch(y_true, y_pred)
        labels, features = gather_global_batch(labels, local)
        episode = split_episode(labels, self.num_support)
        packed = plane_gaussian.from_features(features)
        classes = self._prototypes(
            episode.supports(packed),
            episode.supports(episode.class_ids),
            episode.num_classes,
        )
        log_prob = self._target_log_prob(
            episode.queries(packed),
            episode.queries(episode.class_ids),
            self._likelihood(classes),
        )
        value = finite(mean_or_zero(-log_prob), local.dtype)
        return tf.fill(tf.shape(local)[:1], value)

    def points(self, embeddings) -> tf.Tensor:
        """The means `(n, 2)`."""
        return plane_gaussian.mean(self._features(embeddings))

    def variances(self, embeddings) -> tf.Tensor:
        """The predicted variances `(n, 2)`, without the covariance."""
        features = self._features(embeddings)
        packed = plane_gaussian.from_features(features)
        return finite(packed[:, 2:4], features.dtype)

    def represent(self, embeddings, class_ids, num_classes) -> tf.Tensor:
        """Posterior of each class's prototype given its supports.

        Args:
            embeddings: Supports `(n, 5)`.
            class_ids: `(n,)` in `[0, num_classes)`, each class at least once.
            num_classes: Number of classes.

        Returns:
            `(num_classes, 5)`: mean, two variances and the covariance, without
            `noise_variance`.
        """
        features = self._features(embeddings)
        class_ids, features = labelled_batch(class_ids, features)
        class_ids = require_support(class_ids, num_classes)
        packed = plane_gaussian.from_features(features)
        found = self._prototypes(packed, class_ids, num_classes)
        return finite(found, features.dtype)

    def log_prob(
        self, queries, prototypes, num_samples=200, seed=None
    ) -> tf.Tensor:
        """Log-probability `(queries, classes)` of every class.

        The answer to a query does not depend on the other queries.

        Args:
            queries: `(queries, 5)`.
            prototypes: `(classes, 5)` from `represent`; `noise_variance` is
                added here.
            num_samples: Samples per query.
            seed: int or int32 `(2,)`; None: a new one each time.
        """
        num_samples = positive_integer("num_samples", num_samples)
        features = self._features(queries)
        if seed is None:
            seed = self._next_seed()
        noise = gaussian.standard_normal(num_samples, 2, seed, features.dtype)
        log_prob = plane_gaussian.log_mean_softmax(
            plane_gaussian.from_features(features),
            self._likelihood(self._features(prototypes)),
            tf.cast(noise, tf.float64),
        )
        return finite(log_prob, features.dtype)

    def log_evidence(self, queries, prototypes) -> tf.Tensor:
        """Log-density of every query under the classes, equally likely."""
        features = self._features(queries)
        packed = plane_gaussian.from_features(features)
        classes = self._likelihood(self._features(prototypes))
        apart = plane_gaussian.difference(packed[:, None], classes)
        density = plane_gaussian.log_density(apart)
        return finite(log_mean_exp(density), features.dtype)

    def score_pairs(self, first, second) -> tf.Tensor:
        """Log-density of one row given a class with one support, row by row.

        Equals `log_evidence` of `first` under one class whose only support is
        `second`: a log-density, not a likelihood ratio. Sets `(n, 5)` give
        `(n,)`.
        """
        first, second = map(self._features, (first, second))
        first, second = rows_of_one_length(first, second)
        apart = plane_gaussian.difference(
            *map(plane_gaussian.from_features, (first, second))
        )
        noise = tf.cast(self.noise_variance, apart.dtype)
        apart = plane_gaussian.add_variance(apart, 2 * noise)
        return finite(plane_gaussian.log_density(apart), first.dtype)

    def diagnostics(self) -> dict:
        """The learned `noise_variance`."""
        return {"noise_variance": self.noise_variance}

    def _features(self, embeddings) -> tf.Tensor:
        embeddings = real_matrix("Embeddings", embeddings, self.compute_dtype)
        _require_width(embeddings.shape)
        return embeddings

    def _prototypes(self, packed, class_ids, num_classes) -> tf.Tensor:
        noise = tf.cast(self.noise_variance, packed.dtype)
        packed = plane_gaussian.add_variance(packed, noise)
        return plane_gaussian.posterior(packed, class_ids, num_classes)

    def _likelihood(self, prototypes) -> tf.Tensor:
        prototypes = tf.cast(prototypes, tf.float64)
        noise = tf.cast(self.noise_variance, prototypes.dtype)
        return plane_gaussian.add_variance(prototypes, noise)

    def _target_log_prob(self, queries, targets, classes) -> tf.Tensor:
        """Estimated log-probability `(queries,)` of each query's class."""
        target = tf.gather(classes, targets)
        overlap = plane_gaussian.log_density(
            plane_gaussian.difference(queries, target)
        )
        noise = tf.random.stateless_normal(
            (self.num_samples, tf.shape(queries)[0], 2),
            self._next_seed(),
            dtype=queries.dtype,
            alg="philox",
        )
        z = plane_gaussian.sample(
            plane_gaussian.product(queries, target), noise
        )
        density = plane_gaussian.log_density(classes, z[:, :, None])
        evidence = tf.reduce_logsumexp(density, axis=-1)
        total = tf.reduce_logsumexp(-evidence, axis=0)
        return overlap + total - np.log(self.num_samples)

    def get_config(self):
        return {
            **super().get_config(),
            "num_support": self.num_support,
            "num_samples": self.num_samples,
            "seed": self.seed,
        }


def _require_width(shape) -> None:
    if shape[-1] != plane_gaussian.WIDTH:
        raise ValueError(
            "FullCovariancePrototypes reads 5 numbers for each input: the "
            "mean in a plane, two variances and their correlation; received "
            f"embeddings of shape {tuple(shape)}. End the encoder with "
            "keras.layers.Dense(5)."
        )
