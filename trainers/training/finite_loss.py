"""Stops a training whose loss is not finite."""

import numpy as np


def require_finite(loss: float, epoch: int) -> None:
    """Raises FloatingPointError if the loss of an epoch is not finite."""
    if not np.isfinite(loss):
        kept = "there is no checkpoint yet"
        if epoch:
            kept = f"the checkpoint of epoch {epoch} is kept"
        raise FloatingPointError(
            f"the loss became {loss} in epoch {epoch + 1}; {kept}. Lower "
            "config.optimizer.learning_rate or clip the gradient "
            "(config.optimizer.global_clipnorm)"
        )
