import numpy as np

from embeddings_tf import viz

RELIABILITY = {
    "confidence": np.array([0.2, 0.5, 0.9]),
    "accuracy": np.array([0.1, 0.6, 0.8]),
    "count": np.array([200, 1, 300]),
}
REJECT = {"reject": np.array([0, 0.5]), "error": np.array([0.2, 0.1])}
OCCLUSION = {"occluded": [0.1, 0.3], "stddev": [0.2, 0.5]}


def test_curves(pixels):
    figure = viz.evaluation_figure(
        {"clean": RELIABILITY}, {"clean": REJECT}, OCCLUSION, title="Digits"
    )
    assert figure.get_suptitle() == "Digits"
    left, middle, right = figure.axes
    # A bin with a single query is not drawn.
    np.testing.assert_array_equal(
        left.lines[1].get_xydata(), [[0.2, 0.1], [0.9, 0.8]]
    )
    np.testing.assert_array_equal(
        middle.lines[0].get_xydata(), [[0, 0.2], [0.5, 0.1]]
    )
    np.testing.assert_array_equal(
        right.lines[0].get_xydata(), [[0.1, 0.2], [0.3, 0.5]]
    )
    assert pixels(figure).std() > 10


def test_point_embedding(pixels):
    figure = viz.evaluation_figure({}, {"clean": REJECT}, {})
    assert len(figure.axes) == 2
    pixels(figure)
