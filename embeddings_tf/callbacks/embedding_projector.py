"""Writes held-out embeddings for TensorBoard's projector."""

import io
import math
import os
import re
from collections.abc import Mapping

import numpy as np
import tensorflow as tf

from embeddings_tf.callbacks.held_out import HeldOutWriter
from embeddings_tf.models.method import Method
from embeddings_tf.ops.arguments import array
from embeddings_tf.ops.arguments import path
from embeddings_tf.ops.arguments import text
from embeddings_tf.ops.pixels import require_pixels
from embeddings_tf.ops.write_atomically import write_atomically

# The projector shows three principal components.
FEWEST_COLUMNS = 3
# TensorBoard's limit for a sprite, in pixels per side.
LARGEST_SPRITE = 8192


class EmbeddingProjector(HeldOutWriter):
    """Shows a held-out set in TensorBoard's projector while a model trains.

    Use it in any `model.fit` whose model returns embeddings. Then open the tab
    Projector of `tensorboard --logdir LOG_DIR`, and press reload to see a
    later epoch. Keras's own `TensorBoard(embeddings_freq=)` shows the weights
    of an `Embedding` layer, not the embeddings of inputs.

    The callback writes to `log_dir` after every `every` epochs, at the end of
    training, and when `write()` is called. (List `EarlyStopping` before it, so
    that it writes the restored best weights.) Each file is written atomically:

    - `<name>.tsv`, one embedding per line; the mean of a Gaussian. Embeddings
      of one or two dimensions are padded with zeros to three, because the
      projector cannot show fewer;
    - `<name>_metadata.tsv`, one column per kind of label, and
      `total_variance` for Gaussians, the sum of the variances over
      dimensions: colour by it to see which inputs are uncertain;
    - `<name>_sprite.png`, if there are images;
    - `projector_config.pbtxt`, which keeps entries of other names;
    - an event file if there is none, because TensorBoard finds folders by
      their event files.

    Args:
        x: Held-out inputs that `model.predict` accepts in slices. Use at most a
            few thousand, because the browser has to draw them.
        labels: `(n,)` numbers or strings, or a mapping from column names to
            such labels, for instance `{"label": y, "file": names}`. Labels
            `(n, factors)` become columns `label_0`, `label_1`, ...
        log_dir: The folder; created if it does not exist.
        images: `(n, height, width)` or `(n, height, width, channels)` with 1
            or 3 channels, pixels 0 to 255; shown instead of dots.
        every: Number of epochs between two writings.
        name: Distinguishes several embeddings in one folder: letters, digits,
            `_` and `-`.
        batch_size: Number of inputs embedded at once.

    Raises:
        ValueError: If lengths differ or are 0, or an argument is not as
            described. If a label contains a tab or a line break. If images
            have another shape, or are too many for one sprite (8192 pixels
            per side). If the folder's `projector_config.pbtxt` cannot be
            read. If an embedding is not finite.
        OSError: If the folder cannot be written to.

    Reference:
        - [Smilkov et al., 2016](https://arxiv.org/abs/1611.05469)
        - [TensorBoard](https://www.tensorflow.org/tensorboard/tensorboard_projector_plugin)

    Example:

    >>> x, log_dir = np.random.rand(20, 8), tempfile.mkdtemp()
    >>> projector = embeddings_tf.callbacks.EmbeddingProjector(
    ...     x, np.arange(20) % 4, log_dir, every=5
    ... )
    >>> encoder = keras.Sequential([keras.Input((8,)), keras.layers.Dense(2)])
    >>> encoder.compile(loss=embeddings_tf.losses.TripletLoss())
    >>> _ = encoder.fit(
    ...     x, np.arange(20) % 4, verbose=0, callbacks=[projector]
    ... )
    >>> np.loadtxt(f"{log_dir}/embedding.tsv").shape
    (20, 3)
    """

    def __init__(
        self,
        x,
        labels,
        log_dir: str | os.PathLike,
        *,
        images=None,
        every: int = 1,
        name: str = "embedding",
        batch_size: int = 256,
    ):
        super().__init__(x, batch_size, every)
        if not re.fullmatch(r"[\w-]+", text("name", name)):
            raise ValueError(
                "`name` becomes part of file names and must consist of "
                f"letters, digits, _ and -; received {name!r}."
            )
        self.columns = _columns(labels, self.num_inputs)
        self.log_dir = path("log_dir", log_dir)
        self.name = name
        self.images = (
            None if images is None else image_pixels(images, self.num_inputs)
        )

    def write_embeddings(self, embeddings) -> None:
        """Writes embeddings `(n, width)` that the model has made of `x`."""
        if len(embeddings) != len(self.x):
            raise ValueError(
                "`embeddings` must have one row per input; received "
                f"{len(embeddings)} rows for {len(self.x)} inputs."
            )
        finite = np.isfinite(embeddings).all(axis=1)
        if not finite.all():
            raise ValueError(
                f"The embedding of input {finite.argmin()} is not finite; the "
                "projector cannot show it. Check for a learning rate that is "
                "too high, or for NaN in the inputs."
            )
        columns, method = self.columns, Method(self.model)
        variance = method.variances(embeddings)
        embeddings = method.points(embeddings).numpy()
        if variance is not None:
            total = tf.reduce_sum(variance, axis=-1).numpy()
            columns = {
                **columns,
                "total_variance": [f"{value:.6g}" for value in total],
            }
        missing = max(0, FEWEST_COLUMNS - embeddings.shape[1])
        embeddings = np.pad(embeddings, ((0, 0), (0, missing)))
        self.log_dir.mkdir(parents=True, exist_ok=True)
        rows = io.BytesIO()
        np.savetxt(rows, embeddings, fmt="%.9g", delimiter="\t")
        write_atomically(self.log_dir / f"{self.name}.tsv", rows.getvalue())
        write_atomically(
            self.log_dir / f"{self.name}_metadata.tsv",
            # Names of files need not be UTF-8.
            _metadata(columns).encode("utf-8", "backslashreplace"),
        )
        if self.images is not None:
            write_atomically(
                self.log_dir / f"{self.name}_sprite.png",
                tf.io.encode_png(_sprite(self.images)).numpy(),
            )
        self._write_config()
        if not any(self.log_dir.glob("*tfevents*")):
            tf.summary.create_file_writer(str(self.log_dir)).close()

    def _write_config(self) -> None:
        from google.protobuf import text_format
        from tensorboard.plugins import projector

        path = self.log_dir / "projector_config.pbtxt"
        config = projector.ProjectorConfig()
        if path.exists():
            try:
                text_format.Parse(path.read_text(encoding="utf-8"), config)
            except (text_format.ParseError, UnicodeDecodeError) as error:
                raise ValueError(
                    f"{path} is not a projector configuration: {error}. "
                    "Remove it, or choose another `log_dir`."
                ) from error
        others = [e for e in config.embeddings if e.tensor_name != self.name]
        del config.embeddings[:]
        config.embeddings.extend(others)
        entry = config.embeddings.add(
            tensor_name=self.name,
            tensor_path=f"{self.name}.tsv",
            metadata_path=f"{self.name}_metadata.tsv",
        )
        if self.images is not None:
            entry.sprite.image_path = f"{self.name}_sprite.png"
            height, width = self.images.shape[1:3]
            entry.sprite.single_image_dim.extend([width, height])
        write_atomically(path, text_format.MessageToString(config).encode())


