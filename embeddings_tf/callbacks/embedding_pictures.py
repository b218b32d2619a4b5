"""Draws held-out embeddings for TensorBoard during training."""

import os

import numpy as np
import tensorflow as tf

from embeddings_tf.callbacks.embedding_projector import image_pixels
from embeddings_tf.callbacks.held_out import HeldOutWriter
from embeddings_tf.callbacks.held_out import require_labels
from embeddings_tf.metrics import arrays
from embeddings_tf.models.method import Method
from embeddings_tf.ops.arguments import array
from embeddings_tf.ops.arguments import path
from embeddings_tf.ops.nearest import Distances
from embeddings_tf.ops.nearest import nearest
from embeddings_tf.ops.other_rows import other_rows
from embeddings_tf.viz.plane import plane
from embeddings_tf.viz.raster import raster

# More classes have no room in the figure.
MOST_CLASSES = 12
NUM_QUERIES, NUM_NEIGHBOURS = 6, 5


class EmbeddingPictures(HeldOutWriter):
    """Draws held-out embeddings in TensorBoard's tab Images as a model trains.

    Use it in any `model.fit` whose model returns embeddings, to see classes
    separate, or collapse. It draws after every `every` epochs, at the end of
    training, and when `write()` is called, to `log_dir/validation`:

    - `embedding`: the first twelve classes by the first two dimensions. More
      dimensions are projected to the two principal components. In two
      dimensions, ellipses show one predicted standard deviation along each;
    - `neighbours`, if there are images: an input of each of the first six
      classes, with its five nearest neighbours. A wrong class has a red frame.

    Args:
        x: Held-out inputs that `model.predict` accepts in slices; at most a
            few thousand.
        labels: `(n,)` integers.
        log_dir: Folder for TensorBoard.
        images: `(n, height, width)` or `(n, height, width, channels)` with 1
            or 3 channels, pixels 0 to 255, for `neighbours`.
        every: Number of epochs between two pictures.
        batch_size: Number of inputs embedded at once.

    Raises:
        ValueError: If lengths differ, there are fewer than two inputs, or an
            argument is not as described. If an embedding is not finite.
        ImportError: If Matplotlib is not installed.
        OSError: If the folder cannot be written to.

    Reference:
        - [Scott, Ridgeway & Mozer, 2019](https://arxiv.org/abs/1909.11702),
          Figure 7.

    Example:

    >>> x, labels = np.random.rand(20, 8), np.arange(20) % 4
    >>> pictures = embeddings_tf.callbacks.EmbeddingPictures(
    ...     x, labels, tempfile.mkdtemp()
    ... )
    >>> encoder = keras.Sequential([keras.Input((8,)), keras.layers.Dense(2)])
    >>> encoder.compile(loss=embeddings_tf.losses.TripletLoss())
    >>> _ = encoder.fit(x, labels, verbose=0, callbacks=[pictures])
    """

    def __init__(
        self,
        x,
        labels,
        log_dir: str | os.PathLike,
        *,
        images=None,
        every: int = 10,
        batch_size: int = 256,
    ):
        super().__init__(x, batch_size, every)
        self.labels = arrays.integers(
            "labels", array("labels", labels), 1, "(n,)"
        )
        require_labels(self.num_inputs, len(self.labels), least=2)
        self.log_dir = path("log_dir", log_dir)
        self.images = (
            None if images is None else image_pixels(images, self.num_inputs)
        )

    def write_embeddings(self, embeddings) -> None:
        """Draws embeddings `(n, width)` that the model has made of `x`."""
        method = Method(self.model)
        points = method.points(embeddings).numpy().astype(np.float64)
        if len(points) != len(self.x) or not np.isfinite(points).all():
            raise ValueError(
                "`embeddings` must be one finite row per input; received "
                f"{len(points)} rows for {len(self.x)} inputs, "
                f"{np.isfinite(points).all(axis=1).sum()} of them finite."
            )
        figures = {"embedding": _scatter(method, embeddings, self.labels)}
        if self.images is not None:
            figures["neighbours"] = _neighbours(
                points, self.labels, self.images, method.distance
            )
        folder = str(self.log_dir / "validation")
        writer = tf.summary.create_file_writer(folder)
        step = int(self.model.optimizer.iterations.numpy())
        with writer.as_default(step=step):
            for name, figure in figures.items():
                tf.summary.image(name, raster(figure)[None])
                figure.clear()
        writer.close()


def _scatter(method, embeddings, labels):
    from embeddings_tf.viz import embedding_figure

    dim = method.points(embeddings).shape[1]
    titles = {1: "1 dimension", 2: "2 dimensions"}
    drawn = plane(method, embeddings)
    shown = labels <= np.unique(labels)[:MOST_CLASSES][-1]
    for name in ("mean", "variance"):
        if drawn[name] is not None:
            drawn[name] = drawn[name][shown]
    return embedding_figure(
        **drawn,
        labels=labels[shown],
        seen=None,  # the key of seen classes would be wrong for held-out inputs
        factors={"class": labels[shown]},
        title=titles.get(dim, f"two principal components of {dim} dimensions"),
    )


def _neighbours(points, labels, images, distance):
    from embeddings_tf.viz import neighbours_figure

    queries = np.unique(labels, return_index=True)[1][:NUM_QUERIES]
    count = min(NUM_NEIGHBOURS, len(points) - 1)
    distances, found = Distances(points, points, distance), []
    for block, places in nearest(distances, queries, count + 1):
        found.extend(other_rows(places, block))
    return neighbours_figure(
        images[queries],
        [images[rows] for rows in found],
        [[str(label) for label in labels[rows]] for rows in found],
        [
            (labels[rows] == labels[query]).tolist()
            for query, rows in zip(queries, found, strict=True)
        ],
        query_captions=[str(label) for label in labels[queries]],
    )
