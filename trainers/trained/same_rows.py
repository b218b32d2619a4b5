"""Rows of data that have changed since they were embedded."""

import pathlib

import numpy as np

from trainers.trained.inputs import Inputs
from trainers.trained.stored_paths import canonical_names

# Two embeddings of one row differ by rounding only, in half precision or on
# another device by more than this share of their length, ...
ROUNDING = 1e-5
# ... but not by this share of the mean length.
TOLERANCE = 0.05


def require_same_rows(
    path: pathlib.Path,
    names: np.ndarray,
    examples: np.ndarray,
    inputs: Inputs,
    embeddings: np.ndarray,
) -> None:
    """Checks that rows with the names of examples are these examples.

    A row is known by its data and its name, such as its number. If the data
    was sorted since, this is another row, and the embedding of another example
    is nearer. A row that was replaced is noticed if its embedding is clearly
    another. A file is known by its path, whatever it contains.

    Args:
        path: The file of the examples.
        names: Names of the examples, from `canonical_names`.
        examples: Their embeddings, `(examples, width)`.
        inputs: The inputs.
        embeddings: Embeddings of the inputs, `(n, width)`.

    Raises:
        ValueError: If a row has another embedding than the example.
    """
    if inputs.are_files:
        return
    places = {name: place for place, name in enumerate(names.tolist())}
    asked = canonical_names(inputs.full_names).tolist()
    rows = np.array([row for row, name in enumerate(asked) if name in places])
    if not len(rows):
        return
    before = examples[[places[asked[row]] for row in rows]]
    distances = np.linalg.norm(embeddings[rows] - before, axis=1)
    sizes = np.linalg.norm(before, axis=1)
    is_other = distances > ROUNDING * sizes
    is_changed = distances > TOLERANCE * np.linalg.norm(examples, axis=1).mean()
    is_changed[is_other] |= (
        _distances_to_nearest(embeddings[rows[is_other]], examples)
        < distances[is_other] / 2
    )
    changed = rows[is_changed]
    if len(changed):
        raise ValueError(
            f"row {inputs.names[changed[0]]} of {inputs.data} is not the "
            f"example of this name in {path}: the data has changed since "
            f"({len(changed)} of {len(rows)} rows). Make {path} again, or give "
            "the new data another name"
        )


def _distances_to_nearest(
    points: np.ndarray, examples: np.ndarray
) -> np.ndarray:
    """Returns the distance of each point to the nearest example, `(n,)`."""
    if not len(points):
        return np.zeros(0)
    from sklearn.neighbors import NearestNeighbors

    centre = examples.mean(axis=0, dtype="float64")  # keeps digits
    search = NearestNeighbors(n_neighbors=1).fit(examples - centre)
    return search.kneighbors(points - centre)[0][:, 0]
