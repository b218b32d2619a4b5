import os
from unittest import mock

import numpy as np
import pytest
import tensorflow as tf
from matplotlib.figure import Figure

from embeddings_tf import viz


def figure():
    drawn = Figure(figsize=(3, 2))
    drawn.subplots().plot([1, 3, 2])
    return drawn


def test_png(tmp_path):
    path = tmp_path / "embedding.png"
    assert viz.save_figure(figure(), path) == str(path)
    assert path.read_bytes().startswith(b"\x89PNG")
    assert os.listdir(tmp_path) == ["embedding.png"]


def test_tensorboard_shows_the_same(tmp_path):
    from tensorboard.backend.event_processing import event_accumulator

    log_dir = tmp_path / "logs"
    path = viz.save_figure(
        figure(), tmp_path / "embedding.png", log_dir, step=7
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


def test_overwrites(tmp_path):
    path = tmp_path / "embedding.png"
    path.write_text("old")
    viz.save_figure(figure(), path)
    assert path.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    "broken",
    [
        "os.replace",
        "matplotlib.backends.backend_agg.FigureCanvasAgg.print_png",
    ],
)
def test_a_failing_write_keeps_the_old_file(broken, tmp_path):
    path = tmp_path / "embedding.png"
    path.write_text("old")

    def fail(*arguments):
        for name in arguments:
            if getattr(name, "name", "").startswith(".embedding."):
                name.write_text("half")
        raise OSError(28, "No space left on device")

    with mock.patch(broken, fail):
        with pytest.raises(OSError, match="No space left"):
            viz.save_figure(figure(), path)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["embedding.png"]


def test_missing_folder(tmp_path):
    with pytest.raises(FileNotFoundError, match="absent"):
        viz.save_figure(figure(), tmp_path / "absent" / "a.png")
