"""The classifier that accompanies `LearnedDistance` in training."""

import keras

from embeddings_tf.layers.additive_margin import AdditiveMargin


def require_enough_classes(kind: str | None, num_classes: int | None) -> None:
    """ValueError if there is a classifier and fewer than two classes."""
    if kind is not None and (num_classes is None or num_classes < 2):
        raise ValueError(
            f"auxiliary={kind!r} tells the training classes apart: give their "
            "number, at least 2, as `num_classes`; received "
            f"{num_classes!r}."
        )


def auxiliary_classifier(
    kind: str | None, num_classes, seed: int | None, dtype
) -> keras.layers.Layer | None:
    """The layer of `LearnedDistance(auxiliary=kind)`; None without one."""
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
