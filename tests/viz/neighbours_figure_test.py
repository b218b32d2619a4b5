import numpy as np
import pytest

from embeddings_tf import viz

RNG = np.random.default_rng(0)
IMAGE = RNG.integers(0, 256, (6, 8, 3))


def figure(**changes):
    arguments = {
        "queries": [IMAGE, IMAGE[..., 0]],
        "neighbours": [[IMAGE, IMAGE], [IMAGE, IMAGE[..., :1]]],
        "captions": [["cat", "dog"], ["a", "b"]],
        "is_right": [[True, False], [None, None]],
        **changes,
    }
    return viz.neighbours_figure(**arguments)


def frames(panel):
    return {spine.get_linewidth() for spine in panel.spines.values()}


def test_wrong_neighbours_have_a_thick_frame(pixels):
    panels = np.reshape(figure(query_captions=["cat", ""]).axes, (2, 3))
    assert frames(panels[0, 2]) == {3.5}
    assert frames(panels[0, 1]) == {1}
    plain = frames(panels[0, 0])
    assert frames(panels[1, 1]) == frames(panels[1, 2]) == plain
    titles = [[panel.get_title() for panel in line] for line in panels]
    assert titles == [["query cat", "cat", "dog"], ["query", "a", "b"]]
    shown = panels[0, 1].images[0].get_array()
    np.testing.assert_array_equal(shown, IMAGE)
    assert pixels(figure()).std() > 5


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"queries": []}, "1 to 24 images"),
        ({"captions": [["a", "b"]]}, "one entry per query"),
        ({"is_right": [[True], [None]]}, "as many entries"),
        ({"queries": [IMAGE + 300, IMAGE]}, "255"),
        ({"queries": [IMAGE[..., :2], IMAGE]}, "1 or 3 channels"),
    ],
)
def test_refusals(changes, message):
    with pytest.raises(ValueError, match=message):
        figure(**changes)


def test_names_that_are_no_formulas(pixels):
    """Matplotlib reads two $ as mathematics, which fails for this name."""
    found = figure(captions=[["$a_{$", "b"], ["a", "b"]], title="$_{$")
    assert found.axes[1].get_title() == "$a_{$"
    assert pixels(found).std() > 5
