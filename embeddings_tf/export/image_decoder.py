"""Decodes and resizes image files inside an exported graph."""

from typing import Any

import tensorflow as tf

from embeddings_tf.datasets.crops import LONG
from embeddings_tf.datasets.crops import MANY
from embeddings_tf.datasets.image_files import BIT_DEPTH
from embeddings_tf.datasets.image_files import JPEG_START
from embeddings_tf.datasets.image_files import LEAST_LIGHT
from embeddings_tf.datasets.image_files import PNG_START
from embeddings_tf.export import checks
from embeddings_tf.ops import arguments

MAX_PIXELS = 2**25
CHANNELS = (1, 3)


class ImageDecoder:
    """Turns JPEG and PNG files into images of one size, inside a graph.

    Use it as the `decoder` of `export.export_saved_model`, so that clients send
    files instead of pixels. The pixels, 0 to 255, are those of
    `datasets.Images` with the same size and the same `crop`: resizing is
    bilinear, with smoothing when images shrink, then rounded.

    Grey is repeated for three channels, and colours become grey for one.
    Transparency is dropped, and the orientation in EXIF data is ignored.

    Args:
        image_shape: Height, width and 1 or 3 channels.
        crop: Whether to scale the shorter side to 8/7 of the size and to cut
            the square in the middle. An image of this size is not changed. If
            False, the whole image is resized.
        max_pixels: Largest height times width of a file. Larger images are
            refused before they are decoded.

    Call arguments:
        name: Name of the input, for errors.
        contents: Contents of the files, strings `(n,)`.

    Returns:
        A tuple of one tensor: float32 `(n, height, width, channels)`.

    Raises:
        ValueError: If the shape is not as described, or not square with
            `crop`.
        tf.errors.InvalidArgumentError: In the graph, if a file is empty,
            truncated, damaged, too large or of another format, or has 16 bits
            of which the upper 8 would be almost black, as `datasets` refuses.

    Example:

    >>> decoder = embeddings_tf.export.ImageDecoder((2, 2, 1))
    >>> file = tf.io.encode_png(tf.fill([4, 4, 1], tf.constant(9, tf.uint8)))
    >>> (images,) = decoder("image_bytes", tf.stack([file]))
    >>> images.numpy()[0, :, :, 0]
    array([[9., 9.],
           [9., 9.]], dtype=float32)
    """

    about = "contents of JPEG or PNG files"

    def __init__(
        self, image_shape, *, crop: bool = False, max_pixels: int = MAX_PIXELS
    ):
        self.image_shape: Any = arguments.checked_shape(image_shape)
        height, width, channels = self.image_shape
        self.crop = arguments.truth("crop", crop)
        if None in self.image_shape or channels not in CHANNELS:
            raise ValueError(
                "`image_shape` must be height, width and 1 or 3 channels; "
                f"received {self.image_shape}."
            )
        if crop and height != width:
            raise ValueError(
                "With crop=True, `image_shape` must be square; received "
                f"{self.image_shape}. Choose crop=False."
            )
        self.max_pixels = arguments.positive_integer("max_pixels", max_pixels)

    def __call__(self, name: str, contents: tf.Tensor) -> tuple[tf.Tensor, ...]:
        def decode(entry):
            content, row = entry
            pixels = self._num_pixels(name, content, row)
            is_small = checks.require(
                pixels <= self.max_pixels,
                f"`{name}` must have images of at most {self.max_pixels} "
                "pixels. Received row and pixels:",
                row,
                pixels,
            )
            with tf.control_dependencies([is_small]):
                content = tf.identity(content)
            # TensorFlow puts the name of the operation into its errors.
            with tf.name_scope(f"{name}_has_a_damaged_or_truncated_image"):
                image = tf.io.decode_image(
                    content, self.image_shape[2], expand_animations=False
                )
            image.set_shape((None, None, self.image_shape[2]))
            is_light = _require_light(name, content, image, row)
            with tf.control_dependencies([is_light]):
                image = tf.identity(image)
            image = self._cropped(image) if self.crop else self._resized(image)
            return tf.ensure_shape(image, self.image_shape)

        return (
            tf.map_fn(
                decode,
                (contents, tf.range(tf.size(contents))),
                parallel_iterations=4,
                fn_output_signature=tf.TensorSpec(self.image_shape, tf.float32),
            ),
        )

    def _num_pixels(self, name, content, row) -> tf.Tensor:
        """Height times width, from the header of the file."""
        is_png = tf.equal(tf.strings.substr(content, 0, 8), PNG_START)
        is_png &= tf.strings.length(content) >= 24
        is_jpeg = tf.equal(tf.strings.substr(content, 0, 3), JPEG_START)
        is_image = checks.require(
            is_png | is_jpeg,
            f"`{name}` must have the contents of JPEG or PNG files; with REST "
            'as {"b64": "..."}. Received something else in row:',
            row,
        )

        def of_png():
            sides = tf.io.decode_raw(
                tf.strings.substr(content, 16, 8), tf.int32, little_endian=False
            )
            return tf.reduce_prod(tf.cast(sides, tf.int64))

        def of_jpeg():
            with tf.name_scope(f"{name}_has_a_damaged_or_truncated_image"):
                shape = tf.io.extract_jpeg_shape(content, tf.int64)
            return shape[0] * shape[1]

        with tf.control_dependencies([is_image]):
            return tf.cond(tf.identity(is_png), of_png, of_jpeg)

    def _resized(self, image) -> tf.Tensor:
        shape, sides = tf.shape(image, tf.int64)[:2], self.image_shape[:2]
        # The kernel resizes the height first. Where that takes much memory,
        # because the image is wide and low, the width is first here.
        height_first = sides[0] * shape[1]
        is_wide = height_first > tf.maximum(tf.reduce_prod(shape), MANY)
        height = tf.where(is_wide, shape[0], tf.constant(sides[0], tf.int64))
        first = tf.stack([height, sides[1]])
        image = _scaled(image, first, _ratio(first, shape))
        image = _scaled(image, sides, _ratio(sides, first))
        return _whole_numbers(image)

    def _cropped(self, image) -> tf.Tensor:
        size = tf.constant(self.image_shape[0], tf.int64)
        shape, zero = tf.shape(image, tf.int64)[:2], tf.zeros(2, tf.int64)
        exact = tf.cast(shape, tf.float64)
        sides = tf.round(
            exact * (self.image_shape[0] * 8 / 7) / tf.reduce_min(exact)
        )
        sides = tf.maximum(tf.cast(sides, tf.int64), size)
        sides = tf.where(tf.reduce_all(tf.equal(shape, size)), shape, sides)
        start = (sides - size) // 2
        # Of a long image, only the part that is seen in the square is scaled.
        is_long = tf.reduce_prod(sides) > LONG * size**2
        scale = tf.cast(sides, tf.float64) / exact
        margin = tf.maximum(1 / scale, 1) + 2
        seen = tf.cast(start, tf.float64) / scale
        first = tf.cast(tf.maximum(seen - margin, 0), tf.int64)
        first = tf.where(is_long, first, zero)
        length = tf.cast(size, tf.float64) / scale
        end = tf.cast(seen + length + margin, tf.int64)
        end = tf.where(is_long, tf.minimum(end, shape), shape)
        moved = tf.cast(first, tf.float64) * scale - tf.cast(start, tf.float64)
        image = _scaled(
            image[first[0] : end[0], first[1] : end[1]],
            tf.where(is_long, size, sides),
            _ratio(sides, shape),
            tf.cast(tf.where(is_long, moved, tf.zeros_like(moved)), tf.float32),
        )
        top, left = tf.unstack(tf.where(is_long, zero, start))
        return _whole_numbers(image[top : top + size, left : left + size])


