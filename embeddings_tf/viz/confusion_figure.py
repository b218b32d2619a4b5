"""Draws which classes are confused, as a matrix of answers."""

from collections.abc import Sequence

import numpy as np

from embeddings_tf.ops.arguments import num_rows
from embeddings_tf.ops.arguments import positive_integer
from embeddings_tf.viz import methods

_RIGHT, _WRONG = (0.0, 0.45, 0.70), (0.84, 0.15, 0.16)
_LONGEST = 18  # characters of a name
_NUMBERED = 12  # up to this many columns, cells have numbers
_OTHERS = "other classes"


def confusion_figure(
    labels: Sequence | np.ndarray,
    answers: Sequence | np.ndarray,
    *,
    classes: Sequence | None = None,
    unknown: str = "unknown",
    most: int = 60,
    title: str = "",
):
    """Draws a confusion matrix: the answers for the inputs of each class.

    Use it to see which classes are mistaken for which, also if some classes are
    not enrolled and the right answer is "unknown". A row is a class of the
    inputs, a column an answer. The colour is the share of the row, as a square
    root, so that few errors are visible: blue is right, red is wrong. The
    number after a class is its number of inputs. Rows below the line are of
    classes that cannot be answered. Of more than `most` classes, those with the
    most wrong answers are drawn, and answers of the rest share a column. So do
    the rarest answers if there are more than `most` columns.

    Args:
        labels: The class of each input, strings or integers `(n,)`.
        answers: The answer for each input, `(n,)`.
        classes: The classes that can be answered, in the order of the figure.
            None: all labels and answers except `unknown`, sorted.
        unknown: The answer for classes that are not enrolled.
        most: Largest number of rows, and of columns of classes.
        title: Title of the figure.

    Returns:
        A `matplotlib.figure.Figure`; `save_figure` writes it.

    Raises:
        ValueError: If there are no inputs, lengths differ, or an answer is
            neither a class nor `unknown`.

    Example:

    >>> figure = embeddings_tf.viz.confusion_figure(
    ...     ["cat", "cat", "dog"], ["cat", "unknown", "cat"]
    ... )
    >>> len(figure.axes)
    1
    """
    from matplotlib.figure import Figure
    from sklearn.metrics import confusion_matrix

    true, given = _texts("labels", labels), _texts("answers", answers)
    if len(true) != len(given):
        raise ValueError(
            "`labels` and `answers` must have the same length; received "
            f"{len(true)} and {len(given)}."
        )
    most = positive_integer("most", most)
    unknown = str(unknown)
    if classes is None:
        both = np.unique(np.concatenate([true, given]))
        if all(
            np.asarray(each).dtype.kind in "iu" for each in (labels, answers)
        ):
            both = both[np.argsort(both.astype(np.int64))]
        known = both[both != unknown]
    else:
        known = np.array([*dict.fromkeys(_texts("classes", classes))])
    strange = np.setdiff1d(given, [*known, unknown])
    if len(strange):
        raise ValueError(
            f"`answers` must be of `classes` or {unknown!r}; received "
            f"{str(strange[0])!r}."
        )
    enrolled = known[np.isin(known, true)].tolist()
    others = np.setdiff1d(true, known).tolist()
    right = np.where(np.isin(true, known), true, unknown) == given
    rows, num_rows_of_all = [*enrolled, *others], len(enrolled) + len(others)
    if num_rows_of_all > most:
        kept = _most_errors(rows, true[~right], most)
        rows = [name for name in rows if name in kept]
        known = np.array([name for name in known if name in kept])
        given = np.where(np.isin(given, [*known, unknown]), given, _OTHERS)
        chosen = np.isin(true, rows)
        true, given = true[chosen], given[chosen]
        title = f"{title} ({most} of {num_rows_of_all} classes: most errors)"
    elif len(known) > most:
        kept = _most_answers(enrolled, given[given != unknown], most)
        known = np.array([name for name in known if name in kept])
        given = np.where(np.isin(given, [*known, unknown]), given, _OTHERS)
    columns = [*known]
    columns += [_OTHERS] * (_OTHERS in given and _OTHERS not in columns)
    columns += [unknown] * (unknown in given or bool(others))
    every = [*dict.fromkeys([*rows, *columns])]
    # One name more, because scikit-learn warns of a single one.
    counts = confusion_matrix(true, given, labels=[*every, "\0"])
    place = [every.index(name) for name in columns]
    counts = counts[[every.index(name) for name in rows]][:, place]

    is_right = np.array(
        [[(r if r in known else unknown) == c for c in columns] for r in rows]
    )
    size = [max(3.0, 0.2 * len(side)) for side in (columns, rows)]
    figure = Figure(
        figsize=(size[0] + 2.2, size[1] + 2.0), layout="constrained"
    )
    panel = figure.subplots()
    share = counts / counts.sum(axis=1, keepdims=True)
    colour = np.where(is_right[..., None], _RIGHT, _WRONG)
    panel.imshow(
        1 - np.sqrt(share)[..., None] * (1 - colour), interpolation="none"
    )
    font = 8 if len(rows) <= 30 else 6
    totals = counts.sum(axis=1)
    panel.set_yticks(
        range(len(rows)),
        [f"{_short(r)} ({n:,})" for r, n in zip(rows, totals, strict=True)],
        fontsize=font,
    )
    panel.set_xticks(
        range(len(columns)), map(_short, columns), rotation=90, fontsize=font
    )
    panel.set(xlabel="answer", ylabel="class (inputs)")
    of_known = sum(name in enrolled for name in rows)
    if 0 < of_known < len(rows):
        panel.axhline(of_known - 0.5, color="black", linewidth=1)
    if unknown in columns and len(columns) > 1:
        panel.axvline(len(columns) - 1.5, color="black", linewidth=1)
    if len(columns) <= _NUMBERED:
        _write_numbers(panel, counts, share)
    accuracy = f"{100 * np.mean(right):.1f} % of {len(right):,} are right"
    figure.suptitle(f"{title}\n{accuracy}".strip(), fontsize=10)
    return methods.finished(figure)


