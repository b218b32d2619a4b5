"""Names of examples in a file that was moved away from them."""

import os
import pathlib
import sys
from collections.abc import Iterator

import numpy as np

from trainers.trained.stored_paths import canonical_names
from trainers.trained.stored_paths import folder_of
from trainers.trained.stored_paths import read_settings
from trainers.trained.stored_paths import with_paths


def moved_names(
    names: np.ndarray, file: pathlib.Path, workdir: pathlib.Path
) -> np.ndarray:
    """Returns names stored in a file, also if it was moved away from its run.

    The file contains the path of its run. So the place of the run tells the
    folder in which the file was written. A path that exists only from there
    becomes a path from the folder of the file now. Other names stay.

    Args:
        names: Names in the file, as a gallery stores them.
        file: The file of embeddings.
        workdir: The run, where it is now.
    """
    folder = folder_of(file)
    source = str(read_settings(file).get("source", ""))
    run = os.path.realpath(workdir)
    if not source or os.path.realpath(os.path.join(folder, source)) == run:
        return names
    steps = pathlib.PurePath(os.path.normpath(source)).parts
    up = "../" * steps.count("..")
    down = steps[steps.count("..") :]
    place = pathlib.PurePath(run).parts
    start = place[: len(place) - len(down)]
    if (*start, *down) != place:
        return names
    # After all steps up, paths are in a folder of the run, too.
    shared = os.path.join(*start)
    lost = [
        row
        for row in np.flatnonzero(_is_lost(names, folder))
        if names[row].startswith(up)
    ]
    paths = np.array([names[row][len(up) :] for row in lost], dtype=str)
    whole = with_paths(paths, lambda path: os.path.join(shared, path), shared)
    moved = with_paths(whole, lambda path: os.path.relpath(path, folder))
    found = names.tolist()
    for row, path, full, new in zip(lost, paths, whole, moved, strict=True):
        if full != path:  # it is there
            found[row] = new
    return np.array(found)


def _is_lost(names: np.ndarray, folder: str) -> np.ndarray:
    """Whether nothing is at the path in each name, from a folder on."""
    return names == with_paths(names, lambda path: "/", folder)


def warn_of_lost(
    names: np.ndarray, file: pathlib.Path, asked: np.ndarray
) -> None:
    """Warns if inputs may be examples that a file no longer finds.

    Their paths end in a stored path at which nothing is any more.

    Args:
        names: Names of the examples, as a gallery stores them.
        file: The file of embeddings.
        asked: Names of the inputs, from `full_names`.
    """
    lost = names[_is_lost(names, folder_of(file))]
    tails = {_without_steps_up(name) for name in lost.tolist()}
    found = [
        name
        for name in canonical_names(asked).tolist()
        if os.path.isabs(name) and not tails.isdisjoint(_ends(name))
    ]
    if found:
        may_be = "input may be an example"
        if len(found) > 1:
            may_be = "inputs may be examples"
        print(
            f"warning: {len(found)} {may_be} of {file}, such as {found[0]}, "
            f"but count as others, because the relative paths in {file} do not "
            "lead there. Move the file back to where it was, or make it again",
            file=sys.stderr,
        )


def _without_steps_up(path: str) -> str:
    while path.startswith("../"):
        path = path[3:]
    return path


def _ends(path: str) -> Iterator[str]:
    """Yields a path without its first folder, without two, and so on."""
    while "/" in path:
        path = path.partition("/")[2]
        yield path
