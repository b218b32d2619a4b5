"""Occlusion of digits by random black rectangles."""

import numbers

import tensorflow as tf

from embeddings_tf.datasets.checked_images import checked_images
from embeddings_tf.ops.arguments import positive_integer
from embeddings_tf.ops.seed_pair import seed_pair


def occlusion_mask(batch, size, num_digits, seed, probability=1.0) -> tf.Tensor:
    """Draws the pixels that `corrupt` sets to black.

    Use it when you need the occluded area itself, for instance to check
    whether predicted uncertainty grows with it. `corrupt` with the same seed
    and probability occludes exactly these pixels.

    Each digit, a cell of `size` by `size` pixels, is occluded independently.
    Its rectangle has a width `W` and a height `H` from the integers `0..size`
    inclusive, then a corner `Tx` from `0..size - W` and `Ty` from
    `0..size - H`, all uniform. A rectangle with `W = 0` or `H = 0` occludes
    nothing. With `size = 28` this happens to 6.8 % of the digits, and a
    quarter of all pixels is occluded on average. In a cell that is not square,
    widths go up to its width and heights up to its height.

    Args:
        batch: Number of images, an integer or a scalar integer tensor.
        size: Height and width of one digit in pixels, one integer for both or
            two.
        num_digits: Number of digits side by side in one image.
        seed: Integers of shape `(2,)`. Equal seeds give equal masks.
        probability: Probability that a digit is occluded, in `[0, 1]`; a number
            or a scalar tensor.

    Returns:
        Boolean tensor of shape `(batch, size, size * num_digits, 1)`, or
        `(batch, height, width * num_digits, 1)`, true where a pixel is
        occluded.

    Raises:
        ValueError: If `batch`, `size`, `num_digits`, `seed` or `probability`
            is not as described.

    Reference:

    - [Scott et al., 2019, Appendix E](https://arxiv.org/abs/1909.11702)

    Example:

    >>> mask = embeddings_tf.datasets.occlusion_mask(
    ...     batch=4, size=28, num_digits=2, seed=(1, 2)
    ... )
    >>> mask.shape
    TensorShape([4, 28, 56, 1])
    """
    sides = size if isinstance(size, tuple | list) else (size, size)
    if len(sides) != 2:
        raise ValueError(
            f"`size` must be an integer or (height, width); received {size!r}."
        )
    cell_height, cell_width = (positive_integer("size", side) for side in sides)
    num_digits = positive_integer("num_digits", num_digits)
    batch = _batch_size(batch)
    _check_probability(probability)
    uniform = tf.random.stateless_uniform(
        (batch, num_digits, 5), seed=seed_pair(seed), alg="philox"
    )
    is_corrupted = uniform[..., 0] < tf.cast(probability, tf.float32)
    width = _integers_up_to(cell_width, uniform[..., 1])
    height = _integers_up_to(cell_height, uniform[..., 2])
    left = _integers_up_to(cell_width - width, uniform[..., 3])
    top = _integers_up_to(cell_height - height, uniform[..., 4])

    columns = _is_inside(tf.range(cell_width), left, width)
    columns &= is_corrupted[..., tf.newaxis]
    rows = _is_inside(tf.range(cell_height), top, height)
    # (batch, digit, row, column) -> (batch, row, digit, column)
    mask = rows[..., :, tf.newaxis] & columns[..., tf.newaxis, :]
    mask = tf.transpose(mask, (0, 2, 1, 3))
    shape = (cell_height, num_digits * cell_width, 1)
    mask = tf.reshape(mask, (batch, *shape))
    return tf.ensure_shape(mask, (tf.get_static_value(batch), *shape))


