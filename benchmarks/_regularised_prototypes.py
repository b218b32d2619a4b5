"""Stochastic prototypes with a regulariser, for the study of uncertainty.

    python -m trainers.train --config uncertainty_omniglot_dim_64_stochastic_prototypes \
      --config.objective.name=benchmarks/_regularised_prototypes.py:RegularisedPrototypes \
      --config.objective.beta=0.001 --workdir runs/regularised

Does the predicted variance say more in many dimensions if embeddings are drawn
to a standard normal distribution, as in hedged instances, or if the noise of
the classes has a learning rate of its own? The repository has no results yet.
"""  # noqa: E501

import keras
import tensorflow as tf

from embeddings_tf import objectives
from embeddings_tf.ops import gaussian
from embeddings_tf.ops import positive_weight
from embeddings_tf.ops.arguments import number_at_least
from embeddings_tf.ops.arguments import positive_number


@keras.saving.register_keras_serializable(package="embeddings_tf_benchmarks")
class RegularisedPrototypes(objectives.StochasticPrototypes):
    """`StochasticPrototypes` with two changes for a study.

    Formula, with the value `v` of `StochasticPrototypes`:

    ```
    v + beta * mean over rows of KL(N(mu_x, sigma_x^2) || N(0, I))
    ```

    Args:
        beta: Weight of the divergence, at least 0.
        noise_rate: The learning rate of the raw noise variance in units of the
            optimiser's, above 0; exact for Adam, whose steps do not depend on
            the size of the gradient.
        seed: As in `StochasticPrototypes`, like the other arguments.
    """

    def __init__(
        self, num_support, *, beta=0.0, noise_rate=1.0, seed=None, **kwargs
    ):
        super().__init__(num_support, seed=seed, **kwargs)
        self.beta = number_at_least("beta", beta, 0)
        self.noise_rate = positive_number("noise_rate", noise_rate, 1e6)

    def build(self, y_true_shape, y_pred_shape):
        super().build(y_true_shape, y_pred_shape)
        # The weight is multiplied by the rate when it is read.
        self.raw_noise_variance.assign(
            self.raw_noise_variance / self.noise_rate
        )

    @property
    def noise_variance(self) -> tf.Tensor:
        if not self.built:
            return super().noise_variance
        raw = self.noise_rate * tf.convert_to_tensor(self.raw_noise_variance)
        return positive_weight.TRANSFORMS[self.noise_transform](raw)

    def call(self, y_true, y_pred):
        value = super().call(y_true, y_pred)
        if not self.beta:
            return value
        divergence = gaussian.kl_to_standard_normal(
            *gaussian.unpack_positive(y_pred)
        )
        return value + self.beta * tf.reduce_mean(divergence)

    def get_config(self):
        return {
            **super().get_config(),
            "beta": self.beta,
            "noise_rate": self.noise_rate,
        }
