"""What the tests of figures share."""

import sys

import matplotlib.image
import pytest

from embeddings_tf import viz


@pytest.fixture(autouse=True)
def headless(monkeypatch):
    """No display, and none of pyplot's global state."""
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "MPLBACKEND"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)


@pytest.fixture
def pixels(tmp_path):
    """From a figure to its PNG as an array of 8-bit RGBA."""

    def read(figure):
        path = viz.save_figure(figure, tmp_path / "figure.png")
        return (255 * matplotlib.image.imread(path)).round().astype("uint8")

    return read
