"""Linear warm-up, then decay with the square root of the step."""

import keras
import tensorflow as tf

from embeddings_tf.ops.arguments import LARGEST_NUMBER
from embeddings_tf.ops.arguments import number_at_least
from embeddings_tf.ops.arguments import positive_integer


@keras.saving.register_keras_serializable(package="embeddings_tf")
class InverseSquareRootDecay(keras.optimizers.schedules.LearningRateSchedule):
    """A learning rate that rises linearly, then falls as `1 / sqrt(step)`.

    Use it for long trainings whose end is not planned, with an optimiser
    that needs small steps at first, such as SGD with much momentum.

    Formula, with t = 1, 2, ... the number of the step:

    ```
    rate(t) = scale * min(1 / sqrt(t), t / warmup_steps^1.5)
    ```

    Both are equal at t = warmup_steps, where the rate is largest,
    `scale / sqrt(warmup_steps)`: 0.034 for a scale of 1.5 and 2,000 steps.

    Args:
        scale: The base learning rate of the published tables, 0 to 1e18.
            With a warm-up it is larger than any rate in training.
        warmup_steps: Steps for which the rate rises, at least 1 (no warm-up).

    Call arguments:
        step: Number of earlier steps, 0 for the first, as in Keras.

    Returns:
        A scalar, float32.

    Raises:
        ValueError: If an argument is not of the kind above.

    Reference:
        - [Vaswani et al., 2017](https://arxiv.org/abs/1706.03762), Eq. 3,
          there with a scale of `1 / sqrt(model dimensions)`
        - [Monteiro et al., 2020](https://arxiv.org/abs/2002.09469), App. A;
          `scale` as in the authors' code

    Example:

    >>> rate = embeddings_tf.optimizers.InverseSquareRootDecay(1.0, 4)
    >>> [round(float(rate(step)), 3) for step in (0, 1, 3, 15)]
    [0.125, 0.25, 0.5, 0.25]
    """

    def __init__(self, scale: float, warmup_steps: int):
        super().__init__()
        self.scale = number_at_least("scale", scale, 0, LARGEST_NUMBER)
        self.warmup_steps = positive_integer("warmup_steps", warmup_steps)

    def __call__(self, step):
        number = tf.cast(step, tf.float32) + 1
        return self.scale * tf.minimum(
            tf.math.rsqrt(number), number * self.warmup_steps**-1.5
        )

    def get_config(self):
        return {"scale": self.scale, "warmup_steps": self.warmup_steps}
