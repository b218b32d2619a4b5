"""Stochastic prototypes with a regulariser, for the study of uncertainty.

    python -m trainers.train --config uncertainty_omniglot_dim_64_stochastic_prototypes \
      --config.objective.name=benchmarks/_regularised_prototypes.py:RegularisedPrototypes \
      --config.objective.beta=0.001 --workdir runs/regularised

Does the predicted variance say more in many dimensions if embeddings are drawn
to a standard normal distribution, as in hedged instances, or if the noise of
the classes has a learning rate of its own? docs/results/uncertainty.md has the results.
The divergence is now an argument of `StochasticPrototypes`.
"""  # noqa: E501

import keras
import tensorflow as tf

from embeddings_tf import objectives
from embeddings_tf.ops import positive_weight
from embeddings_tf.ops.arguments import positive_number


@keras.saving.register_keras_serializable(package="embeddings_tf_benchmarks")
class RegularisedPrototypes(objectives.StochasticPrototypes):
    """`StochasticPrototypes` whose noise has a learning rate of its own.

    Args:
        noise_rate: The learning rate of the raw noise variance in units of the
            optimiser's, above 0; exact for Adam, whose steps do not depend on
            the size of the gradient.
        beta: As in `StochasticPrototypes`, like the other arguments.
    """

    def __init__(
        self, num_support, *, beta=0.0, noise_rate=1.0, seed=None, **kwargs
    ):
        super().__init__(num_support, beta=beta, seed=seed, **kwargs)
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

    def get_config(self):
        return {
            **super().get_config(),
            "noise_rate": self.noise_rate,
        }
