import numpy as np
import pytest

from embeddings_tf import viz

NUM, SIDE = 60, 9
RNG = np.random.default_rng(0)
CODES = RNG.uniform(size=(NUM, 3))
# Every image has its own colour.
COLOURS = RNG.integers(0, 256, (NUM, 3)).astype("uint8")
IMAGES = np.tile(COLOURS[:, None, None], (1, SIDE, SIDE, 1))
INFORMATION = np.array([[0.2, 0.1], [0.0, 0.7], [0.5, 0.3]])
ARGUMENTS = {
    "images": IMAGES,
    "codes": CODES,
    "information": INFORMATION,
    "factor_names": ["hair", "arms"],
}


def tiles(figure, num_rows, num_steps):
    """The colours at the ticks, which are the centres of the images."""
    (panel,) = figure.axes
    sheet = panel.images[0].get_array()
    rows, columns = panel.get_yticks(), panel.get_xticks()
    assert (len(rows), len(columns)) == (num_rows, num_steps)
    return np.asarray(sheet)[np.ix_(rows.astype(int), columns.astype(int))]


def labels(figure):
    return [t.get_text() for t in figure.axes[0].get_yticklabels()]


def test_shows_the_chosen_images(pixels):
    figure = viz.traversal_figure(
        **ARGUMENTS, num_dims=2, num_steps=5, title="Sprites"
    )
    chosen = viz.traversal_indices(CODES, [1, 2], num_steps=5)
    np.testing.assert_allclose(
        tiles(figure, 2, 5), COLOURS[chosen] / 255, atol=1e-6
    )
    units = (CODES - np.median(CODES, axis=0)) / CODES.std(axis=0)
    for label, dim, factor, rows in zip(
        labels(figure),
        (1, 2),
        ("arms: 0.70", "hair: 0.50"),
        chosen,
        strict=True,
    ):
        others = np.delete(units[rows], dim, axis=1)
        assert label.split("\n") == [
            f"dimension {dim + 1}",
            f"{factor} nats",
            f"others off by {np.sqrt(np.mean(others**2)):.2f}",
        ]
    quantiles = [t.get_text() for t in figure.axes[0].get_xticklabels()]
    assert quantiles == ["10 %", "30 %", "50 %", "70 %", "90 %"]
    assert figure.get_suptitle() == "Sprites"
    assert pixels(figure).std() > 10


@pytest.mark.parametrize("decode", [None, lambda z: np.zeros((5, 9, 9, 3))])
def test_values_of_the_factor_below_the_images(decode, pixels):
    """Values of the factor that the row describes best."""
    factors = np.stack([np.arange(NUM) % 6, np.arange(NUM) % 2 + 7], 1)
    figure = viz.traversal_figure(
        **ARGUMENTS, num_steps=5, num_dims=2, factors=factors, decode=decode
    )
    chosen = viz.traversal_indices(CODES, [1, 2], num_steps=5)
    (panel,) = figure.axes
    shown = [text.get_text() for text in panel.texts]
    expected = [*factors[chosen[0], 1], *factors[chosen[1], 0]]
    assert shown == [str(value) for value in expected]
    real = labels(figure)[:: 1 if decode is None else 2]
    assert [label.split("\n")[1] for label in real] == [
        f"arms: 0.70 of {np.log(2):.2f} nats",
        f"hair: 0.50 of {np.log(6):.2f} nats",
    ]
    # The images are placed as without values, apart from the strips.
    drawn = tiles(figure, 2 if decode is None else 4, 5)
    np.testing.assert_allclose(
        drawn[:: 1 if decode is None else 2], COLOURS[chosen] / 255, atol=1e-6
    )
    # Each value is below its image, in a white strip.
    sheet = np.asarray(panel.images[0].get_array())
    for text, tick in zip(
        panel.texts, np.tile(panel.get_xticks(), 2), strict=True
    ):
        x, y = text.get_position()
        assert x == tick
        assert np.all(sheet[round(y), round(x)] == 1)
    assert pixels(figure).std() > 10


def test_factors_come_in_turn():
    """The best dimension of each factor, then the second best of each."""
    information = [[0.9, 0.0], [0.8, 0.1], [0.7, 0.0], [0.2, 0.3], [0.0, 0.2]]
    figure = viz.traversal_figure(
        IMAGES,
        np.hstack([CODES, CODES[:, :2]]),
        information,
        ["hair", "arms"],
    )
    assert [label.split(" nats")[0] for label in labels(figure)] == [
        "dimension 1\nhair: 0.90",
        "dimension 4\narms: 0.30",
        "dimension 2\nhair: 0.80",
        "dimension 5\narms: 0.20",
        "dimension 3\nhair: 0.70",
    ]


