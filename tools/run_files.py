"""Reads the files of a run's workdir, for tables of results."""

import pathlib

from trainers.workdirs.json_files import read_json


def run_results(workdir: pathlib.Path) -> dict:
    """Returns the contents of `results.json`.

    Raises:
        ValueError: If it is missing or damaged.
    """
    return run_file(workdir, "results.json", "train and evaluate the run")


def run_config(workdir: pathlib.Path) -> dict:
    """Returns the configuration in `config.json`.

    Raises:
        ValueError: If it is missing or damaged.
    """
    return _of_run(workdir, "config")["config"]


def run_recipe_and_config(workdir: pathlib.Path) -> dict:
    """Returns the contents of `config.json`: `recipe` and `config`.

    Raises:
        ValueError: If it is missing or damaged.
    """
    return _of_run(workdir, "recipe", "config")


def _of_run(workdir: pathlib.Path, *needed: str) -> dict:
    found = run_file(workdir, "config.json", "train the run")
    if missing := [name for name in needed if name not in found]:
        raise ValueError(
            f"{workdir / 'config.json'} is damaged (it lacks "
            f"{' and '.join(missing)}); train the run again in another workdir"
        )
    return found


def run_file(workdir: pathlib.Path, name: str, cure: str) -> dict:
    """Returns the contents of a JSON file; the cure is what writes it.

    Raises:
        ValueError: If it is missing or damaged.
    """
    path = workdir / name
    if not path.is_file():
        raise ValueError(
            f"there is no file {path}; expected the workdir of a run: {cure} "
            "first"
        )
    return read_json(path, f"{cure} again in another workdir")
