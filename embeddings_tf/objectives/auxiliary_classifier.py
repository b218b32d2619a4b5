"""The auxiliary classifier of `LearnedDistance`, used in training only."""

import keras

from embeddings_tf.layers.additive_margin import AdditiveMargin


def require_enough_classes(kind: str | None, num_classes: int | None) -> None:
    """Raises ValueError if a classifier has fewer than two classes."""
    if kind is not None and (num_classes is None or num_classes < 2):
        raise ValueError(
            f"auxiliary={kind!r} tells the training classes apart: give their "
            "number, at least 2, as `num_classes`; received "
            f"{num_classes!r}."
        )


def auxiliary_classifier(
    kind: str | None, num_classes, seed: int | None, dtype
) -> keras.layers.Layer | None:
    """Returns the layer of `LearnedDistance(auxiliary=kind)`, or None."""
    if kind == "softmax":
        return keras.layers.Dense(
            num_classes,
            kernel_initializer=keras.initializers.VarianceScaling(
                2.0, "fan_in", "untruncated_normal", seed=seed
            ),
            dtype=dtype,
            name="classifier",
        )
    if kind == "additive_margin":
        return AdditiveMargin(
            num_classes,
            kernel_initializer=keras.initializers.RandomNormal(seed=seed),
            dtype=dtype,
            name="classifier",
        )
    return None
