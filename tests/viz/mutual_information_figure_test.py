import numpy as np
import pytest

from embeddings_tf import viz

NAMES = ["hair", "arms", "body"]
INFORMATION = np.array(
    [
        [0.1, 0.0, 0.2],  # body
        [0.3, 0.1, 0.0],  # hair
        [0.0, 0.0, 0.0],  # nothing
        [0.9, 0.1, 0.5],  # hair, more
        [0.1, 0.4, 0.2],  # arms
    ]
)
ORDER = [3, 1, 4, 0, 2]


@pytest.mark.parametrize(("unit", "size"), [("nats", 1), ("bits", np.log(2))])
def test_sorted_rows(unit, size, pixels):
    figure = viz.mutual_information_figure(
        INFORMATION, NAMES, unit=unit, title="Sprites"
    )
    panel, bar = figure.axes
    shown = INFORMATION[ORDER] / size
    np.testing.assert_allclose(panel.images[0].get_array(), shown)
    assert [text.get_text() for text in panel.get_yticklabels()] == [
        f"dimension {i + 1}" for i in ORDER
    ]
    assert [text.get_text() for text in panel.get_xticklabels()] == NAMES
    assert [text.get_text() for text in panel.texts] == [
        f"{value:.2f}" for value in shown.ravel()
    ]
    # Below the rows about hair, arms and body.
    assert [line.get_ydata()[0] for line in panel.lines] == [1.5, 2.5, 3.5]
    assert bar.get_ylabel() == f"mutual information in {unit}"
    assert figure.get_suptitle() == "Sprites"
    assert pixels(figure).std() > 10


FACTORS = np.stack([np.arange(60) % 6, np.arange(60) % 2, np.zeros(60)], 1)
FACTORS = FACTORS.astype(int)


@pytest.mark.parametrize(("unit", "size"), [("nats", 1), ("bits", np.log(2))])
def test_a_scale_of_colours_for_each_factor(unit, size, pixels):
    """Shares of ln 6 and ln 2, and of no entropy."""
    figure = viz.mutual_information_figure(
        INFORMATION, NAMES, unit=unit, factors=FACTORS
    )
    panel, bar = figure.axes
    entropy = np.array([np.log(6), np.log(2), np.inf])
    np.testing.assert_allclose(
        panel.images[0].get_array(), INFORMATION[ORDER] / entropy
    )
    assert panel.images[0].get_clim() == (0, 1)
    assert bar.get_ylabel() == "share of the factor's entropy"
    assert [text.get_text() for text in panel.get_xticklabels()] == [
        f"hair, {np.log(6) / size:.2f}",
        f"arms, {np.log(2) / size:.2f}",
        "body, 0.00",
    ]
    # The numbers are still the information.
    assert [text.get_text() for text in panel.texts] == [
        f"{value / size:.2f}" for value in INFORMATION[ORDER].ravel()
    ]
    assert pixels(figure).std() > 10


@pytest.mark.parametrize("num_dims", [5, 40, 70])
def test_the_floor_of_chance(num_dims, pixels):
    information = np.resize(INFORMATION, (num_dims, 3))
    chance = np.full((num_dims, 3), 0.15)
    chance[0] = 0.25
    figure = viz.mutual_information_figure(
        information, NAMES, factors=FACTORS, chance=chance
    )
    panel = figure.axes[0]
    shown = np.asarray(panel.images[0].get_array())
    assert shown.shape == (num_dims + 1, 3)
    np.testing.assert_allclose(
        shown[-1, :2], chance.mean(axis=0)[:2] / np.log([6, 2])
    )
    assert panel.get_yticklabels()[-1].get_text() == "chance"
    assert panel.lines[-1].get_ydata()[0] == num_dims - 0.5
    if num_dims == 5:
        grey = [text.get_color() == "#808080" for text in panel.texts]
        expected = INFORMATION[ORDER] <= chance[ORDER]
        assert grey == [*expected.ravel(), True, True, True]
    assert pixels(figure).std() > 5


def test_leaves_the_input_alone():
    before = INFORMATION.copy()
    viz.mutual_information_figure(INFORMATION, NAMES, unit="bits")
    np.testing.assert_array_equal(INFORMATION, before)


@pytest.mark.parametrize(
    ("num_dims", "num_factors", "numbers", "names"),
    [
        (32, 12, True, True),
        (33, 12, False, True),
        (32, 13, False, True),
        (65, 2, False, False),
    ],
)
def test_numbers_and_names_where_they_fit(
    num_dims, num_factors, numbers, names, pixels
):
    information = np.random.default_rng(0).uniform(size=(num_dims, num_factors))
    figure = viz.mutual_information_figure(
        information, [f"a long name {i}" for i in range(num_factors)]
    )
    panel = figure.axes[0]
    assert bool(panel.texts) == numbers
    assert bool(panel.get_yticklabels()) == names
    assert figure.get_figheight() <= 12
    pixels(figure)


@pytest.mark.parametrize("shape", [(1, 1), (3, 1), (1, 3)])
def test_a_code_that_tells_nothing(shape, pixels):
    figure = viz.mutual_information_figure(np.zeros(shape), NAMES[: shape[1]])
    assert not figure.axes[0].lines
    pixels(figure)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"information": INFORMATION[0]}, r"shape \(dims, num_factors\)"),
        ({"information": np.zeros((0, 3))}, "not be empty"),
        ({"information": INFORMATION + np.nan}, "must be finite"),
        ({"information": -INFORMATION}, "at least 0; received -0.9"),
        ({"factor_names": ["hair"]}, "one name per factor.*, 3; received 1"),
        ({"unit": "bytes"}, "`unit` must be one of 'nats', 'bits'"),
        ({"factor_names": 3}, "`factor_names` must be a list"),
        ({"information": INFORMATION * 1j}, "must be real numbers"),
        ({"factors": FACTORS[:, :2]}, "must have 3 columns.*received 2"),
        ({"factors": FACTORS * 0.3}, "`factors` must be integers"),
        ({"factors": FACTORS[:0]}, "`factors` .* not be empty"),
        ({"chance": INFORMATION[:2]}, r"of shape \(5, 3\).*received shape"),
        ({"chance": -INFORMATION}, "`chance` must be at least 0"),
        ({"chance": INFORMATION * np.nan}, "`chance` must be finite"),
    ],
)
def test_errors(change, message):
    arguments = {"information": INFORMATION, "factor_names": NAMES}
    with pytest.raises(ValueError, match=message):
        viz.mutual_information_figure(**{**arguments, **change})
