import numpy as np
import pytest

from embeddings_tf import viz


def names_of(panel):
    return [
        [text.get_text() for text in side]
        for side in (panel.get_yticklabels(), panel.get_xticklabels())
    ]


def test_rows_are_classes_and_unknown_is_the_last_column(pixels):
    labels = ["cat"] * 4 + ["dog"] * 2 + ["fox"] * 4
    answers = ["cat", "cat", "cat", "dog", "dog", "unknown"]
    answers += ["unknown", "unknown", "unknown", "dog"]
    figure = viz.confusion_figure(
        labels, answers, classes=["dog", "cat"], title="pets"
    )
    (panel,) = figure.axes
    assert names_of(panel) == [
        ["dog (2)", "cat (4)", "fox (4)"],
        ["dog", "cat", "unknown"],
    ]
    numbers = {
        (round(text.get_position()[1]), round(text.get_position()[0])): (
            text.get_text()
        )
        for text in panel.texts
    }
    assert numbers == {
        **{(0, 0): "1", (0, 2): "1"},
        **{(1, 0): "1", (1, 1): "3"},
        **{(2, 0): "1", (2, 2): "3"},
    }
    colours = np.asarray(panel.images[0].get_array())
    # Blue has more blue than red, red the other way; empty cells are white.
    is_blue = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1]], bool)
    is_red = np.array([[0, 0, 1], [1, 0, 0], [1, 0, 0]], bool)
    np.testing.assert_array_equal(colours[..., 2] > colours[..., 0], is_blue)
    np.testing.assert_array_equal(colours[..., 0] > colours[..., 2], is_red)
    assert figure.get_suptitle() == "pets\n70.0 % of 10 are right"
    assert pixels(figure).std() > 5


def test_many_classes_keep_those_with_the_most_errors(pixels):
    labels = np.repeat(np.arange(100), 3)
    answers = labels.copy()
    wrong = np.flatnonzero(labels >= 90)
    answers[wrong] = (labels[wrong] + 7) % 100
    figure = viz.confusion_figure(labels, answers, most=10)
    rows, columns = names_of(figure.axes[0])
    assert rows == [f"{number} (3)" for number in range(90, 100)]
    assert columns == [*map(str, range(90, 100)), "other classes"]
    assert "10 of 100 classes" in figure.get_suptitle()
    assert "90.0 % of 300 are right" in figure.get_suptitle()


def test_the_line_below_enrolled_classes_stays_if_rows_are_left_out(pixels):
    """Of 20 enrolled and 80 other classes, a few of each are shown."""
    labels = np.repeat(np.arange(100), 2)
    answers = np.where(np.arange(200) % 2, "unknown", "0")
    figure = viz.confusion_figure(
        labels.astype(str), answers, classes=[*map(str, range(20))], most=10
    )
    rows, _ = names_of(figure.axes[0])
    known = sum(int(row.split()[0]) < 20 for row in rows)
    lines = [line.get_ydata()[0] for line in figure.axes[0].lines]
    assert (known - 0.5 in lines) == (0 < known < len(rows))
    pixels(figure)


def test_few_inputs_of_a_gallery_of_many_classes(pixels):
    """Columns are the classes of the inputs and the most frequent answers."""
    labels = [3, 3, 3, 3, 3, 7, 7, 2000]
    answers = [3, 9, 900, 900, 8, 7, -1, 900]
    figure = viz.confusion_figure(
        labels, answers, classes=range(1000), unknown=-1, most=4
    )
    rows, columns = names_of(figure.axes[0])
    assert rows == ["3 (5)", "7 (2)", "2000 (1)"]
    assert columns == ["3", "7", "8", "900", "other classes", "-1"]
    numbers = [int(text.get_text()) for text in figure.axes[0].texts]
    assert numbers == [1, 1, 2, 1, 1, 1, 1]
    assert "25.0 % of 8 are right" in figure.get_suptitle()
    assert pixels(figure).shape[1] < 1000


def test_sixty_classes_are_named(pixels):
    names = [f"a long name of a class, number {n:02}" for n in range(60)]
    figure = viz.confusion_figure(names * 2, names * 2)
    rows, columns = names_of(figure.axes[0])
    assert len(set(rows)) == len(set(columns)) == 60
    assert max(map(len, columns)) <= 18
    height, width, _ = pixels(figure).shape
    # Six-point letters need more than 8 pixels at 100 dots per inch.
    assert min(height, width) / 60 > 12


def test_without_unknown_answers_there_is_no_such_column():
    figure = viz.confusion_figure([1, 2, 2], [1, 2, 1])
    assert names_of(figure.axes[0]) == [["1 (1)", "2 (2)"], ["1", "2"]]
    many = viz.confusion_figure(np.arange(12), np.arange(12))
    assert names_of(many.axes[0])[1] == [str(number) for number in range(12)]
    figure = viz.confusion_figure(["a"], ["a"])
    assert names_of(figure.axes[0]) == [["a (1)"], ["a"]]


def test_names_that_are_no_formulas(pixels):
    """Matplotlib reads two $ as mathematics, which fails for this name."""
    figure = viz.confusion_figure(["$a_{$", "b"], ["b", "b"], title="$_{$")
    rows, columns = names_of(figure.axes[0])
    assert rows == ["$a_{$ (1)", "b (1)"] and columns == ["$a_{$", "b"]
    assert pixels(figure).std() > 5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([], []), "at least one entry"),
        ((["a"], ["a", "b"]), "same length"),
        (([0.5], [0.5]), "strings or integers"),
        (([["a"]], [["a"]]), "strings or integers"),
        (("text", "text"), "sequence"),
    ],
)
def test_refusals(arguments, message):
    with pytest.raises(ValueError, match=message):
        viz.confusion_figure(*arguments)


def test_answers_are_classes():
    with pytest.raises(ValueError, match="received 'b'"):
        viz.confusion_figure(["a"], ["b"], classes=["a"])
