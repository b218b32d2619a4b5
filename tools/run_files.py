"""Reads the files of a run's workdir, for tables of results."""

import pathlib

from trainers.workdirs.json_files import read_json


def run_results(workdir: pathlib.Path) -> dict:
    """Returns the contents of `results.json`.

    Raises:
        ValueError: If it is missing or damaged.
    """
    return _contents(workdir, "results.json", "train and evaluate the run")


def run_config(workdir: pathlib.Path) -> dict:
    """Returns the configuration in `config.json`.

    Raises:
        ValueError: If it is missing or damaged.
    """
    return run_recipe_and_config(workdir)["config"]


def run_recipe_and_config(workdir: pathlib.Path) -> dict:
    """Returns the contents of `config.json`: `recipe` and `config`."""
    return _contents(workdir, "config.json", "train the run")


def _contents(workdir: pathlib.Path, name: str, cure: str) -> dict:
    path = workdir / name
    if not path.is_file():
        raise ValueError(
            f"there is no file {path}; expected the workdir of a run: {cure} "
            "first"
        )
    return read_json(path, f"{cure} again in another workdir")
