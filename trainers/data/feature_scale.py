"""Whether rows of features differ enough for an encoder to learn from."""

import warnings

import numpy as np

from embeddings_tf.datasets.listed import listed
from embeddings_tf.models.features_encoder import SMALLEST_DEVIATION
from trainers.config.run import Run


def require_differing_features(run: Run, x) -> None:
    """Checks the scale of features that `features_encoder` standardises.

    It divides by at least `SMALLEST_DEVIATION`, so smaller features shrink.

    Args:
        run: The typed run.
        x: Its training examples.

    Raises:
        ValueError: If no feature reaches a tenth of that deviation.
    """
    if run.encoder.name != "features_encoder" or getattr(x, "ndim", 0) != 2:
        return
    deviation = np.std(x, axis=0, dtype="float64")
    network = run.data.backbone.network
    largest = deviation.max(initial=0)
    if largest == 0:
        raise ValueError(
            "the features of all training examples are equal; look at "
            f"{run.data.dataset}"
        )
    if largest < SMALLEST_DEVIATION / 10:
        whose = f"of {network} " if network else ""
        mend = (
            "Random weights of some networks shrink all images to one point: "
            "name a file of weights, or take ResNet50V2"
            if network and run.data.backbone.weights is None
            else "Multiply the features by a constant"
        )
        raise ValueError(
            f"the features {whose}are nearly equal for all training examples: "
            f"their largest standard deviation is {largest:.2g}, and "
            f"features_encoder needs {SMALLEST_DEVIATION:g}. {mend}"
        )
    if network:
        return
    constant = np.flatnonzero(deviation == 0)
    if len(constant):
        warnings.warn(
            f"Features {listed([str(column) for column in constant])} (counted "
            "from 0) are the same for all training examples. Another value "
            f"later counts up to {1 / SMALLEST_DEVIATION:,.0f} times as much "
            "as it differs; remove these features.",
            stacklevel=2,
        )
    small = np.flatnonzero((deviation > 0) & (deviation < SMALLEST_DEVIATION))
    if len(small):
        warnings.warn(
            f"Features {listed([str(column) for column in small])} (counted "
            f"from 0) have standard deviations below {SMALLEST_DEVIATION:g}, "
            "so features_encoder shrinks them; multiply them by a constant.",
            stacklevel=2,
        )
