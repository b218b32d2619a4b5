"""The encoder of the speaker verification experiments."""

import keras
import tensorflow as tf

from embeddings_tf.layers import GaussianEmbedding
from embeddings_tf.layers import StatisticsPooling
from embeddings_tf.models.gaussian_output import require_gaussian
from embeddings_tf.models.prepare_for_replicas import prepare_for_replicas
from embeddings_tf.ops.arguments import positive_integer
from embeddings_tf.ops.arguments import sequence
from embeddings_tf.ops.arguments import truth

# Kernel, dilation, zeros on each side, layer by layer.
DILATED = ((5, 1, 2), (3, 2, 2), (3, 3, 3), (1, 1, 0), (1, 1, 0))
RELEASED = ((5, 1, 2), (5, 1, 2), (5, 1, 3), (7, 1, 0), (1, 1, 0))


def x_vector_encoder(
    dim: int = 512,
    *,
    num_coefficients: int = 30,
    dilated: bool = True,
    channels: tuple[int, int, int, int, int] = (512, 512, 512, 512, 1500),
    gaussian: bool = False,
    initial_variance: float | None = None,
) -> keras.Model:
    """The x-vector network: MFCCs of an utterance in, one embedding out.

    Use it for speakers, with 30 coefficients per frame as for VoxCeleb or any
    other number, and for other sequences with one class each. Utterances may
    have any length. In a batch, pad shorter utterances with zeros at the end.
    Frames of zeros are padding: they change neither the embedding nor, in
    training, the statistics of batch normalisation. The network does not
    normalise coefficients.

    ```
    4 times: convolution over time, 512 -> batch normalisation -> ReLU
    convolution over time, 1500 -> batch normalisation -> ReLU
    -> mean and standard deviation over time (3000)
    -> dense, dim -> batch normalisation -> ReLU -> embedding

    layer                   1              2          3          4      5
    dilated    kernel       5              3          3          1      1
               dilation     1              2          3          1      1
    released   kernel       5              5          5          7      1
    ```

    Dilated, an activation sees 15 frames, and the number of frames does not
    change. Otherwise it sees 19 frames, and four frames are lost.

    The embedding is not normalised and not negative. The distance, the cosine
    and PLDA read the embedding; the auxiliary classifier reads it through
    `x_vector_projection`:

    ```
    objectives.LearnedDistance(
        layers.PairDistance((256,) * 4),
        num_classes=5994,
        auxiliary="additive_margin",
        projection=models.x_vector_projection(256),
    )
    ```

    In the paper's text the distance reads the last layer instead. For this,
    put the projection after the encoder:
    `keras.Sequential([encoder, projection])`.

    Args:
        dim: Dimensions of the embedding.
        num_coefficients: Number of coefficients per frame.
        dilated: True: the dilated convolutions of the paper, with the
            contexts of the x-vector. False: the convolutions of the released
            code, which need 5 frames. A shorter utterance in a longer batch
            then has no activations; their mean and deviation are 0.
        channels: Channels of the five convolutions; the published numbers by
            default. Use fewer for few speakers or a small machine.
        gaussian: True: ends in `GaussianEmbedding(dim)` on the mean and
            deviation over time, output `(batch, 2 * dim)`. False: a point.
        initial_variance: As in `GaussianEmbedding`; only if `gaussian`.

    Input shape: `(batch, frames, num_coefficients)`.
    Output shape: `(batch, dim)`, or `(batch, 2 * dim)` with `gaussian`;
        float32 also under mixed precision.

    Returns:
        A functional `keras.Model` with input `frames`.

    Raises:
        ValueError: If `channels` are not five positive integers.

    Reference:
        - [Monteiro et al., 2020](https://arxiv.org/abs/2002.09469), Table 3.
          From the authors' code: kernels of `dilated=False`, the choice of
          the embedding, and weights uniform within `1 / sqrt(fan_in)`. A
          bias before batch normalisation has no effect and is left out.
          The momentum of 0.9 and the epsilon of 1e-5 are the defaults of the
          code's framework.
        - [Snyder et al., 2018](https://doi.org/10.1109/ICASSP.2018.8461375),
          the contexts of `dilated=True`.

    Example:

    >>> encoder = embeddings_tf.models.x_vector_encoder(num_coefficients=13)
    >>> encoder(np.ones((2, 20, 13), "float32")).shape
    TensorShape([2, 512])
    """
    dim = positive_integer("dim", dim)
    num_coefficients = positive_integer("num_coefficients", num_coefficients)
    dilated = truth("dilated", dilated)
    gaussian = truth("gaussian", gaussian)
    require_gaussian(gaussian, initial_variance)
    widths = sequence("channels", channels)
    if len(widths) != len(DILATED):
        raise ValueError(
            f"`channels` must be a tuple of {len(DILATED)} integers, for "
            f"instance (512, 512, 512, 512, 1500); received {widths!r}."
        )
    ops = keras.ops
    frames = keras.Input((None, num_coefficients), name="frames")
    kept = ops.any(ops.not_equal(frames, 0), axis=-1)
    x = frames
    for number, (filters, (size, dilation, padding)) in enumerate(
        zip(widths, DILATED if dilated else RELEASED, strict=True)
    ):
        # Without padding, a shorter utterance would see zeros at its end.
        x = ops.where(kept[:, :, None], x, 0)
        if padding:
            x = keras.layers.ZeroPadding1D(padding)(x)
        x = keras.layers.Conv1D(
            positive_integer("channels", filters),
            size,
            dilation_rate=dilation,
            use_bias=False,
            kernel_initializer=keras.initializers.VarianceScaling(
                1 / 3, "fan_in", "uniform"
            ),
        )(x)
        num_more = 2 * padding - dilation * (size - 1)
        if num_more > 0:
            kept = ops.concatenate([kept[:, :num_more], kept], axis=1)
        elif num_more < 0:
            kept = kept[:, -num_more:]
        x = _MaskedBatchNormalization(
            momentum=0.9,
            epsilon=1e-5,
            # Names in a SavedModel must not start with an underscore.
            name=f"masked_batch_normalization_{number}",
        )(x, mask=kept)
        x = keras.layers.ReLU()(x)
    x = StatisticsPooling(name="statistics")(x, mask=kept)
    if gaussian:
        embedding = GaussianEmbedding(
            dim, initial_variance=initial_variance, name="embedding"
        )(x)
    else:
        embedding = _point(x, dim)
    return prepare_for_replicas(
        keras.Model(frames, embedding, name="x_vector_encoder")
    )