def _require_light(name, content, image, row) -> tf.Operation:
    """Fails as `datasets.image_files` if the upper 8 of 16 bits lose an image.

    Args:
        name: Name of the input, for the message.
        content: The file.
        image: Its decoded pixels.
        row: Row of the input, for the message.
    """
    is_png = tf.equal(tf.strings.substr(content, 0, 8), PNG_START)
    bits = tf.strings.substr(content, BIT_DEPTH, 1)
    is_png &= tf.equal(bits, bytes([16]))
    is_dark = is_png & (tf.reduce_max(image) < LEAST_LIGHT)

    def is_one_colour_or_light():
        values = tf.io.decode_png(content, 3, tf.uint16)
        least = tf.cast(tf.reduce_min(values), tf.int32)
        largest = tf.cast(tf.reduce_max(values), tf.int32)
        # Grey may be darker than one of its colours.
        return (largest >= LEAST_LIGHT * 256) | tf.equal(least, largest)

    return checks.require(
        tf.cond(is_dark, is_one_colour_or_light, lambda: True),
        f"`{name}` has an image of 16 bits, of which the upper 8 are kept, and "
        f"they are all below {LEAST_LIGHT}; scale it to 8 bits. Received row:",
        row,
    )


def _ratio(sides, shape) -> tf.Tensor:
    return tf.cast(sides, tf.float32) / tf.cast(shape, tf.float32)


def _scaled(image, sides, scale, moved=(0.0, 0.0)) -> tf.Tensor:
    """As tf.image.resize with antialias=True, for a part of the result."""
    found = tf.raw_ops.ScaleAndTranslate(
        images=image[None],
        size=tf.cast(sides, tf.int32),
        scale=scale,
        translation=moved,
        kernel_type="triangle",
        antialias=True,
    )
    return found[0]


def _whole_numbers(image) -> tf.Tensor:
    return tf.clip_by_value(tf.round(image), 0, 255)
