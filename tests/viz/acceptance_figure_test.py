import matplotlib.colors
import numpy as np
import pytest

from embeddings_tf import viz


def near(first, second):
    """4 minus the squared distance, accepted within a distance of 2."""
    return 4 - np.sum((first[:, None] - second) ** 2, axis=-1)


def three_classes():
    rng = np.random.default_rng(0)
    labels = np.repeat([4, 7, 1], 40)
    centres = {4: (0, 0), 7: (10, 0), 1: (0, 12)}
    offsets = np.array([centres[label] for label in labels])
    return offsets + rng.normal(size=(120, 2)), labels


def test_points_centres_and_regions(pixels):
    embeddings, labels = three_classes()
    figure = viz.acceptance_figure(embeddings, labels, near, title="Digits")
    (panel,) = figure.axes
    assert [text.get_text() for text in panel.texts] == ["1", "4", "7"]
    for text, name in zip(panel.texts, (1, 4, 7), strict=True):
        own = embeddings[labels == name]
        sums = [sum(np.linalg.norm(p - q) for q in own) for p in own]
        np.testing.assert_allclose(
            text.get_position(), own[int(np.argmin(sums))]
        )
    # At the threshold, a circle of radius 2 around the centre.
    lines = [
        path.vertices
        for drawn in panel.collections
        if "Contour" in type(drawn).__name__ and not drawn.filled
        for path in drawn.get_paths()
    ]
    assert len(lines) == 3
    for vertices, text in zip(lines, panel.texts, strict=True):
        radius = np.linalg.norm(vertices - text.get_position(), axis=1)
        np.testing.assert_allclose(radius, 2, atol=0.02)
    points = [
        drawn.get_offsets()
        for drawn in panel.collections
        if "PathCollection" in type(drawn).__name__
    ]
    np.testing.assert_allclose(points[0], embeddings[labels == 1])
    assert figure.get_suptitle() == "Digits"
    assert pixels(figure).std() > 5


def test_a_score_that_accepts_nothing_shades_nothing(pixels):
    embeddings, labels = three_classes()
    figure = viz.acceptance_figure(embeddings, labels, near, threshold=4.0)
    names = {type(drawn).__name__ for drawn in figure.axes[0].collections}
    assert not any("Contour" in name for name in names)
    pixels(figure)


def test_more_classes_than_colours_and_equal_points(pixels):
    labels = np.repeat(np.arange(12), 2)
    figure = viz.acceptance_figure(
        np.zeros((24, 2), "float32"), labels, near, grid_size=5
    )
    colours = [
        matplotlib.colors.to_hex(text.get_bbox_patch().get_facecolor())
        for text in figure.axes[0].texts
    ]
    assert colours[0] == colours[10] and len(set(colours)) == 10
    pixels(figure)


@pytest.mark.parametrize(
    ("embeddings", "labels", "more", "message"),
    [
        (np.zeros((4, 3)), np.zeros(4, int), {}, "two dimensions"),
        (np.zeros((4, 2)), np.zeros(3, int), {}, "4 rows of `embeddings`"),
        (np.full((4, 2), np.nan), np.zeros(4, int), {}, "be finite"),
        (np.zeros((4, 2)), np.zeros(4, int), {"grid_size": 1}, "at least 2"),
    ],
)
def test_bad_input(embeddings, labels, more, message):
    with pytest.raises(ValueError, match=message):
        viz.acceptance_figure(embeddings, labels, near, **more)