def _point(statistics, dim: int):
    x = keras.layers.Dense(
        dim,
        use_bias=False,
        kernel_initializer=keras.initializers.VarianceScaling(
            1 / 3, "fan_in", "uniform"
        ),
        dtype="float32",  # half precision would round the embedding
    )(statistics)
    x = keras.layers.BatchNormalization(
        momentum=0.9, epsilon=1e-5, dtype="float32"
    )(x)
    return keras.layers.ReLU(name="embedding", dtype="float32")(x)


@keras.saving.register_keras_serializable(package="embeddings_tf")
class _MaskedBatchNormalization(keras.layers.BatchNormalization):
    """Keras ignores `synchronized` if there is a mask; this layer does not."""

    def _moments(self, inputs, mask):
        context = tf.distribute.get_replica_context()
        if mask is None or context is None or not self.synchronized:
            return super()._moments(inputs, mask)

        def global_sum(values):
            axes = list(range(values.shape.rank - 1))
            return context.all_reduce(
                tf.distribute.ReduceOp.SUM, tf.reduce_sum(values, axes)
            )

        kept = tf.cast(mask[..., None], inputs.dtype)
        num_kept = global_sum(kept) + keras.config.epsilon()
        mean = global_sum(kept * inputs) / num_kept
        return mean, global_sum(kept * (inputs - mean) ** 2) / num_kept
