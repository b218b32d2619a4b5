import numpy as np
import pytest

from embeddings_tf import viz

RNG = np.random.default_rng(0)
MEAN = RNG.normal(size=(5, 2))
IMAGES = RNG.integers(0, 256, (5, 6, 8))


@pytest.mark.parametrize("shape", [(5, 6, 8), (5, 6, 8, 1)])
def test_each_image_is_at_its_embedding(shape, pixels):
    figure = viz.picture_plane_figure(MEAN, IMAGES.reshape(shape), title="a$")
    (panel,) = figure.axes
    boxes = panel.artists
    np.testing.assert_array_equal([box.xy for box in boxes], MEAN)
    for box, image in zip(boxes, IMAGES, strict=True):
        shown = np.asarray(box.offsetbox.get_data())
        assert not shown[..., :3].any()  # black ink ...
        np.testing.assert_array_equal(shown[..., 3], image)  # ... on nothing
    for (low, high), values in zip(
        (panel.get_xlim(), panel.get_ylim()), MEAN.T, strict=True
    ):
        assert low < values.min() and values.max() < high
    assert pixels(figure).std() > 2


def test_colours_are_kept(pixels):
    images = RNG.integers(0, 256, (5, 4, 4, 3))
    figure = viz.picture_plane_figure(MEAN, images, size=12)
    shown = np.asarray(figure.axes[0].artists[2].offsetbox.get_data())
    np.testing.assert_array_equal(shown[..., :3], images[2])
    assert (shown[..., 3] == 255).all()
    pixels(figure)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"mean": MEAN[:, :1]}, "at least two dimensions; received"),
        ({"mean": MEAN[:4]}, "as many as embeddings, 4; received 5"),
        ({"images": IMAGES[0]}, r"received \(6, 8\)"),
        ({"images": IMAGES + 300}, "pixels from 0 to 255"),
        ({"size": 0}, "`size` must be"),
    ],
)
def test_refusals(changes, message):
    arguments = {"mean": MEAN, "images": IMAGES, **changes}
    with pytest.raises(ValueError, match=message):
        viz.picture_plane_figure(**arguments)
