"""Rows of data that have changed since they were embedded."""

import pathlib

import numpy as np

from trainers.trained.inputs import Inputs
from trainers.trained.stored_paths import canonical_names

# Two embeddings of one row differ by rounding only, also on another device.
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
    was sorted since, this is another row. Then its embedding is another, too.
    A file is known by its path, whatever it contains.

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
    differences = np.linalg.norm(embeddings[rows] - before, axis=1)
    size = np.linalg.norm(examples, axis=1).mean()
    changed = rows[differences > TOLERANCE * size]
    if len(changed):
        raise ValueError(
            f"row {inputs.names[changed[0]]} of {inputs.data} is not the "
            f"example of this name in {path}: the data has changed since "
            f"({len(changed)} of {len(rows)} rows). Make {path} again, or give "
            "the new data another name"
        )