def _columns(labels, length: int) -> dict[str, list[str]]:
    """Returns labels as strings, by the names of their columns."""
    if not isinstance(labels, Mapping):
        labels = array("labels", labels)
        if labels.ndim == 2:
            labels = {f"label_{i}": c for i, c in enumerate(labels.T)}
        else:
            labels = {"label": labels}
    columns = {}
    for name, values in labels.items():
        if not isinstance(name, str):
            raise ValueError(
                "The columns of `labels` must have strings as names; received "
                f"{name!r}."
            )
        values = array(f"labels[{name!r}]", values)
        if values.shape != (length,) or length == 0:
            raise ValueError(
                "`labels` must have one label per input, and at least one; "
                f"received {length} inputs and `labels` {name!r} of shape "
                f"{values.shape}."
            )
        columns[name] = [_as_text(value) for value in values.tolist()]
        for label in (name, *columns[name]):
            if re.search(r"[\t\r\n]", label):
                raise ValueError(
                    "`labels` must not contain tabs or line breaks, which "
                    f"are separators in the file; received {label!r}."
                )
    if not columns:
        raise ValueError("`labels` must have at least one column.")
    return columns


def _as_text(label) -> str:
    """Returns a label as text; TensorFlow has strings as UTF-8 bytes."""
    if isinstance(label, bytes):
        return label.decode("utf-8", "surrogateescape")
    return str(label)


def _metadata(columns: Mapping[str, list[str]]) -> str:
    """TensorBoard reads the first line as names if there are two columns.

    It skips lines without text, which would move all later labels.
    """
    lines = ["\t".join(row) for row in zip(*columns.values(), strict=True)]
    lines = [line if line.strip() else "(empty)" for line in lines]
    if len(columns) > 1:
        lines.insert(0, "\t".join(columns))
    return "\n".join(lines) + "\n"


def image_pixels(images, length: int) -> np.ndarray:
    """Returns images as uint8 `(n, height, width, channels)`."""
    images = array("images", images)
    received = images.shape
    if images.ndim == 3:
        images = images[..., None]
    if (
        images.ndim != 4
        or len(images) != length
        or images.shape[-1] not in (1, 3)
        or not images.size
    ):
        raise ValueError(
            f"`images` must be ({length}, height, width) or ({length}, height, "
            f"width, channels) of 1 or 3 channels; received {received}."
        )
    require_pixels(images)
    largest = math.ceil(math.sqrt(length)) * max(images.shape[1:3])
    if largest > LARGEST_SPRITE:
        raise ValueError(
            f"`images` make a sprite of {largest} pixels per side; TensorBoard "
            f"reads at most {LARGEST_SPRITE}. Pass fewer or smaller images."
        )
    return np.round(images).astype(np.uint8)


def _sprite(images: np.ndarray) -> np.ndarray:
    """Arranges images row by row in a square grid; the rest is black."""
    count, height, width, channels = images.shape
    side = math.ceil(math.sqrt(count))
    grid = np.zeros((side * side, height, width, channels), np.uint8)
    grid[:count] = images
    grid = grid.reshape(side, side, height, width, channels)
    return grid.transpose(0, 2, 1, 3, 4).reshape(
        side * height, side * width, channels
    )
