"""Embeds partly occluded images and relates uncertainty to occlusion."""

from typing import NamedTuple

import numpy as np
import tensorflow as tf

from embeddings_tf.datasets import Utterances
from embeddings_tf.datasets import corrupt
from embeddings_tf.datasets import occlusion_mask
from embeddings_tf.models.method import Method
from trainers.measures.embed import embed
from trainers.measures.rank_correlation import rank_correlation
from trainers.terminal.progress import Progress

BLOCK = 1000
CONDITIONS = ("clean", "corrupt_support", "corrupt_query")


class EmbeddedSplit(NamedTuple):
    """One test split, embedded clean and in every corruption draw.

    `corrupted` and `occluded` have an entry per draw. They are empty for
    examples that are not images. `class_names` are readable labels.
    """

    name: str
    num_classes: int
    labels: np.ndarray
    class_names: np.ndarray
    clean: np.ndarray
    corrupted: list[np.ndarray]
    occluded: list[np.ndarray]

    @property
    def conditions(self) -> tuple[str, ...]:
        return CONDITIONS if self.corrupted else CONDITIONS[:1]

    def sides(self, condition: str, draw: int = 0):
        """Embeddings from which supports and queries are drawn."""
        if condition == "corrupt_support":
            return self.corrupted[draw], self.clean
        if condition == "corrupt_query":
            return self.clean, self.corrupted[draw]
        return self.clean, self.clean


def embed_split(
    model,
    name,
    num_classes,
    x,
    labels,
    class_names,
    num_draws,
    num_parts=lambda shape: 1,
) -> EmbeddedSplit:
    """Embeds a split clean and, if it has images, in `num_draws` corruptions.

    Args:
        model: The trained model.
        name: Name of the split.
        num_classes: Number of classes per episode on this split.
        x: Examples.
        labels: Labels of the examples.
        class_names: Readable names of their classes, `(n,)`.
        num_draws: Number of corruption draws.
        num_parts: Function from `(height, width, channels)` to the number of
            parts, side by side in an image, that are occluded separately.
    """
    corrupted, occluded = [], []
    shape = _image_shape(x)
    if shape is not None:
        parts = num_parts(shape)
        for draw in range(num_draws):
            corrupted.append(embed_corrupted(model, x, draw, parts))
            occluded.append(occluded_fraction((len(x), *shape), draw, parts))
    return EmbeddedSplit(
        name,
        num_classes,
        labels,
        class_names,
        embed(model, x),
        corrupted,
        occluded,
    )


def _image_shape(x):
    """Returns `(height, width, channels)` of images; None for others."""
    if isinstance(x, Utterances):
        return None
    shape = np.shape(x[:1])[1:]
    return shape if len(shape) == 3 else None


def embed_corrupted(model, x, draw: int, num_parts: int = 1) -> np.ndarray:
    """Embeds all of `x` with `num_parts` parts of each image corrupted."""
    blocks, progress = [], Progress(len(x), "occluded image")
    for first in range(0, len(x), BLOCK):
        block = tf.convert_to_tensor(x[first : first + BLOCK])
        block = corrupt(block, _seed(draw, first), num_digits=num_parts)
        # On several replicas, Keras returns the batch of each of them.
        blocks.append(model.predict_on_batch(block)[: len(block)])
        progress.advance(len(block))
    return np.concatenate(blocks)


def occluded_fraction(shape, draw: int, num_parts: int = 1) -> np.ndarray:
    """Share of each part of an image that a draw hides, `(n, num_parts)`.

    Args:
        shape: `(n, height, width, channels)`.
        draw: Number of the draw.
        num_parts: Number of parts side by side in an image.
    """
    num_images, height, width = shape[:3]
    width //= num_parts
    blocks = []
    for first in range(0, num_images, BLOCK):
        count = min(BLOCK, num_images - first)
        seed = _seed(draw, first)
        mask = occlusion_mask(count, (height, width), num_parts, seed)
        cells = np.reshape(mask, (count, height, num_parts, width))
        blocks.append(cells.mean(axis=(1, 3)))
    return np.concatenate(blocks)


def _seed(draw: int, first: int) -> tf.Tensor:
    return tf.constant([draw, first], tf.int32)


def variance_and_occlusion(method: Method, splits: list[EmbeddedSplit]):
    """Predicted variances `(n, dim)` of corrupted images, and hidden shares.

    Both are over all splits and draws; the second is `(n, num_parts)`. The
    method must predict variances.
    """
    embeddings = np.concatenate([e for s in splits for e in s.corrupted])
    occluded = np.concatenate([o for s in splits for o in s.occluded])
    return method.variances(embeddings).numpy(), occluded


def uncertainty(
    method: Method, splits: list[EmbeddedSplit]
) -> tuple[dict, dict]:
    """Measures whether the variance rises with occlusion; adds its curve."""
    variance, occluded = variance_and_occlusion(method, splits)
    total = variance.sum(-1)
    overall = occluded.mean(-1)
    edges = np.linspace(0, overall.max(), 11)
    bins = np.clip(np.digitize(overall, edges) - 1, 0, 9)
    filled = [b for b in range(10) if (bins == b).any()]
    curve = {
        "occluded": [float(overall[bins == b].mean()) for b in filled],
        "stddev": [float(np.sqrt(total[bins == b]).mean()) for b in filled],
    }
    result = {
        "rank_correlation_with_occlusion": rank_correlation(overall, total),
        "median_variance_by_dimension": np.median(variance, 0).tolist(),
        **{f"curve_{name}": values for name, values in curve.items()},
    }
    return result, curve
