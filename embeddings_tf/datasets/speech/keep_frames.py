"""Drops frames of utterances."""

import tensorflow as tf

from embeddings_tf.datasets.speech import checks


def keep_frames(features, keep) -> tuple[tf.Tensor, tf.Tensor]:
    """Drops frames, for instance frames without speech.

    Use it with the result of `energy_vad`. The kept frames move to the front,
    in order, and padding follows. The shape does not change, so utterances
    stay in one batch.

    Args:
        features: Numbers of shape `(frames, dim)` or `(batch, frames, dim)`.
        keep: `bool` of shape `(frames,)` or `(batch, frames)`; False for
            padding.

    Returns:
        Features, `float32` of the same shape, padded with 0, and the numbers
        of kept frames, `int32` of shape `()` or `(batch,)`. The number is 0
        for silence; `repeat_or_crop` refuses such utterances.

    Raises:
        ValueError: If shapes do not fit together, or `keep` is not `bool`.

    Example:

    >>> features = tf.constant([[1.0], [2.0], [3.0]])
    >>> kept, length = embeddings_tf.datasets.speech.keep_frames(
    ...     features, [False, True, True]
    ... )
    >>> kept[:length].numpy()
    array([[2.],
           [3.]], dtype=float32)
    """
    features = checks.float_tensor(
        "features", features, (2, 3), "(frames, dim) or (batch, frames, dim)"
    )
    keep = checks.tensor("keep", keep)
    if keep.dtype != tf.bool or not keep.shape.is_compatible_with(
        features.shape[:-1]
    ):
        raise ValueError(
            "keep must be bool of the shape of features without the last "
            f"axis, {features.shape[:-1]}; "
            f"received shape {keep.shape} and dtype "
            f"{keep.dtype.name}."
        )
    order = tf.argsort(
        tf.cast(~keep, tf.int32), axis=-1, direction="ASCENDING", stable=True
    )
    kept = tf.gather(features, order, batch_dims=features.shape.rank - 2)
    length = tf.reduce_sum(tf.cast(keep, tf.int32), axis=-1)
    is_valid = tf.sequence_mask(length, tf.shape(features)[-2])
    return tf.where(is_valid[..., tf.newaxis], kept, 0.0), length
