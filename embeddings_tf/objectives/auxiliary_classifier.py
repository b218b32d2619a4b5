"""The parts of `LearnedDistance`, and its auxiliary classifier."""

import keras
import tensorflow as tf

from embeddings_tf.layers.additive_margin import AdditiveMargin
from embeddings_tf.ops.distances import unit_rows
from embeddings_tf.ops.pair_divergence import smoothed_cross_entropy


def require_distance(distance) -> None:
    """Raises ValueError unless `distance` is a layer with `all_pairs`."""
    if not isinstance(distance, keras.layers.Layer) or not hasattr(
        distance, "all_pairs"
    ):
        raise ValueError(
            "`distance` must be a layer that scores pairs, such as "
            f"PairDistance(); received {distance!r}."
        )


def require_classifier(kind: str | None, num_classes, projection) -> None:
    """Raises ValueError if a classifier or its projection is incomplete."""
    if kind is not None and (num_classes is None or num_classes < 2):
        raise ValueError(
            f"auxiliary={kind!r} tells the training classes apart: give their "
            "number, at least 2, as `num_classes`; received "
            f"{num_classes!r}."
        )
    if projection is not None and (
        kind is None or not isinstance(projection, keras.layers.Layer)
    ):
        raise ValueError(
            "`projection` must be a Keras layer in front of an auxiliary "
            f"classifier; received {projection!r} with auxiliary={kind!r}."
        )


def require_encoder_trained(
    train_encoder: bool, kind: str | None, loss
) -> None:
    """Raises ValueError if nothing trains the encoder, or `loss` is no loss."""
    if not isinstance(loss, keras.losses.Loss | None):
        raise ValueError(
            "`encoder_loss` must be a loss object, such as "
            f"LiftedStructureLoss(), or None; received {loss!r}."
        )
    if not train_encoder and kind is None and loss is None:
        raise ValueError(
            "`train_encoder=False` needs an `auxiliary` classifier or an "
            "`encoder_loss` that trains the encoder; received neither."
        )


def cross_entropy(
    classifier, projection, labels, embeddings, smoothing: float
) -> tf.Tensor:
    """Cross-entropy of each example, by the auxiliary classifier."""
    if projection is not None:
        embeddings = projection(embeddings)
    if isinstance(classifier, AdditiveMargin):
        logits = classifier(embeddings, labels)
    else:
        logits = classifier(unit_rows(embeddings))
    log_prob = tf.nn.log_softmax(logits)
    return smoothed_cross_entropy(log_prob, labels, smoothing)


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
