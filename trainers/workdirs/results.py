"""Reads and changes the results of a run."""

import pathlib

from trainers.workdirs.json_files import read_json
from trainers.workdirs.json_files import write_json


def read_results(path: pathlib.Path) -> dict:
    """Returns the contents of a workdir's `results.json`, or {}.

    Raises:
        ValueError: If it is damaged.
    """
    file = path / "results.json"
    if not file.exists():
        return {}
    return read_json(
        file,
        "move it away and start the same command again, then evaluate again: "
        "both commands write it from the other files in the folder",
    )


def drop_results(path: pathlib.Path, *, keep_training: bool) -> None:
    """Removes results of an earlier checkpoint from `results.json`.

    That is evaluations and, if the training starts anew, all results of the
    old one.
    """
    results = read_results(path)
    kept = {
        name: section
        for name, section in results.items()
        if keep_training and not name.startswith("evaluation")
    }
    if len(kept) < len(results):
        write_json(path / "results.json", kept)


def update_results(path: pathlib.Path, **sections) -> dict:
    """Merges sections into `results.json` atomically; returns all of it."""
    results = {**read_results(path), **sections}
    write_json(path / "results.json", results)
    return results
