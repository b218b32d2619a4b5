"""The folder of one run, and the config in it."""

import json
import os
import pathlib
import shlex

from trainers.config.own_code_hashes import own_code_hashes
from trainers.config.run import DATA_FOLDERS
from trainers.config.run import Run
from trainers.config.run_checks import is_utf8
from trainers.config.run_config import complete
from trainers.config.run_config import config_of
from trainers.config.run_config import run_from_config
from trainers.terminal import command_names
from trainers.workdirs.json_files import DamagedError
from trainers.workdirs.json_files import read_json
from trainers.workdirs.json_files import write_json
from trainers.workdirs.layout import CHECKPOINTS
from trainers.workdirs.other_data_error import OtherDataError
from trainers.workdirs.results import read_results

# Fields for the folders of the data and for the machine, which are not part of
# a recipe, with their defaults.
PLACE_FIELDS = {**dict.fromkeys(DATA_FOLDERS, ""), "strategy": "one"}


def folder_argument(flag: str, value: str) -> pathlib.Path:
    """Returns the folder of a flag.

    Raises:
        ValueError: If it is empty, which would be the current folder,
            contains a character that file names cannot have, or is in a
            symbolic link whose target does not exist.
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
    path = pathlib.Path(value)
    for place in (path, *path.parents):
        if place.is_symlink() and not place.exists():
            raise ValueError(
                f"{flag} {value}: {place} is a symbolic link to "
                f"{os.readlink(place)}, which does not exist; create or mount "
                "it, or name another folder"
            )
    return path


def require_utf8(flag: str, path: pathlib.Path) -> None:
    """Raises ValueError if TensorFlow cannot write to a folder of this name."""
    if not is_utf8(str(path)):
        raise ValueError(
            f"{flag} must be a folder whose name is UTF-8, because TensorFlow "
            f"writes to it; received {str(path)!r}. Rename it or name another "
            "folder"
        )


def require_run(path: pathlib.Path) -> None:
    """Raises ValueError if a folder contains no run."""
    if not (path / "config.json").is_file():
        raise ValueError(
            f"{path} contains no run (no config.json in it); train first: "
            f"{command_names.display_name('trainers.train')} --config RECIPE "
            f"--workdir {shlex.quote(str(path))}"
        )


def claim(path: pathlib.Path, recipe: str, run: Run, **more) -> None:
    """Records the run in a fresh workdir; refuses the workdir of another run.

    `config.json` contains every field of the run, and can start it again:
    `--config WORKDIR/config.json`. It also contains hashes of own code.

    Args:
        path: The workdir.
        recipe: Name of the recipe.
        run: The typed run.
        **more: Sections that must also be equal, such as a search's.

    Raises:
        ValueError: As `contains_run`.
    """
    config = as_json(run)
    hashes = own_code_hashes(config)
    if contains_run(path, run, **more):
        recorded = _read_config_file(path)
        # Without a checkpoint, own code may have been mended since.
        if recorded.get("own_code", {}) != hashes:
            write_json(path / "config.json", recorded | {"own_code": hashes})
        return
    wanted = {"recipe": recipe, "config": {**config, **more}}
    if hashes:
        wanted["own_code"] = hashes
    write_json(path / "config.json", wanted)


def contains_run(path: pathlib.Path, run: Run, **more) -> bool:
    """Whether the workdir contains this run; False if it is fresh.

    Args:
        path: The workdir.
        run: The typed run.
        **more: As in `claim`.

    Raises:
        OtherDataError: As `require_same_code`, if `is_started`.
        ValueError: If the workdir contains a run with other values; names the
            first different field. Also if one of its files is damaged, or
            if there are results without a `config.json`.
    """
    results = read_results(path)
    if not (path / "config.json").exists():
        if results:
            raise ValueError(
                f"{path} has results.json, but has no config.json that says "
                "of which run; put it back, move results.json away, or choose "
                "another --workdir"
            )
        return False
    different = changed_fields(path, run, **more)
    if different:
        field, old, new = different[0]
        recipe = _read_config_file(path)["recipe"]
        raise ValueError(
            f"{path} contains a run of {recipe!r} with "
            f"{field}={old!r}; this one has {field}={new!r} "
            f"({len(different)} field(s) differ). Choose another --workdir, "
            "or start it again as it was."
        )
    if is_started(path):
        require_same_code(path, run)
    return True


def is_started(path: pathlib.Path) -> bool:
    """Whether something was trained in a workdir of a run, folds or a search.

    Before, the user's own code may be mended, such as after an error in the
    first step.
    """
    files = f"{CHECKPOINTS}/*.keras"
    patterns = files, f"fold_*/{files}", "trials/*"
    return any(any(path.glob(pattern)) for pattern in patterns)


def require_same_code(
    path: pathlib.Path, run: Run, kind: str = "--workdir"
) -> None:
    """Checks that the user's own code is that with which a run started.

    Args:
        path: A workdir with this run.
        run: The typed run.
        kind: What to start anew in, for the error: `--workdir` or `search`.

    Raises:
        OtherDataError: If a file that the run names has changed.
    """
    recorded = _read_config_file(path).get("own_code", {})
    for file, found in own_code_hashes(as_json(run)).items():
        expected = recorded.get(file, "none recorded")
        if found != expected:
            raise OtherDataError(
                f"{file} has changed since the run in {path} started (SHA-256 "
                f"{found[:16]}, not {expected[:16]}); put the file back as it "
                f"was, or start anew in another {kind}"
            )


def require_single_run(path: pathlib.Path) -> None:
    """Raises ValueError if a workdir contains folds or trials."""
    if parts := runs_within(path):
        raise ValueError(
            f"{path} contains several runs, such as {parts[0]}; name one of "
            "them, or choose another --workdir"
        )


def runs_within(path: pathlib.Path) -> list[pathlib.Path]:
    """Returns the workdirs of folds or of trials in a workdir."""
    return sorted(
        file.parent
        for pattern in ("fold_*/config.json", "trials/trial_*/config.json")
        for file in path.glob(pattern)
    )


def changed_fields(path: pathlib.Path, run: Run, **more) -> list[tuple]:
    """Returns `(field, stored, new)` of each field that differs from a run.

    Args:
        path: A workdir with a run.
        run: The typed run.
        **more: As in `claim`.
    """
    stored = resolved(_read_config_file(path)["config"])
    return differing_fields(stored, {**as_json(run), **more})


def _read_config_file(path: pathlib.Path) -> dict:
    file = path / "config.json"
    cure = (
        "it records which run is in the folder: put it back, or choose "
        "another --workdir"
    )
    found = read_json(file, cure)
    recipe, config = found.get("recipe"), found.get("config")
    if not (isinstance(recipe, str) and isinstance(config, dict) and config):
        raise DamagedError(
            f"{file} is damaged (it lacks a recipe or its config); {cure}"
        )
    hashes = found.get("own_code", {})
    if not isinstance(hashes, dict) or not all(
        isinstance(text, str) for text in hashes.values()
    ):
        raise DamagedError(
            f"{file} is damaged (own_code has no hashes of files); {cure}"
        )
    return found


def run_of_workdir(path: pathlib.Path) -> tuple[str, Run]:
    """Returns the recipe's name and the run in a workdir.

    Raises:
        ValueError: If its file is damaged.
    """
    found = _read_config_file(path)
    if "search" in found["config"]:
        trials = runs_within(path)
        such = f", such as {trials[0]}" if trials else ""
        raise ValueError(
            f"{path} contains a search, not a run; name one of its trials{such}"
        )
    return found["recipe"], run_from_config(found["config"])


def is_evaluated(results: dict, run: Run) -> bool:
    """Whether results have an evaluation with the settings of the run."""
    found = results.get("evaluation")
    if not (isinstance(found, dict) and "training" in results):
        return False
    return found.get("settings") == as_json(run)["evaluation"]


def resolved(config: dict) -> dict:
    """Returns a config with every field, as JSON would return it.

    Fields that the config omits, as some files in benchmarks/results do, have
    their default. The section `search` of a search's config stays unchanged.
    """
    rest = {n: value for n, value in config.items() if n != "search"}
    found = as_json(run_from_config(rest))
    return found | {n: v for n, v in config.items() if n == "search"}


def as_json(run: Run) -> dict:
    """Returns the config of a run, with every default, as from JSON."""
    return json.loads(json.dumps(config_of(complete(run))))


def recipe_fields(run: Run) -> dict:
    """Returns the fields that must be equal in two equal runs."""
    fields = as_json(run).items()
    return {name: value for name, value in fields if name not in PLACE_FIELDS}


def differing_fields(old, new, prefix="config") -> list[tuple]:
    """Returns `(field, old, new)` of fields that differ, except places."""
    if not (isinstance(old, dict) and isinstance(new, dict)):
        return [] if old == new else [(prefix, old, new)]
    rows = []
    for key in sorted(set(old) | set(new)):
        if prefix == "config" and key in PLACE_FIELDS:
            continue
        rows += differing_fields(old.get(key), new.get(key), f"{prefix}.{key}")
    return rows
