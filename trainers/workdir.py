"""The folder of one run: its config, its lock, its results."""

import contextlib
import fcntl
import json
import os
import pathlib

from trainers.config import COMMON_FIELDS

# Where the data lies and how the machine works are not part of a recipe.
PLACE_FIELDS = ("data_dir", "manual_dir", "strategy")


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


@contextlib.contextmanager
def open_workdir(workdir: str, *, create: bool = True):
    """The run's folder, held by this process alone until the block ends.

    Raises:
        BlockingIOError: If another process holds it.
        OSError: If it cannot be made or written to.
        ValueError: If `create` is False and it holds no run.
    """
    path = pathlib.Path(workdir)
    if not create and not (path / "config.json").is_file():
        raise ValueError(
            f"{workdir} holds no run (no config.json in it); train first: "
            f"python -m trainers.train --config RECIPE --workdir {workdir}"
        )
    try:
        path.mkdir(parents=True, exist_ok=True)
        lock = open(path / ".lock", "w")
    except OSError as error:
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
        yield path


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


def claim(path: pathlib.Path, recipe: str, config) -> None:
    """Records the recipe in a fresh workdir; refuses another recipe's.

    Raises:
        ValueError: If the workdir belongs to another recipe or other values,
            naming the first field that differs.
    """
    wanted = {"recipe": recipe, "config": as_json(config)}
    file = path / "config.json"
    if not file.exists():
        write_json(file, wanted)
        return
    found = json.loads(file.read_text())
    different = _differences(
        {**COMMON_FIELDS, **found["config"]},
        {**COMMON_FIELDS, **wanted["config"]},
    )
    if different:
        field, old, new = different[0]
        raise ValueError(
            f"{path} holds a run of {found['recipe']!r} with "
            f"{field}={old!r}; this one has {field}={new!r} "
            f"({len(different)} field(s) differ). Choose another --workdir, "
            "or start it again as it was."
        )


def read_config(path: pathlib.Path):
    """Name of the recipe and config of the run in a workdir."""
    import ml_collections

    found = json.loads((path / "config.json").read_text())
    config = {**COMMON_FIELDS, **found["config"]}
    return found["recipe"], ml_collections.ConfigDict(config).lock()


def as_json(config) -> dict:
    """A config as JSON would give it back: tuples are lists."""
    return json.loads(json.dumps(config.to_dict()))


def recipe_fields(config) -> dict:
    """What makes two runs the same, wherever they run."""
    fields = as_json(config).items()
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
    file = path / "results.json"
    results = json.loads(file.read_text()) if file.exists() else {}
    results.update(sections)
    write_json(file, results)
    return results
