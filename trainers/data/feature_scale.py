"""Whether rows of features have a scale that an encoder can learn from."""

import warnings

import numpy as np

from embeddings_tf.models.features_encoder import LARGEST_FEATURE
from embeddings_tf.models.features_encoder import SMALLEST_DEVIATION
from embeddings_tf.ops.listed import listed
from trainers.config.run import DataFields
from trainers.config.run import Run
from trainers.data.classes import feature_columns


def require_usable_scale(run: Run, x) -> None:
    """Checks the scale of features that `features_encoder` standardises.

    It divides by at least `SMALLEST_DEVIATION`, so smaller features shrink. It
    squares features in float32, so features above `LARGEST_FEATURE` overflow.

    Args:
        run: The typed run.
        x: Its training examples.

    Raises:
        ValueError: As `require_scale`.
    """
    if run.encoder.name == "features_encoder":
        require_scale(run.data, x, "training examples")


def require_scale(fields: DataFields, x, what: str = "examples") -> None:
    """Checks the scale of features; other examples pass.

    Args:
        fields: The data of a run.
        x: Examples.
        what: A word for the examples, for the message.

    Raises:
        ValueError: If no feature reaches a tenth of `SMALLEST_DEVIATION`, or
            one is above `LARGEST_FEATURE`.
    """
    if getattr(x, "ndim", 0) != 2 or not len(x):
        return
    network = fields.backbone.network
    columns = [] if network else feature_columns(fields.dataset)
    _require_no_overflow(fields, x, columns, what)
    deviation = np.std(x, axis=0, dtype="float64")
    largest = deviation.max(initial=0)
    if largest == 0:
        raise ValueError(
            f"the features of all {what} are equal; look at {fields.dataset}"
        )
    if largest < SMALLEST_DEVIATION / 10:
        whose = f"of {network} " if network else ""
        mend = (
            "Random weights of some networks shrink all images to one point: "
            "name a file of weights, or take ResNet50V2"
            if network and fields.backbone.weights is None
            else "Multiply the features by a constant"
        )
        raise ValueError(
            f"the features {whose}are nearly equal for all {what}: "
            f"their largest standard deviation is {largest:.2g}, and "
            f"features_encoder needs {SMALLEST_DEVIATION:g}. {mend}"
        )
    if not network:
        _warn_of_small(deviation, columns, what)


def _require_no_overflow(fields: DataFields, x, columns: list[str], what: str):
    """Raises ValueError for features whose squares overflow."""
    # Of unsigned integers, the absolute value is the value.
    sizes = np.maximum(np.max(x, axis=0), -np.min(x, axis=0).astype("float64"))
    large = np.flatnonzero(sizes > LARGEST_FEATURE)
    if len(large):
        raise ValueError(
            f"{_named(large, columns)} of {fields.dataset} have values up to "
            f"{sizes.max():.3g} in {what}, and features_encoder takes at most "
            f"{LARGEST_FEATURE:g}. If these are marks of missing values, "
            "replace them or remove the features; otherwise divide the "
            "features by a constant"
        )


def _warn_of_small(deviation, columns: list[str], what: str) -> None:
    """Warns of features that differ little or not at all."""
    constant = np.flatnonzero(deviation == 0)
    if len(constant):
        warnings.warn(
            f"{_named(constant, columns)} are the same for all {what}, or "
            "equal in float32. Another value later counts up to "
            f"{1 / SMALLEST_DEVIATION:,.0f} times as much as it differs; "
            "remove these features. If their values differ in the data, "
            "subtract a constant from them.",
            stacklevel=2,
        )
    small = np.flatnonzero((deviation > 0) & (deviation < SMALLEST_DEVIATION))
    if len(small):
        warnings.warn(
            f"{_named(small, columns)} have standard deviations below "
            f"{SMALLEST_DEVIATION:g}, so features_encoder shrinks them; "
            "multiply them by a constant.",
            stacklevel=2,
        )


def _named(numbers, columns: list[str]) -> str:
    """Names features by the columns of a table, or by their numbers."""
    if columns:
        return f"Features {listed([repr(columns[n]) for n in numbers])}"
    return f"Features {listed([str(n) for n in numbers])} (counted from 0)"
