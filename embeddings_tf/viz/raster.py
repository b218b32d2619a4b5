"""Turns figures into arrays of pixels."""

import numpy as np


def raster(figure) -> np.ndarray:
    """Returns the pixels of a figure, uint8 `(height, width, 3)`."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3]
