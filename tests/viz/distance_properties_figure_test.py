import numpy as np
import pytest

from embeddings_tf import metrics
from embeddings_tf import viz


def test_densities_and_means(pixels):
    properties = {
        "self_distance": [0.0, 0.0, 0.0, 0.3],
        "asymmetry": [0.1, 0.5],
        "triangle_excess": [0.0, 1.0],
    }
    figure = viz.distance_properties_figure(
        properties, num_bins=10, title="MNIST"
    )
    assert len(figure.axes) == 3
    for panel, values in zip(figure.axes, properties.values(), strict=True):
        counts = np.histogram(values, 10, (0, 1))[0]
        heights = [bar.get_height() for bar in panel.patches]
        np.testing.assert_allclose(heights, counts / len(values) * 10)
        np.testing.assert_allclose(panel.lines[0].get_xdata(), np.mean(values))
        assert panel.get_yscale() == "log"
    assert "4 points" in figure.axes[0].get_title()
    assert "largest 0.5" in figure.axes[1].get_title()
    assert figure.get_suptitle() == "MNIST"
    assert pixels(figure).std() > 5


@pytest.mark.slow
def test_all_zero_is_drawn(pixels):
    properties = metrics.distance_properties(np.zeros((4, 4)))
    pixels(viz.distance_properties_figure(properties))


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({"asymmetry": [0.1]}, "must have self_distance"),
        (
            {
                "self_distance": [0.0],
                "asymmetry": [0.0],
                "triangle_excess": [1.5],
            },
            "in \\[0, 1\\]",
        ),
    ],
)
def test_bad_properties(properties, message):
    with pytest.raises(ValueError, match=message):
        viz.distance_properties_figure(properties)
