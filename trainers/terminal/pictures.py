"""Pictures at the end of a command."""

import pathlib
from collections.abc import Callable


def save_picture(draw: Callable, path: pathlib.Path) -> None:
    """Saves the figure that `draw()` returns, and says where."""
    from embeddings_tf import viz

    try:
        print(f"Picture: {viz.save_figure(draw(), path)}")
    except OSError as error:  # the answers are already written
        reason = error.strerror or error
        print(f"No picture: {path} cannot be written ({reason}).")