def test_decoded_rows_move_one_dimension(pixels):
    received = []

    def decode(points):
        received.append(points)
        return 255 * np.tile(points[:, None, None], (1, SIDE, SIDE, 1))

    reference = [0.1, 0.2, 0.3]
    figure = viz.traversal_figure(
        **ARGUMENTS, num_steps=4, reference=reference, decode=decode
    )
    chosen = viz.traversal_indices(
        CODES, [1, 2, 0], num_steps=4, reference=reference
    )
    drawn = tiles(figure, 6, 4)
    for row, dim in enumerate((1, 2, 0)):
        expected = np.tile(reference, (4, 1))
        expected[:, dim] = CODES[chosen[row], dim]
        np.testing.assert_array_equal(received[row], expected)
        np.testing.assert_allclose(drawn[2 * row + 1], expected, atol=1e-6)
        np.testing.assert_allclose(
            drawn[2 * row], COLOURS[chosen[row]] / 255, atol=1e-6
        )
    assert labels(figure)[1::2] == ["decoded"] * 3
    assert pixels(figure).std() > 10


@pytest.mark.parametrize("shape", [(), (1,)])
@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_grey_images(shape, dtype):
    images = IMAGES[..., 0].reshape(NUM, SIDE, SIDE, *shape)
    if dtype == "float32":
        images = images.astype(dtype)
    figure = viz.traversal_figure(**{**ARGUMENTS, "images": images})
    chosen = viz.traversal_indices(CODES, [1, 2, 0])
    expected = np.repeat(COLOURS[chosen][..., :1], 3, axis=-1) / 255
    np.testing.assert_allclose(tiles(figure, 3, 7), expected, atol=1e-6)


def test_warns_of_pixels_of_0_to_1():
    with pytest.warns(UserWarning, match="Multiply them by 255"):
        viz.traversal_figure(**{**ARGUMENTS, "images": IMAGES / 255})


def test_black_and_nearly_black_images():
    for value in (0.0, 1.0):
        images = np.full(IMAGES.shape, value)
        figure = viz.traversal_figure(**{**ARGUMENTS, "images": images})
        np.testing.assert_allclose(tiles(figure, 3, 7), value / 255)


def test_reads_only_the_shown_images():
    read = []

    class OnDisk:
        def __len__(self):
            return NUM

        def __getitem__(self, index):
            read.append(index)
            return IMAGES[index]

    viz.traversal_figure(
        **{**ARGUMENTS, "images": OnDisk()}, num_dims=1, num_steps=3
    )
    chosen = viz.traversal_indices(CODES, [1], num_steps=3)
    assert read == chosen[0].tolist()


def test_oblong_images_and_a_single_dimension(pixels):
    figure = viz.traversal_figure(
        IMAGES[:, :, :4], CODES[:, :1], [[0.5]], ["a name of many words"]
    )
    assert labels(figure)[0].endswith("others off by 0.00")
    assert pixels(figure).std() > 10


def test_labels_are_within_the_figure():
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figure = viz.traversal_figure(
        **{**ARGUMENTS, "factor_names": ["hair", "W" * 12 + " of many words"]}
    )
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    for label in figure.axes[0].get_yticklabels():
        assert label.get_window_extent(canvas.get_renderer()).x0 >= 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"images": IMAGES[1:]}, "same length; received 59 and 60"),
        ({"images": IMAGES * 2.0}, "from 0 to 255; received .* to 5"),
        ({"images": IMAGES * np.nan}, "from 0 to 255; received .*nan"),
        ({"images": -IMAGES.astype(int)}, "from 0 to 255; received .*-2"),
        ({"images": IMAGES[:, 0, 0]}, r"with 1 or 3 channels; received \(3,"),
        ({"images": IMAGES[..., :2]}, r"1 or 3 channels; received \(9, 9, 2"),
        (
            {"images": [image[: 2 + i % 7] for i, image in enumerate(IMAGES)]},
            "must have the same shape",
        ),
        ({"codes": CODES * np.nan}, "`codes` must be finite"),
        (
            {"information": INFORMATION[:2]},
            "one row per dimension.*, 3; received 2",
        ),
        ({"information": INFORMATION * np.nan}, "must be finite"),
        ({"factor_names": ["hair"]}, "one name per factor.*, 2; received 1"),
        ({"num_dims": 0}, "`num_dims` must be an integer"),
        ({"images": 3}, "`images` must have one row per input"),
        (
            {"factors": np.zeros((60, 3), int)},
            "must have 2 columns.*received 3",
        ),
        ({"factors": np.zeros((59, 2), int)}, "59 rows of `factors`"),
        ({"factors": np.full((60, 2), 0.3)}, "`factors` must be integers"),
        ({"decode": "decoder"}, "`decode` must be a function"),
        ({"decode": lambda z: 1.0}, r"each of 7 codes; received shape \(\)"),
        ({"num_steps": 61}, "`num_steps` = 61 examples; received 60"),
        ({"reference": [0, 0]}, "each of the 3 dimensions; received 2"),
        (
            {"decode": lambda z: np.zeros((1, 9, 9))},
            "each of 7 codes; received",
        ),
        ({"decode": lambda z: np.zeros((7, 8, 8))}, "same height and width"),
        ({"decode": lambda z: np.full((7, 9, 9), np.nan)}, "received .*nan"),
    ],
)
def test_errors(change, message):
    with pytest.raises(ValueError, match=message):
        viz.traversal_figure(**{**ARGUMENTS, **change})