def corrupt(
    images, seed, probability=1.0, *, num_digits: int | None = None
) -> tf.Tensor:
    """Sets a random rectangle of every image, or of every digit, to zero.

    Use it to train on partly unreadable inputs, and to test whether an
    embedding expresses uncertainty about them. It runs in
    `batches(..., preprocess=...)`, in any `tf.data` map, in a `tf.function`
    and eagerly. Zero is the background of MNIST; invert images that are dark
    on light first.

    An image is a row of `num_digits` cells of equal width. Each cell is
    corrupted independently, as `occlusion_mask` describes. By default, an
    image whose width is a multiple of its height is a row of square digits,
    and any other image is one cell. Pass `num_digits=1` for wide images that
    do not consist of digits.

    Args:
        images: Tensor or array of any numeric dtype and of shape
            `(batch, height, width, channels)`. Height and width must be known
            when a graph is traced; the batch size need not be known.
        seed: Integers of shape `(2,)`. The result is a pure function of the
            images and the seed: pass another seed for other rectangles.
        probability: Probability that a digit is corrupted, in `[0, 1]`; a
            number or a scalar tensor.
        num_digits: Number of cells side by side in an image; it must divide
            the width. None: as described above.

    Returns:
        Tensor with the shape and the dtype of `images`.

    Raises:
        ValueError: If `images` are not a batch of numeric images, or
            `num_digits`, `seed` or `probability` is not as described.

    Reference:

    - [Scott et al., 2019, Appendix E](https://arxiv.org/abs/1909.11702)

    Example:

    >>> images = tf.ones((4, 28, 56, 1))
    >>> corrupted = embeddings_tf.datasets.corrupt(images, seed=(1, 2))
    >>> corrupted.shape
    TensorShape([4, 28, 56, 1])
    """
    images = checked_images(images)
    batch, height, width, _ = images.shape
    if num_digits is None:
        num_digits = 1 if width % height else width // height
    num_digits = positive_integer("num_digits", num_digits)
    if width % num_digits:
        raise ValueError(
            "num_digits must divide the width of the images; "
            "received num_digits="
            f"{num_digits} and width {width}."
        )
    if batch is None:
        batch = tf.shape(images)[0]
    size = (height, width // num_digits)
    mask = occlusion_mask(batch, size, num_digits, seed, probability)
    return tf.where(mask, tf.zeros((), images.dtype), images)


def _integers_up_to(maximum, uniform):
    """Uniform integers in `0..maximum` inclusive from uniforms in [0, 1)."""
    maximum = tf.cast(maximum, tf.int32)
    count = tf.cast(maximum + 1, uniform.dtype)
    # Rounding can lift the product of a number below 1 to `count`.
    return tf.minimum(tf.cast(uniform * count, tf.int32), maximum)


def _is_inside(pixel, first, length):
    first = first[..., tf.newaxis]
    return (pixel >= first) & (pixel < first + length[..., tf.newaxis])


def _batch_size(batch):
    """Returns the number of images, an int or a scalar integer tensor."""
    if tf.is_tensor(batch):
        if batch.dtype.is_integer and batch.shape.rank == 0:
            return batch
    elif isinstance(batch, numbers.Integral) and 0 <= batch < 2**31:
        return int(batch)
    raise ValueError(
        "`batch` must be an integer of at least 0 or a scalar integer tensor; "
        f"received {batch!r}."
    )


def _check_probability(probability):
    if tf.is_tensor(probability):
        if probability.shape.rank != 0:
            raise ValueError(
                "`probability` must be a scalar; received shape "
                f"{probability.shape}."
            )
        dtype = probability.dtype
        if not (dtype.is_floating or dtype.is_integer or dtype.is_bool):
            raise ValueError(
                f"`probability` must be a number; received dtype {dtype.name}."
            )
        probability = tf.get_static_value(tf.convert_to_tensor(probability))
        if probability is None:  # known when the graph runs
            return
        probability = float(probability)
    if (
        not isinstance(probability, numbers.Real)
        or not 0.0 <= probability <= 1.0
    ):
        raise ValueError(
            f"`probability` must be between 0 and 1; received {probability!r}."
        )
