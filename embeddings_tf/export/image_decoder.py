"""Decodes and resizes image files inside an exported graph."""

from typing import Any

import tensorflow as tf

from embeddings_tf.export import checks
from embeddings_tf.ops import arguments

# The first bytes of files; zlib and JPEG data are checked by their decoders.
_PNG, _JPEG = b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff"
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
            truncated, damaged, too large or of another format.

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
        self.image_shape: Any = arguments.image_shape(image_shape)
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
        is_png = tf.equal(tf.strings.substr(content, 0, 8), _PNG)
        is_png &= tf.strings.length(content) >= 24
        is_jpeg = tf.equal(tf.strings.substr(content, 0, 3), _JPEG)
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
        return _resize(image, self.image_shape[:2])

    def _cropped(self, image) -> tf.Tensor:
        size = self.image_shape[0]
        shape = tf.shape(image)[:2]
        exact = tf.cast(shape, tf.float64)
        scaled = tf.round(exact * (size * 8 / 7) / tf.reduce_min(exact))
        sides = tf.cast(tf.maximum(scaled, size), tf.int32)
        sides = tf.where(tf.reduce_all(tf.equal(shape, size)), shape, sides)
        top, left = tf.unstack((sides - size) // 2)
        image = _resize(image, sides)
        return image[top : top + size, left : left + size]


def _resize(image, sides) -> tf.Tensor:
    resized = tf.image.resize(image, sides, antialias=True)
    return tf.clip_by_value(tf.round(resized), 0, 255)
