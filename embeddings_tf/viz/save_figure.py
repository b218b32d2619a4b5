"""Saves figures as files and for TensorBoard."""

import errno
import os

import numpy as np
import tensorflow as tf

from embeddings_tf.ops import arguments
from embeddings_tf.ops.atomic_file import atomic_file


def save_figure(
    figure, path: str | os.PathLike, log_dir=None, step: int = 0
) -> str:
    """Saves a figure as PNG, and for TensorBoard if a log folder is given.

    Args:
        figure: A `matplotlib.figure.Figure`.
        path: Path of the PNG file; written atomically.
        log_dir: TensorBoard folder; the image's tag is the file's stem.
        step: Step of the image in TensorBoard.

    Returns:
        The path.

    Raises:
        ValueError: If `figure`, `path` or `log_dir` is invalid.
        OSError: If the file cannot be written, or `log_dir` is a file.

    Example:

    >>> from matplotlib.figure import Figure
    >>> path = embeddings_tf.viz.save_figure(Figure(), "/tmp/empty.png")
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    if not isinstance(figure, Figure):
        raise ValueError(
            "`figure` must be a matplotlib.figure.Figure; received "
            f"{type(figure).__name__}."
        )
    path = arguments.path("path", path)
    if log_dir is not None:
        log_dir = arguments.path("log_dir", log_dir)
        if log_dir.exists() and not log_dir.is_dir():
            raise NotADirectoryError(
                errno.ENOTDIR, "`log_dir` must be a folder", str(log_dir)
            )
    canvas = FigureCanvasAgg(figure)
    with atomic_file(path) as temporary:
        canvas.print_png(temporary)
    if log_dir is not None:
        image = np.asarray(canvas.buffer_rgba())[None, ..., :3]  # as printed
        writer = tf.summary.create_file_writer(str(log_dir))
        with writer.as_default():
            tf.summary.image(path.stem, image, step=step)
        writer.close()
    return str(path)
