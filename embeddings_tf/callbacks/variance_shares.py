"""How much of the variance of Gaussian embeddings is the input's own."""

import numpy as np


def variance_shares(mean, variance) -> dict[str, float]:
    """Returns share and variation of the predicted variance, by name.

    Formula, with means `m` and variances `v` of the inputs, each summed over
    dimensions, by the law of total variance:

    ```
    variance_share     = E[v] / (E[v] + Var[m])
    variance_variation = standard deviation of v over inputs / E[v]
    ```

    Both are 0 if all variances are 0.

    Args:
        mean: Means of the inputs, `(n, dim)`.
        variance: Predicted variances, `(n, dim)`.
    """
    mean, variance = (np.asarray(x, np.float64) for x in (mean, variance))
    of_inputs = variance.sum(axis=-1)
    own, between = of_inputs.mean(), mean.var(axis=0).sum()
    if not own:
        return {"variance_share": 0.0, "variance_variation": 0.0}
    return {
        "variance_share": float(own / (own + between)),
        "variance_variation": float(of_inputs.std() / own),
    }
