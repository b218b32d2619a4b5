import numpy as np
import pytest
from matplotlib.collections import EllipseCollection
from matplotlib.colors import to_rgba

from embeddings_tf import viz

LABELS = np.arange(40) % 5
SEEN = LABELS < 3
FACTORS = {"first": LABELS // 2, "second": LABELS % 2}


def points(dim=2):
    rng = np.random.default_rng(0)
    return 3 * np.eye(5, dim)[LABELS] + rng.normal(size=(40, dim))


def ellipses(panel):
    return [c for c in panel.collections if isinstance(c, EllipseCollection)]


@pytest.mark.parametrize("dim", [2, 3])
def test_gaussian(dim, pixels):
    mean = points(dim)
    variance = np.linspace(0.01, 4, 40 * dim).reshape(40, dim)
    figure = viz.embedding_figure(
        mean, variance, LABELS, SEEN, FACTORS, num_ellipses=2, title="Title"
    )
    assert len(figure.axes) == 2
    # The first two rows of each class, class by class.
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
    assert pixels(figure).std() > 10


def test_ellipses_are_not_cut():
    mean, variance = points(), np.full((40, 2), 0.01)
    variance[np.argmax(mean[:10, 1])] = 9.0
    figure = viz.embedding_figure(
        mean, variance, LABELS, SEEN, FACTORS, num_ellipses=2
    )
    stddev = np.sqrt(variance[:10])
    for panel in figure.axes:
        for axis, (low, high) in enumerate(
            (panel.get_xlim(), panel.get_ylim())
        ):
            assert low < (mean[:10] - stddev)[:, axis].min()
            assert high > (mean[:10] + stddev)[:, axis].max()


def test_point(pixels):
    figure = viz.embedding_figure(points(), None, LABELS, SEEN, FACTORS)
    assert not any(ellipses(panel) for panel in figure.axes)
    assert "standard deviation" not in figure.get_suptitle()
    assert pixels(figure).std() > 10


@pytest.mark.parametrize("variance", [None, np.ones((40, 2))])
def test_classes_that_are_not_divided_have_no_key_of_seen_classes(variance):
    figure = viz.embedding_figure(
        points(), variance, LABELS, None, {"label": LABELS}, title="Held out"
    )
    keys = [] if variance is None else ["ellipses: one standard deviation"]
    assert figure.get_suptitle().split("\n") == ["Held out", *keys]
    (panel,) = figure.axes
    assert {text.get_weight() for text in panel.texts} == {"normal"}
    dots, crosses = panel.collections[-2:]
    assert len(dots.get_offsets()) == 40 and len(crosses.get_offsets()) == 0
    bare = viz.embedding_figure(points(), None, LABELS, None, FACTORS)
    assert bare.get_suptitle() == ""


@pytest.mark.parametrize("seen", [True, False])
def test_only_seen_or_unseen_classes(seen, pixels):
    figure = viz.embedding_figure(
        points(), None, LABELS, np.full(40, seen), {"label": LABELS}
    )
    assert pixels(figure).std() > 10


def test_collapsed_embedding(pixels):
    figure = viz.embedding_figure(
        np.ones((40, 2)), np.full((40, 2), 1e-8), LABELS, SEEN, FACTORS
    )
    pixels(figure)


def test_classes_by_name_and_a_factor_that_is_true_or_false(pixels):
    figure = viz.embedding_figure(
        points(), None, [f"c{label}" for label in LABELS], SEEN, {"seen": SEEN}
    )
    names = [text.get_text() for text in figure.axes[0].texts]
    assert names == ["c0", "c1", "c2", "c3", "c4"]
    pixels(figure)


def test_a_factor_of_text_has_its_words_in_the_legend(pixels):
    words = np.array(["left", "middle", "right"])[LABELS % 3]
    figure = viz.embedding_figure(points(), None, LABELS, SEEN, {"side": words})
    (panel,) = figure.axes
    legend = panel.get_legend()
    texts = [text.get_text() for text in legend.get_texts()]
    assert texts == ["left", "middle", "right"]
    # The dots of a class that was seen have the colour of their word.
    colours = {
        text: tuple(to_rgba(line.get_color())[:3])
        for text, line in zip(texts, legend.get_lines(), strict=True)
    }
    assert len(set(colours.values())) == 3
    (dots, _) = panel.collections
    found = [tuple(colour[:3]) for colour in dots.get_facecolors()]
    assert found == [colours[word] for word in words[SEEN]]
    pixels(figure)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"mean": points()[:, :1]}, r"two dimensions; received .*\(40, 1"),
        ({"mean": points()[0]}, r"`mean` must have shape \(n, dim\)"),
        ({"mean": points()[:0]}, "`mean` .* not be empty"),
        ({"mean": points() * np.nan}, "`mean` must be finite"),
        ({"mean": points() * 1j}, "`mean` must be real"),
        ({"factors": {}}, "at least one factor"),
        ({"factors": None}, "at least one factor"),
        ({"factors": {"digit": LABELS * 0.3}}, "`digit` must be integers"),
        ({"factors": {"digit": LABELS[:, None]}}, "`digit` must have shape"),
        ({"factors": {"digit": [[1], [1, 2]]}}, "`digit` must be an array"),
        ({"labels": [[1], [1, 2]]}, "`labels` must be an array, or lists"),
        ({"labels": LABELS * 0.3}, "`labels` must be integers"),
        ({"labels": LABELS[:, None]}, "`labels` must have shape"),
        ({"seen": LABELS}, "`seen` must contain booleans"),
        ({"variance": -np.ones((40, 2))}, "`variance` must be at least 0"),
        ({"variance": np.ones((40, 1))}, "`variance` must .*shape of `mean`"),
        (
            {"num_ellipses": -1},
            "`num_ellipses` must be an integer of at least 0",
        ),
        ({"num_ellipses": 0.5}, "`num_ellipses` must be an integer"),
        ({"num_ellipses": 2.0}, "`num_ellipses` must be an integer"),
        ({"labels": LABELS[1:]}, "'labels' has 39 entries for 40"),
        ({"seen": SEEN[1:]}, "'seen' has 39 entries for 40"),
        ({"factors": {"digit": [1, 2]}}, "'digit' has 2 entries for 40"),
        ({"variance": np.ones((41, 2))}, "'variance' has 41 entries"),
    ],
)
def test_errors(change, message):
    arguments = {
        "mean": points(),
        "variance": np.ones((40, 2)),
        "labels": LABELS,
        "seen": SEEN,
        "factors": FACTORS,
    }
    with pytest.raises(ValueError, match=message):
        viz.embedding_figure(**{**arguments, **change})


