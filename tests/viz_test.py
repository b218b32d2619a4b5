import os
import sys
from unittest import mock

import matplotlib.image
import numpy as np
import pytest
import tensorflow as tf
from matplotlib.collections import EllipseCollection
from matplotlib.figure import Figure

from embeddings_tf import viz

LABELS = np.arange(40) % 5
SEEN = LABELS < 3
FACTORS = {"first": LABELS // 2, "second": LABELS % 2}


def points(dim=2):
    rng = np.random.default_rng(0)
    return 3 * np.eye(5, dim)[LABELS] + rng.normal(size=(40, dim))


def pixels(figure, tmp_path):
    """The PNG as an array of 8-bit RGBA."""
    path = viz.save_figure(figure, tmp_path / "figure.png")
    return (255 * matplotlib.image.imread(path)).round().astype("uint8")


@pytest.fixture(autouse=True)
def headless(monkeypatch):
    """No display, and none of pyplot's global state."""
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "MPLBACKEND"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)


def ellipses(panel):
    return [c for c in panel.collections if isinstance(c, EllipseCollection)]


class TestEmbeddingFigure:
    @pytest.mark.parametrize("dim", [2, 3])
    def test_gaussian(self, dim, tmp_path):
        mean = points(dim)
        variance = np.linspace(0.01, 4, 40 * dim).reshape(40, dim)
        figure = viz.embedding_figure(
            mean, variance, LABELS, SEEN, FACTORS, num_ellipses=2, title="Title"
        )
        assert len(figure.axes) == 2
        # Of each class the first two: rows 0 to 9, class by class.
        rows = np.concatenate([[c, c + 5] for c in range(5)])
        for panel, name in zip(figure.axes, FACTORS, strict=True):
            assert panel.get_title() == f"coloured by {name}"
            (drawn,) = ellipses(panel)
            np.testing.assert_allclose(drawn.get_offsets(), mean[rows, :2])
            np.testing.assert_allclose(
                drawn.get_widths(), 2 * np.sqrt(variance[rows, 0])
            )
            np.testing.assert_allclose(
                drawn.get_heights(), 2 * np.sqrt(variance[rows, 1])
            )
            assert [text.get_text() for text in panel.texts] == list("01234")
        assert "Title" in figure.get_suptitle()
        assert "one standard deviation" in figure.get_suptitle()
        assert pixels(figure, tmp_path).std() > 10

    def test_point(self, tmp_path):
        figure = viz.embedding_figure(points(), None, LABELS, SEEN, FACTORS)
        assert not any(ellipses(panel) for panel in figure.axes)
        assert "standard deviation" not in figure.get_suptitle()
        assert pixels(figure, tmp_path).std() > 10

    @pytest.mark.parametrize("seen", [True, False])
    def test_only_seen_or_unseen_classes(self, seen, tmp_path):
        figure = viz.embedding_figure(
            points(), None, LABELS, np.full(40, seen), {"label": LABELS}
        )
        assert pixels(figure, tmp_path).std() > 10

    def test_collapsed_embedding(self, tmp_path):
        figure = viz.embedding_figure(
            np.ones((40, 2)), np.full((40, 2), 1e-8), LABELS, SEEN, FACTORS
        )
        pixels(figure, tmp_path)

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"mean": points()[:, :1]}, r"two dimensions; received .*\(40, 1"),
            ({"mean": points()[0]}, "two dimensions"),
            ({"labels": LABELS[1:]}, "'labels' has 39 entries for 40"),
            ({"seen": SEEN[1:]}, "'seen' has 39 entries for 40"),
            ({"factors": {"digit": [1, 2]}}, "'digit' has 2 entries for 40"),
            ({"variance": np.ones((41, 2))}, "'variance' has 41 entries"),
        ],
    )
    def test_errors(self, change, message):
        arguments = {
            "mean": points(),
            "variance": np.ones((40, 2)),
            "labels": LABELS,
            "seen": SEEN,
            "factors": FACTORS,
        }
        with pytest.raises(ValueError, match=message):
            viz.embedding_figure(**{**arguments, **change})


