"""SGD with weight decay that goes through the momentum."""

import keras
import tensorflow as tf

from embeddings_tf.ops.arguments import LARGEST_NUMBER
from embeddings_tf.ops.arguments import number_at_least
from embeddings_tf.ops.arguments import truth


@keras.saving.register_keras_serializable(package="embeddings_tf")
class SGDWithL2(keras.optimizers.SGD):
    """SGD with weight decay as a loss term, through the momentum.

    Use it to repeat trainings with a weight decay term `l2 / 2 |w|^2` in the
    loss, as in torch's SGD. With momentum m, this decay is `1 / (1 - m)` times
    as strong as `weight_decay` of `keras.optimizers.SGD`, which is subtracted
    from the weights separately. A published value for one kind of decay does
    not fit the other kind.

    Formula, with the gradient g, the velocity v and the learning rate r:

    ```
    v <- momentum * v - r (g + l2 w)
    w <- w + v                                  nesterov=False
    w <- w + momentum * v - r (g + l2 w)        nesterov=True
    ```

    As in Keras, the velocity contains the learning rate of its time, so a
    lower rate only affects new gradients; some frameworks multiply the whole
    velocity by the current rate. At a constant rate both are equal. Clipping
    applies only to g, before the decay is added. As in the published
    trainings, all trainable weights decay, also biases and batch
    normalisation.

    Args:
        learning_rate, momentum, nesterov: As in `keras.optimizers.SGD`.
        l2: Weight of the decay, 0 to 1e18.
        kwargs: As in `keras.optimizers.SGD`; `global_clipnorm` clips by the
            norm of all gradients together.

    Raises:
        ValueError: If `l2` is not in its range, or given together with
            `weight_decay`, or `nesterov` is neither True nor False.

    Reference:
        - [Loshchilov & Hutter, 2019](https://arxiv.org/abs/1711.05101), on the
          difference
        - [Monteiro et al., 2020](https://arxiv.org/abs/2002.09469), App. A

    Example:

    >>> optimizer = embeddings_tf.optimizers.SGDWithL2(0.1, l2=0.5)
    >>> weight = keras.Variable([2.0])
    >>> optimizer.apply([np.array([3.0], "float32")], [weight])
    >>> weight.numpy()  # 2 - 0.1 * (3 + 0.5 * 2)
    array([1.6], dtype=float32)
    """

    def __init__(
        self,
        learning_rate=0.01,
        momentum: float = 0.0,
        nesterov: bool = False,
        l2: float = 0.0,
        *,
        name: str = "sgd_with_l2",
        **kwargs,
    ):
        if kwargs.get("weight_decay") is not None:
            raise ValueError(
                "SGDWithL2 decays weights by `l2`; received "
                f"weight_decay={kwargs['weight_decay']!r}, too. Pass only one "
                "of them, or use keras.optimizers.SGD."
            )
        nesterov = truth("nesterov", nesterov)
        super().__init__(learning_rate, momentum, nesterov, name=name, **kwargs)
        self.l2 = number_at_least("l2", l2, 0, LARGEST_NUMBER)

    def update_step(self, gradient, variable, learning_rate):
        if self.l2:
            # Also unused rows of an embedding table, since all rows decay.
            gradient = tf.convert_to_tensor(gradient)
            gradient += self.l2 * tf.cast(variable, gradient.dtype)
        super().update_step(gradient, variable, learning_rate)

    def get_config(self):
        return {**super().get_config(), "l2": self.l2}
