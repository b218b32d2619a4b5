"""Images with two factors and a known Bayes accuracy."""

import numpy as np

from embeddings_tf.datasets.l_shapes import SIZE
from embeddings_tf.datasets.l_shapes import draw_l_shapes
from embeddings_tf.datasets.row_numbers import row_numbers
from embeddings_tf.ops.arguments import integer_at_least
from embeddings_tf.ops.arguments import number_at_least
from embeddings_tf.ops.arguments import positive_integer
from embeddings_tf.ops.arguments import truth

# Degrees, of hue and of orientation.
CENTRES = (45.0, 135.0)
STANDARD_DEVIATION = 22.5
SHORTEST_AND_LONGEST_LEG = (0.1, 0.98)
# Images, seed, and share of images with noise.
SPLITS = {
    "train": (50_000, 0, 0.15),
    "validation": (2_000, 1, 0.15),
    "test": (10_000, 2, 0.0),
}


class ColourOrientation:
    """Images of an L; the class is its colour and its orientation.

    Use it to see what an embedding does with two factors and with unclear
    images. The four classes are two hues times two orientations. Hue and
    orientation of an image are Gaussian around the centre of its class, so
    classes overlap and the accuracy of the ideal classifier is known. Images
    are drawn when they are read, without files; image `i` depends only on
    `i` and the arguments. Pass the object to `datasets.batches` as `x`.

    ```
    class = 2 * (second orientation) + (second hue)
    hue, orientation ~ N(45 or 135 degrees, 22.5 degrees)
    noisy images:  hue of each pixel ~ N(hue, s), s uniform in 0..L degrees
                   legs times a factor, uniform in 0.1..0.98
    ```

    Args:
        num_images: Number of images.
        seed: Integer, at least 0.
        noisy: Share of noisy images, in `[0, 1]`.
        largest_hue_noise: `L` of the formula, in degrees. The mean hue of a
            whole shape identifies its class if the noise is 90 degrees, in
            99 % of the shapes at 120 degrees and in 76 % at 150 degrees.

    Attributes:
        labels: Classes 0, 1, 2, 3, 0, ..., `int32` of shape `(num_images,)`.
        orientation: Orientations in degrees, `(num_images,)`.
        hue: Hues in degrees, `(num_images,)`.
        hue_noise: Standard deviations of the hue over pixels.
        leg: Lengths of the legs; 1 for whole legs.

    Raises:
        ValueError: If an argument is out of range or of the wrong type.
        IndexError: If an index is out of range.
        TypeError: If an index is not an integer, an integer vector or a slice.

    Reference:
        - [Scott, Ridgeway & Mozer, 2019](https://arxiv.org/abs/1909.11702),
          Section 4.1. Its text lost the size of the images, the centres and
          standard deviations and the range of the hue noise; these are ours.

    Example:

    >>> x = embeddings_tf.datasets.ColourOrientation(100, seed=0)
    >>> x[:8].shape, x.labels[:8]
    ((8, 64, 64, 3), array([0, 1, 2, 3, 0, 1, 2, 3], dtype=int32))
    """

    def __init__(
        self,
        num_images: int,
        seed: int,
        noisy: float = 0.15,
        *,
        largest_hue_noise: float = 180.0,
    ):
        num_images = positive_integer("num_images", num_images)
        self._seed = integer_at_least("seed", seed, 0)
        noisy = number_at_least("noisy", noisy, 0, 1)
        largest = number_at_least("largest_hue_noise", largest_hue_noise, 0)
        rng = np.random.default_rng(self._seed)
        self.labels = (np.arange(num_images) % 4).astype(np.int32)
        factors = rng.normal(self._centres(), STANDARD_DEVIATION)
        self.orientation, self.hue = factors % 360
        is_noisy = rng.random(num_images) < noisy
        self.hue_noise = is_noisy * rng.uniform(0, largest, num_images)
        legs = rng.uniform(*SHORTEST_AND_LONGEST_LEG, num_images)
        self.leg = np.where(is_noisy, legs, 1.0)

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index) -> np.ndarray:
        """One image for an integer, a batch for an integer vector or slice."""
        index = row_numbers(index, len(self))
        if index.ndim == 0:
            return self[index[None]][0]
        hue = np.tile(self.hue[index, None, None], (1, SIZE, SIZE))
        for row, i in enumerate(index):
            if self.hue_noise[i]:
                rng = np.random.default_rng([self._seed, i])
                hue[row] += self.hue_noise[i] * rng.normal(size=hue[row].shape)
        return draw_l_shapes(self.orientation[index], hue, self.leg[index])

    def distorted(
        self, hue_noise: float = 0.0, leg: float = 1.0, *, centred: bool = False
    ) -> "ColourOrientation":
        """The same shapes and colours, all with one noise and one length.

        Args:
            hue_noise: Standard deviation of the hue over pixels, in degrees.
            leg: Length of the legs, 1 for whole legs.
            centred: Whether to take the hue and the orientation of the centre
                of each image's class instead of the image's own.

        Example:

        >>> x = embeddings_tf.datasets.ColourOrientation(4, seed=0)
        >>> set(x.distorted(hue_noise=30.0).hue_noise.tolist())
        {30.0}
        """
        hue_noise = number_at_least("hue_noise", hue_noise, 0)
        leg = number_at_least("leg", leg, 0)
        copy = object.__new__(type(self))
        copy.__dict__.update(self.__dict__)
        copy.hue_noise = np.full(len(self), hue_noise)
        copy.leg = np.full(len(self), leg)
        if truth("centred", centred):
            copy.orientation, copy.hue = self._centres()
        return copy

    def _centres(self) -> np.ndarray:
        """Orientation and hue of the centre of each class, `(2, n)`."""
        return np.array(CENTRES)[[self.labels // 2, self.labels % 2]]

    def ideal_classes(self) -> np.ndarray:
        """The most probable class given hue and orientation, `(num_images,)`.

        This is the ideal classifier of whole shapes without noise. Its
        expected accuracy is `bayes_accuracy()`.
        """
        second = [
            np.cos(np.deg2rad(angle - CENTRES[1]))
            > np.cos(np.deg2rad(angle - CENTRES[0]))
            for angle in (self.orientation, self.hue)
        ]
        return (2 * second[0] + second[1]).astype(np.int32)


def bayes_accuracy(
    distance: float = CENTRES[1] - CENTRES[0],
    standard_deviation: float = STANDARD_DEVIATION,
) -> float:
    """Accuracy of the ideal classifier of two binary factors on circles.

    The ideal classifier chooses the nearer of two centres. The two points of a
    circle that are equally far from both centres divide it into two arcs. An
    angle is classified correctly if it is on the arc of its class's centre.

    Args:
        distance: Degrees between the centres of a factor, up to 180.
        standard_deviation: Degrees, of each class of a factor.
    """
    from scipy.stats import norm

    turns = 360.0 * np.arange(-20, 21)
    upper = norm.cdf((distance / 2 + turns) / standard_deviation)
    lower = norm.cdf((distance / 2 - 180 + turns) / standard_deviation)
    return float(np.sum(upper - lower) ** 2)
