"""How much of the variance of Gaussian embeddings is the input's own."""

import warnings

import numpy as np

# Below it, the variance has collapsed: it is 0.30 on photographs in 64
# dimensions, where the variance is silent, and 0.43 on characters in 64
# dimensions, where it works (docs/uncertainty.md). The share has no limit: with
# shares down to 0.00001, the variance still orders inputs. It is not for
# trainings with a divergence, where variances near 0.15 work.
SMALLEST_VARIATION = 0.35
# Variances of a network that was hardly trained are all alike.
LEAST_STEPS = 500


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


def warn_if_collapsed(shares: dict[str, float], steps: int) -> None:
    """Warns if the predicted variance says nothing about an input."""
    share, variation = shares["variance_share"], shares["variance_variation"]
    if variation >= SMALLEST_VARIATION or steps < LEAST_STEPS:
        return
    warnings.warn(
        f"The predicted variance has collapsed: it varies by {variation:.0%} "
        f"between inputs (expected at least {SMALLEST_VARIATION:.0%}, a rough "
        f"limit), and is {share:.2%} of the total variance of held-out "
        "embeddings. Do not use it as an uncertainty before you have tested it "
        "(config.evaluation.name=uncertainty). Train with corrupted inputs "
        "(embeddings_tf.datasets.degrade_randomly), fewer dimensions or a "
        "divergence (StochasticPrototypes(beta=0.001)), or add an "
        "embeddings_tf.layers.UncertaintyHead (docs/uncertainty.md).",
        stacklevel=2,
    )