class TestEvaluationFigure:
    reliability = {
        "confidence": np.array([0.2, 0.5, 0.9]),
        "accuracy": np.array([0.1, 0.6, 0.8]),
        "count": np.array([200, 1, 300]),
    }
    reject = {"reject": np.array([0, 0.5]), "error": np.array([0.2, 0.1])}
    occlusion = {"occluded": [0.1, 0.3], "stddev": [0.2, 0.5]}

    def test_curves(self, tmp_path):
        figure = viz.evaluation_figure(
            {"clean": self.reliability}, {"clean": self.reject}, self.occlusion
        )
        left, middle, right = figure.axes
        # The bin of a single query says nothing.
        np.testing.assert_array_equal(
            left.lines[1].get_xydata(), [[0.2, 0.1], [0.9, 0.8]]
        )
        np.testing.assert_array_equal(
            middle.lines[0].get_xydata(), [[0, 0.2], [0.5, 0.1]]
        )
        np.testing.assert_array_equal(
            right.lines[0].get_xydata(), [[0.1, 0.2], [0.3, 0.5]]
        )
        assert pixels(figure, tmp_path).std() > 10

    def test_point_embedding(self, tmp_path):
        figure = viz.evaluation_figure({}, {"clean": self.reject}, {})
        assert len(figure.axes) == 2
        pixels(figure, tmp_path)


class TestSaveFigure:
    def figure(self):
        figure = Figure(figsize=(3, 2))
        figure.subplots().plot([1, 3, 2])
        return figure

    def test_png(self, tmp_path):
        path = tmp_path / "embedding.png"
        assert viz.save_figure(self.figure(), path) == str(path)
        assert path.read_bytes().startswith(b"\x89PNG")
        assert os.listdir(tmp_path) == ["embedding.png"]

    def test_tensorboard_shows_the_same(self, tmp_path):
        from tensorboard.backend.event_processing import event_accumulator

        log_dir = tmp_path / "logs"
        path = viz.save_figure(
            self.figure(), tmp_path / "embedding.png", log_dir, step=7
        )
        events = event_accumulator.EventAccumulator(
            str(log_dir), size_guidance={event_accumulator.TENSORS: 0}
        ).Reload()
        assert events.Tags()["tensors"] == ["embedding"]
        (event,) = events.Tensors("embedding")
        assert event.step == 7
        width, height, png = event.tensor_proto.string_val
        shown = tf.io.decode_png(png).numpy()
        assert shown.shape == (int(height), int(width), 3)
        written = tf.io.decode_png(tf.io.read_file(path)).numpy()
        np.testing.assert_array_equal(shown, written[..., :3])

    def test_overwrites(self, tmp_path):
        path = tmp_path / "embedding.png"
        path.write_text("old")
        viz.save_figure(self.figure(), path)
        assert path.read_bytes().startswith(b"\x89PNG")

    @pytest.mark.parametrize(
        "broken",
        [
            "os.replace",
            "matplotlib.backends.backend_agg.FigureCanvasAgg.print_png",
        ],
    )
    def test_a_failing_write_keeps_the_old_file(self, broken, tmp_path):
        path = tmp_path / "embedding.png"
        path.write_text("old")

        def fail(*arguments):
            for name in arguments:
                if getattr(name, "name", None) == ".embedding.png":
                    name.write_text("half")
            raise OSError(28, "No space left on device")

        with mock.patch(broken, fail):
            with pytest.raises(OSError, match="No space left"):
                viz.save_figure(self.figure(), path)
        assert path.read_text() == "old"
        assert os.listdir(tmp_path) == ["embedding.png"]

    def test_missing_folder(self, tmp_path):
        with pytest.raises(FileNotFoundError, match="absent"):
            viz.save_figure(self.figure(), tmp_path / "absent" / "a.png")
