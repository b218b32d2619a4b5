"""Fixtures of the tests of figures."""

import sys

import matplotlib.image
import pytest

from embeddings_tf import viz


@pytest.fixture(autouse=True)
def headless(monkeypatch):
    """No display, and no global state of pyplot."""
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "MPLBACKEND"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)


@pytest.fixture
def pixels(tmp_path):
    """Returns a function from a figure to its PNG as 8-bit RGBA."""

    def read(figure):
        path = viz.save_figure(figure, tmp_path / "figure.png")
        return (255 * matplotlib.image.imread(path)).round().astype("uint8")

    return read