def test_names_that_are_no_formulas_and_long_names(pixels):
    """Matplotlib reads $ as mathematics, and leaves _ out of legends."""
    names = ["$a", "a$b$", "_hidden", "x" * 24, "y" * 25]
    labels = np.array(names)[LABELS]
    drawn = [*names[:4], "y" * 23 + "…"]
    figure = viz.embedding_figure(
        points(), None, labels, SEEN, {"class $": labels}, title="$folder$_$"
    )
    (panel,) = figure.axes
    assert [text.get_text() for text in panel.texts] == sorted(drawn)
    legend = panel.get_legend().get_texts()
    assert [text.get_text() for text in legend] == sorted(drawn)
    assert pixels(figure).std() > 10


@pytest.mark.parametrize("numbers", [[0, 10, 20, 30, 40], [-1, 9, 19, 5, 2]])
def test_numbers_with_equal_last_digits_have_different_colours(numbers):
    values = np.array(numbers)[LABELS]
    figure = viz.embedding_figure(points(), None, LABELS, None, {"n": values})
    lines = figure.axes[0].get_legend().get_lines()
    assert len({line.get_color() for line in lines}) == 5


def test_names_of_classes_at_one_place_do_not_overlap():
    mean = np.array([[0.0, 0.0], [1.0, 1.0], [0.5, 0.5], [0.5, 0.5]])
    labels = np.array([0, 1, 55, 66])
    figure = viz.embedding_figure(mean, None, labels, None, {"number": labels})
    figure.canvas.draw()
    boxes = {
        text.get_text(): text.get_window_extent()
        for text in figure.axes[0].texts
    }
    assert not boxes["55"].overlaps(boxes["66"])
    # Names with room are at the centres of their classes.
    places = {
        text.get_text(): text.get_position() for text in figure.axes[0].texts
    }
    assert places["0"] == pytest.approx((0, 0))
    assert places["1"] == pytest.approx((1, 1))
    assert np.mean([places["55"], places["66"]], axis=0) == pytest.approx(0.5)


@pytest.mark.parametrize("place", [0.0, 1e12])
def test_names_of_a_collapsed_embedding_are_drawn(place):
    labels = np.arange(40) % 4
    mean = np.full((40, 2), place)
    figure = viz.embedding_figure(mean, None, labels, None, {"number": labels})
    panel = figure.axes[0]
    positions = np.array([text.get_position() for text in panel.texts])
    assert np.all(np.isfinite(positions))
    low, high = panel.get_ylim()
    assert np.all((low <= positions[:, 1]) & (positions[:, 1] <= high))


def test_many_classes_have_their_names_at_the_centres():
    labels = np.arange(1000)
    mean = np.zeros((1000, 2))
    figure = viz.embedding_figure(mean, None, labels, None, {"all": labels % 2})
    positions = np.array([t.get_position() for t in figure.axes[0].texts])
    np.testing.assert_array_equal(positions, mean)