def _texts(name: str, values) -> np.ndarray:
    """Returns strings `(n,)` of strings or integers."""
    methods.not_empty(f"`{name}`", values, "one entry")
    num_rows(name, values)
    found = np.asarray(values)
    if found.ndim != 1 or found.dtype.kind not in "iuU":
        raise ValueError(
            f"`{name}` must be strings or integers of shape (n,); received "
            f"{found.dtype} of shape {found.shape}."
        )
    return found.astype(str)


def _most_errors(rows, wrong_labels, most: int) -> set:
    """The classes with the most wrong answers, the first ones of equals."""
    names, counts = np.unique(wrong_labels, return_counts=True)
    errors = dict(zip(names.tolist(), counts.tolist(), strict=True))
    order = sorted(rows, key=lambda name: -errors.get(str(name), 0))
    return set(order[:most])


def _most_answers(enrolled, answers, most: int) -> set:
    """The enrolled classes of the inputs, then the most frequent answers."""
    names, counts = np.unique(answers, return_counts=True)
    frequent = names[np.argsort(-counts, kind="stable")].tolist()
    return set([*dict.fromkeys([*enrolled, *frequent])][:most])


def _short(name: str) -> str:
    if len(name) <= _LONGEST:
        return name
    return f"{name[: _LONGEST // 2]}…{name[-_LONGEST // 2 + 1 :]}"


def _write_numbers(panel, counts, share) -> None:
    for row, column in zip(*np.nonzero(counts), strict=True):
        panel.text(
            column,
            row,
            f"{counts[row, column]:,}",
            ha="center",
            va="center",
            fontsize=7,
            color="white" if share[row, column] > 0.3 else "black",
        )
