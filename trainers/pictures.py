"""Pictures at the end of a command, if Matplotlib is installed."""

import importlib.util
import pathlib
from collections.abc import Callable


def save_picture(draw: Callable, path: pathlib.Path) -> None:
    """Saves the figure that `draw()` returns, and says where.

    Without Matplotlib, a line says how to install it.
    """
    if importlib.util.find_spec("matplotlib") is None:
        print("For a picture: pip install 'embeddings_tf[plots]'")
        return
    from embeddings_tf import viz

    print(f"Picture: {viz.save_figure(draw(), path)}")
