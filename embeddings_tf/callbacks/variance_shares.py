"""How much of the variance of Gaussian embeddings is the input's own."""

import numpy as np

from embeddings_tf.ops import gaussian

# Below both, the predicted variance says nothing about an input.
COLLAPSED_SHARE = 0.0
COLLAPSED_VARIATION = 0.0


def variance_shares(packed) -> dict[str, float]:
    """Returns share and variation of the predicted variance, by name.

    Formula, with mean `m` and variance `v` of the inputs `x`, summed over
    dimensions (the law of total variance):

    ```
    variance_share     = E[v] / (E[v] + Var[m])
    variance_variation = standard deviation of v over inputs / E[v]
    ```
    """
    mean, variance = (
        part.numpy().astype(np.float64) for part in gaussian.unpack(packed)
    )
    of_inputs = variance.sum(axis=-1)
    own, between = of_inputs.mean(), mean.var(axis=0).sum()
    return {
        "variance_share": float(own / (own + between)),
        "variance_variation": float(of_inputs.std() / own),
    }
