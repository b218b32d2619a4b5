"""How much of the variance of Gaussian embeddings is the input's own."""

import warnings

import numpy as np

from embeddings_tf.ops import gaussian

# The variance has collapsed below either. Where it works, on characters, the
# share is 0.008 and the variation 0.56; on photographs in 64 dimensions, where
# it is silent, the variation is 0.30 (docs/uncertainty.md).
SMALLEST_SHARE = 0.001
SMALLEST_VARIATION = 0.5
# Variances of a network that was hardly trained are all alike.
LEAST_STEPS = 500


def variance_shares(packed) -> dict[str, float]:
    """Returns share and variation of the predicted variance, by name.

    Formula, with means `m` and variances `v` of the inputs, each summed over
    dimensions, by the law of total variance:

    ```
    variance_share     = E[v] / (E[v] + Var[m])
    variance_variation = standard deviation of v over inputs / E[v]
    ```

    Both are 0 if all variances are 0.

    Args:
        packed: Packed Gaussians `(n, 2 * dim)`.
    """
    mean, variance = (
        part.numpy().astype(np.float64) for part in gaussian.unpack(packed)
    )
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
    is_alive = share >= SMALLEST_SHARE and variation >= SMALLEST_VARIATION
    if is_alive or steps < LEAST_STEPS:
        return
    warnings.warn(
        "The predicted variance has collapsed: it is "
        f"{share:.2%} of the total variance of held-out embeddings, and "
        f"varies by {variation:.0%} between inputs (expected at least "
        f"{SMALLEST_SHARE:.1%} and {SMALLEST_VARIATION:.0%}). Do not use it as "
        "an uncertainty. Train with corrupted inputs "
        "(embeddings_tf.datasets.degrade_randomly) or fewer dimensions, or add "
        "an embeddings_tf.layers.UncertaintyHead (docs/uncertainty.md).",
        stacklevel=2,
    )
