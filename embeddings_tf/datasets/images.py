"""Images that are read on demand, as examples for `batches`."""

import threading
from collections.abc import Callable
from collections.abc import Sequence

import numpy as np

from embeddings_tf.datasets.crops import middle_crop
from embeddings_tf.datasets.crops import random_crop
from embeddings_tf.datasets.crops import resize
from embeddings_tf.datasets.row_numbers import row_numbers
from embeddings_tf.datasets.row_numbers import taken_rows
from embeddings_tf.ops.arguments import integer_at_least
from embeddings_tf.ops.arguments import num_rows
from embeddings_tf.ops.arguments import number_at_least
from embeddings_tf.ops.arguments import positive_integer
from embeddings_tf.ops.arguments import result
from embeddings_tf.ops.arguments import truth


class Images:
    """Images that are read on demand: one by one, or as batches of one size.

    Use it for photographs that do not fit into one array, because there are
    too many or because they differ in size. `load` returns `Images` for such
    data sets. `x[3]` is one whole image. For training, pass `x.with_size(...)`
    to `datasets.batches`: `x[indices]` then reads, crops and resizes only these
    images. If all images have one size, batches work without `with_size`.
    `x.cached(num_bytes)` keeps images in memory after the first read.

    ```
    without a seed: shorter side to 8/7 of `size` (256 for 224), the square in
                    the middle; an image of this size is not changed
    with a seed:    a rectangle of 8 to 100 % of the area, 3:4 to 4:3, to
                    `size` x `size`; mirrored half of the time
    crop=False:     the whole image to `size` x `size`, whatever its shape;
                    with a seed, mirrored half of the time
    ```

    Args:
        read: Function from the index of an image to the image, `uint8` of
            shape `(height, width, channels)`. Several threads may call it.
        num_images: Number of images.
        size: Height and width of each example of a batch. None: images are not
            changed, and all must have the size of the first image.
        seed: Integer, at least 0. If given, crops and mirroring are random: a
            pure function of the seed and the whole index vector `indices`. A
            resumed run therefore sees the same crops. If None, crops are in
            the middle.
        names: Names of the images in error messages, for example their files.
        crop: Whether to crop. If False, the whole image is resized, which
            changes its proportions unless it is square.
        content: Function from the index of an image to the bytes from which
            it is made, such as its file; fast to read, for hashes.

    Attributes:
        size: As above.
        names: As above.

    Raises:
        ValueError: If `size` is not positive, the seed is negative, the number
            of `names` differs from the number of images, `read` does not
            return an image, or images of a batch differ in size without
            `size`.
        IndexError: If an index is out of range.
        TypeError: If an index is not an integer, an integer vector or a slice.

    Reference:
        - [Monteiro et al., 2020](https://arxiv.org/abs/2002.09469), Sections
          4.4 and App. C: these crops, with the numbers of the authors'
          framework. Resizing is bilinear, with smoothing when images shrink.

    Example:

    >>> folder = [np.zeros((40, 30, 3), "uint8"), np.ones((9, 60, 3), "uint8")]
    >>> x = embeddings_tf.datasets.Images(folder.__getitem__, len(folder))
    >>> x[1].shape
    (9, 60, 3)
    >>> x.with_size(16)[np.array([1, 0])].shape
    (2, 16, 16, 3)
    """

    def __init__(
        self,
        read: Callable[[int], np.ndarray],
        num_images: int,
        size: int | None = None,
        seed: int | None = None,
        *,
        names: Sequence[str] | None = None,
        crop: bool = True,
        content: Callable[[int], bytes] | None = None,
    ):
        if not callable(read):
            raise ValueError(
                "read must be a function of the number of an image; received "
                f"{type(read).__name__}."
            )
        if size is not None:
            size = positive_integer("size", size)
        self._read = read
        self._num_images = integer_at_least("num_images", num_images, 0)
        if names is not None and num_rows("names", names) != self._num_images:
            raise ValueError(
                f"names must be one for each of {self._num_images} images; "
                f"received {len(names)}."
            )
        self.size = size
        self.names = None if names is None else list(names)
        self._seed = None if seed is None else integer_at_least("seed", seed, 0)
        self._crop = truth("crop", crop)
        if content is not None and not callable(content):
            raise ValueError(
                "content must be a function of the number of an image or None; "
                f"received {content!r}."
            )
        self._content = content
        self._first_shape = None

    def __len__(self) -> int:
        return self._num_images

    def __getitem__(self, index) -> np.ndarray:
        """Returns one image for an integer, a batch for a vector or slice."""
        index = row_numbers(index, len(self))
        if index.ndim == 0:
            return self._image(index)
        if self.size is None:
            return self._as_they_are(index)
        # An empty batch reads one image, for its number of channels.
        read = map(self._image, index if len(index) else [0])
        rng = None
        if self._seed is not None:
            rng = np.random.default_rng([self._seed, *index.tolist()])
        if not self._crop:
            images = [_whole(image, self.size, rng) for image in read]
        elif rng is None:
            images = [middle_crop(image, self.size) for image in read]
        else:
            images = [random_crop(image, self.size, rng) for image in read]
        for row, image in enumerate(images):
            if image.shape != images[0].shape:
                raise self._other_channels(index[0], index[row])
        return np.stack(images)[: len(index)]

    def with_size(
        self, size: int, seed: int | None = None, *, crop: bool = True
    ) -> "Images":
        """Returns the same images, as batches of another size."""
        return Images(
            self._read,
            len(self),
            size,
            seed,
            crop=crop,
            names=self.names,
            content=self._content,
        )

    def cached(self, num_bytes: int) -> "Images":
        """Returns the same images; each stays in memory after its first read.

        The kept images take at most `num_bytes`, at 3 bytes per pixel. When the
        memory is full, further images are read again each time.
        `with_size` and `take` share the kept images, which are read-only.

        Raises:
            ValueError: If `num_bytes` is not a number of at least 0.
        """
        number_at_least("num_bytes", num_bytes, 0)
        return Images(
            _Cache(self._image, num_bytes),
            len(self),
            self.size,
            self._seed,
            names=self.names,
            crop=self._crop,
            content=self._content,
        )

    def take(self, indices) -> "Images":
        """Returns some of the images, in the order of `indices`; reads none."""
        indices = taken_rows(indices, len(self), "images")
        read, names, content = self._read, self.names, self._content
        return Images(
            lambda number: read(int(indices[number])),
            len(indices),
            self.size,
            self._seed,
            names=None if names is None else [names[i] for i in indices],
            crop=self._crop,
            content=None
            if content is None
            else lambda number: content(int(indices[number])),
        )

    def content(self, number: int) -> bytes:
        """Returns the bytes from which an image is made, or its pixels."""
        row = row_numbers(number, len(self), slices=False)
        if row.ndim:
            raise TypeError("content takes the number of one image.")
        if self._content is not None:
            return self._content(int(row))
        image = self._image(row)
        return repr(image.shape).encode() + image.tobytes()

    def _image(self, number):
        image = result("read", self._read(int(number)))
        if image.ndim != 3 or image.dtype != np.uint8 or not image.size:
            raise ValueError(
                f"{self._called(number)} must be uint8 of shape (height, "
                f"width, channels); received shape {image.shape} and dtype "
                f"{image.dtype}."
            )
        return image

    def _as_they_are(self, index):
        """Returns a batch of whole images, which must have one shape."""
        if self._first_shape is None:
            self._first_shape = self._image(0).shape
        batch = np.empty((len(index), *self._first_shape), np.uint8)
        for row, number in enumerate(index):
            image = self._image(number)
            if image.shape[2] != self._first_shape[2]:
                raise self._other_channels(0, number)
            if image.shape != self._first_shape:
                raise ValueError(
                    f"Images differ in size: {self._called(0)} has shape "
                    f"{self._first_shape}, {self._called(number)} has shape "
                    f"{image.shape}; crop and resize them with "
                    "x.with_size(64), or in a command with "
                    "--config.images.size=64 and another --workdir."
                )
            batch[row] = image
        return batch

    def _other_channels(self, number, other):
        first, second = self._image(number), self._image(other)
        return ValueError(
            "Images differ in channels: "
            f"{self._called(number)} has {first.shape[2]}, "
            f"{self._called(other)} has {second.shape[2]}; convert them when "
            "they are read."
        )

    def _called(self, number):
        if self.names is None:
            return f"Image {number}"
        return f"Image {number} ({self.names[number]})"


class _Cache:
    """Caches the first results of a function of an image index."""

    def __init__(self, read, num_bytes):
        self._read = read
        self._free = num_bytes
        self._kept = {}
        self._lock = threading.Lock()

    def __call__(self, number):
        image = self._kept.get(number)
        if image is not None:
            return image
        image = self._read(number)
        with self._lock:
            if number not in self._kept and image.nbytes <= self._free:
                # Copied, since a view would keep the whole array alive.
                self._kept[number] = image = image.copy()
                self._free -= image.nbytes
                image.flags.writeable = False
        return image


def _whole(image, size, rng):
    image = resize(image, (size, size))
    mirrored = rng is not None and rng.uniform() < 0.5
    return image[:, ::-1] if mirrored else image
