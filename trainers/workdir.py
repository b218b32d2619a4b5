"""The folder of one run: its config, its lock, its results."""

import contextlib
import fcntl
import json
import os
import pathlib

from trainers.run import Run
from trainers.run_config import config_of
from trainers.run_config import run_from_config

# Where the data lies and how the machine works are not part of a recipe; with
# their defaults.
PLACE_FIELDS = {"data_dir": "", "manual_dir": "", "strategy": "one"}


def write_atomically(path: pathlib.Path, data: bytes | str) -> None:
    """Writes a file so that a reader sees the old or the new one, whole."""
    if isinstance(data, str):
        data = data.encode()
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(temporary, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def write_json(path: pathlib.Path, value) -> None:
    """Writes `value` as indented JSON, atomically; NaN is an error."""
    text = json.dumps(value, indent=2, allow_nan=False)
    write_atomically(path, text + "\n")


def read_json(path: pathlib.Path, cure: str) -> dict:
    """The object in a JSON file.

    Raises:
        ValueError: If the file holds something else, with the cure.
    """
    try:
        found = json.loads(path.read_bytes())
    except ValueError as error:
        raise ValueError(f"{path} is damaged ({error}); {cure}") from error
    if not isinstance(found, dict):
        raise ValueError(
            f"{path} is damaged (it holds a {type(found).__name__} instead of "
            f"an object); {cure}"
        )
    return found


def folder_argument(flag: str, value: str) -> pathlib.Path:
    """The folder that a flag names.

    Raises:
        ValueError: If it is empty, which would be the current folder, or holds
            a character that no name of a file can have.
    """
    if not value:
        raise ValueError(
            f"{flag} is empty; name a folder ({flag} . is the current one)"
        )
    if "\0" in value:
        raise ValueError(
            f"{flag} must be the name of a folder, without null characters; "
            f"received {value!r}"
        )
    return pathlib.Path(value)


@contextlib.contextmanager
def open_workdir(workdir: str, *, create: bool = True):
    """The run's folder, held by this process alone until the block ends.

    A folder that was made here is removed again if nothing was put into it:
    a start that is refused leaves nothing behind.

    Raises:
        BlockingIOError: If another process holds it.
        OSError: If it cannot be made or written to.
        ValueError: If its name is empty, or `create` is False and it holds no
            run.
    """
    path = folder_argument("--workdir", workdir)
    if not create and not (path / "config.json").is_file():
        raise ValueError(
            f"{workdir} holds no run (no config.json in it); train first: "
            f"python -m trainers.train --config RECIPE --workdir {workdir}"
        )
    made = [p for p in (path / ".lock", path, *path.parents) if not p.exists()]
    try:
        path.mkdir(parents=True, exist_ok=True)
        lock = open(path / ".lock", "w")
    except OSError as error:
        _remove_empty(made)
        raise OSError(
            f"cannot write to the workdir {workdir}: {error.strerror}; choose "
            "another with --workdir"
        ) from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise BlockingIOError(
                f"another process works in {workdir}; wait for it to end, or "
                "choose another --workdir"
            ) from error
        try:
            yield path
        finally:
            if os.listdir(path) == [".lock"]:
                _remove_empty(made)


def _remove_empty(made: list[pathlib.Path]) -> None:
    """Removes a lock file and folders, innermost first, that are empty."""
    for path in made:
        try:
            path.rmdir() if path.is_dir() else path.unlink(missing_ok=True)
        except OSError:
            return


def is_held(path: pathlib.Path) -> bool:
    """Whether a process has the folder open with `open_workdir`."""
    try:
        lock = open(path / ".lock")
    except FileNotFoundError:
        return False
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def claim(path: pathlib.Path, recipe: str, run: Run, **more) -> None:
    """Records the run in a fresh workdir; refuses another run's.

    `config.json` has every field of the run, and makes it again:
    `--config WORKDIR/config.json`.

    Args:
        path: The workdir.
        recipe: Name of the recipe.
        run: The typed run.
        **more: Sections that have to be the same, too, such as a search's.

    Raises:
        ValueError: As `require_free`.
    """
    if not require_free(path, recipe, run, **more):
        wanted = {"recipe": recipe, "config": {**as_json(run), **more}}
        write_json(path / "config.json", wanted)


def require_free(path: pathlib.Path, recipe: str, run: Run, **more) -> bool:
    """Checks that a workdir is fresh, or holds this run.

    Returns:
        Whether it holds a run.

    Raises:
        ValueError: If the workdir belongs to a run with other values,
            naming the first field that differs; or if one of its files is
            damaged.
    """
    read_results(path)
    if not (path / "config.json").exists():
        return False
    found = _read_config_file(path)
    different = _differences(
        resolved(found["config"]), {**as_json(run), **more}
    )
    if different:
        field, old, new = different[0]
        raise ValueError(
            f"{path} holds a run of {found['recipe']!r} with "
            f"{field}={old!r}; this one has {field}={new!r} "
            f"({len(different)} field(s) differ). Choose another --workdir, "
            "or start it again as it was."
        )
    return True


def _read_config_file(path: pathlib.Path) -> dict:
    file = path / "config.json"
    cure = (
        "it says which run the folder holds: put it back as it was, or choose "
        "another --workdir"
    )
    found = read_json(file, cure)
    recipe, config = found.get("recipe"), found.get("config")
    if not (isinstance(recipe, str) and isinstance(config, dict) and config):
        raise ValueError(
            f"{file} is damaged (it lacks a recipe or its config); {cure}"
        )
    return found


def run_of_workdir(path: pathlib.Path) -> tuple[str, Run]:
    """Name of the recipe and the run in a workdir.

    Raises:
        ValueError: If its file is damaged.
    """
    found = _read_config_file(path)
    return found["recipe"], run_from_config(found["config"])


def read_results(path: pathlib.Path) -> dict:
    """What `results.json` of a workdir holds; nothing if there is none.

    Raises:
        ValueError: If it is damaged.
    """
    file = path / "results.json"
    if not file.exists():
        return {}
    return read_json(
        file,
        "move it away and start the same command again, then evaluate again: "
        "both write it anew from what else is in the folder",
    )


def resolved(config: dict) -> dict:
    """A config with every field, as JSON would give it back.

    Fields that the config leaves out, such as that of an older run, have their
    default. A search's config has a section `search`, which stays as it is.
    """
    rest = {n: value for n, value in config.items() if n != "search"}
    found = as_json(run_from_config(rest))
    return found | {n: v for n, v in config.items() if n == "search"}


def as_json(run: Run) -> dict:
    """The config of a run as JSON would give it back: tuples are lists."""
    return json.loads(json.dumps(config_of(run)))


def recipe_fields(run: Run) -> dict:
    """What makes two runs the same, wherever they run."""
    fields = as_json(run).items()
    return {name: value for name, value in fields if name not in PLACE_FIELDS}


def _differences(old, new, prefix="config"):
    if not (isinstance(old, dict) and isinstance(new, dict)):
        return [] if old == new else [(prefix, old, new)]
    rows = []
    for key in sorted(set(old) | set(new)):
        if prefix == "config" and key in PLACE_FIELDS:
            continue
        rows += _differences(old.get(key), new.get(key), f"{prefix}.{key}")
    return rows


def update_results(path: pathlib.Path, **sections) -> dict:
    """Merges sections into `results.json`, atomically; returns the whole."""
    results = {**read_results(path), **sections}
    write_json(path / "results.json", results)
    return results
