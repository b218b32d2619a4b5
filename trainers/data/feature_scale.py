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
    reads features as float32, so large features that differ little become
    equal.

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
            all are equal in float32.
    """
    if not _are_features(x):
        return
    network = fields.backbone.network
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
    sizes = _sizes(x)
    # Values of less than a step apart are equal in float32, or nearly.
    steps = np.spacing(sizes.astype("float32"))
    deviation[deviation < steps] = 0
    if deviation.max(initial=0) == 0:
        raise ValueError(
            f"the features of all {what} differ by less than float32 tells "
            f"apart: values up to {sizes.max():.3g} in steps of "
            f"{steps.max():.3g}; subtract a constant from each feature"
        )
    if not network:
        _warn_of_small(deviation, feature_columns(fields.dataset), what)


def require_no_overflow(fields: DataFields, x, what: str) -> None:
    """Checks that no square of a feature overflows; other examples pass.

    Args:
        fields: The data of a run.
        x: Examples.
        what: Words for the examples, for the message.

    Raises:
        ValueError: If a feature is above `LARGEST_FEATURE`.
    """
    if not _are_features(x):
        return
    sizes = _sizes(x)
    large = np.flatnonzero(sizes > LARGEST_FEATURE)
    if not len(large):
        return
    row = int(np.argmax((np.abs(x[:, large]) > LARGEST_FEATURE).any(axis=1)))
    network = fields.backbone.network
    columns = [] if network else feature_columns(fields.dataset)
    raise ValueError(
        f"{_named(large, columns)} of {fields.dataset} have values up to "
        f"{sizes.max():.3g} in {what}, first in row {row} (counted from 0), "
        f"and features_encoder takes at most {LARGEST_FEATURE:g}. If these are "
        "marks of missing values, replace them or remove the features; "
        "otherwise divide the features by a constant"
    )


def _are_features(x) -> bool:
    return getattr(x, "ndim", 0) == 2 and len(x) > 0


def _sizes(x) -> np.ndarray:
    """Returns the largest absolute value of each feature."""
    # Of unsigned integers, the absolute value is the value.
    return np.maximum(np.max(x, axis=0), -np.min(x, axis=0).astype("float64"))


def _warn_of_small(deviation, columns: list[str], what: str) -> None:
    """Warns of features that differ little or not at all."""
    constant = np.flatnonzero(deviation == 0)
    if len(constant):
        warnings.warn(
            f"{_named(constant, columns)} are the same for all {what}, or "
            "differ by less than float32 tells apart. Another value later "
            f"counts up to {1 / SMALLEST_DEVIATION:,.0f} times as much as it "
            "differs; remove these features. If their values differ in the "
            "data, subtract a constant from them.",
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
