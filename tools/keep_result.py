"""Reads result files, and writes them without silent overwriting."""

import json
import pathlib

from trainers.workdirs.json_files import write_json
from trainers.workdirs.workdir import PLACE_FIELDS
from trainers.workdirs.workdir import resolved

# Parts of a result file with one run per entry, by fold or by name.
PARTS = ("folds", "runs")


def keep_result(
    path: pathlib.Path, results: dict, *, replace: bool = False
) -> None:
    """Writes a result file, or adds runs to an existing file.

    Args:
        path: The result file.
        results: The new contents. Runs under `folds` or `runs` are added to
            the runs of the file.
        replace: Whether to overwrite the same runs and numbers. Other runs of
            the file stay, unless the config is another.

    Raises:
        ValueError: If the file has other values and `replace` is false.
    """
    _require_settings(results)
    if path.exists():
        kept = json.loads(path.read_text(encoding="utf-8"))
        if not replace:
            results = _together(path, kept, results)
        elif _same_recipe(kept, results):
            results = dict(results)
            for part in PARTS:
                if part in kept and part in results:
                    runs = {**kept[part], **results[part]}
                    results[part] = {run: runs[run] for run in sorted(runs)}
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(path, results)


def refuse_winner(workdir: pathlib.Path, results: dict) -> None:
    """Raises ValueError if results are of the winner of a search."""
    if "search" in results:
        raise ValueError(
            f"{workdir} contains the winner of a search, whose fields differ "
            f"from those of {results['recipe']}; keep it with `python -m "
            f"tools.equal_budgets_table {workdir}`"
        )


def kept_results(folder: pathlib.Path) -> dict[pathlib.Path, dict]:
    """Returns the result files of a folder, and their contents."""
    return {
        path: json.loads(path.read_text())
        for path in sorted(folder.glob("*.json"), key=lambda path: path.stem)
    }


def results_of(folder: pathlib.Path) -> list[dict]:
    """Returns the contents of the result files of a folder."""
    return [*kept_results(folder).values()]


def results_by_name(folder: pathlib.Path) -> dict[str, dict]:
    """Returns the contents of the result files of a folder by their names."""
    return {path.stem: found for path, found in kept_results(folder).items()}


def _together(path: pathlib.Path, kept: dict, new: dict) -> dict:
    parts, new_parts = ([n for n in PARTS if n in r] for r in (kept, new))
    if parts != new_parts:
        raise ValueError(
            f"{path} contains {_said(parts)}, and the new result contains "
            f"{_said(new_parts)}; expected the same. Keep it under another "
            "name, or pass --replace to overwrite the file"
        )
    merged = dict(kept)
    for name, value in json.loads(json.dumps(new)).items():
        if name in PARTS:
            taken = [
                run
                for run in value
                if kept[name].get(run, value[run]) != value[run]
            ]
            if taken:
                raise _error(path, f"{name} {', '.join(taken)}")
            runs = {**kept[name], **value}
            merged[name] = {run: runs[run] for run in sorted(runs)}
        elif kept.get(name, value) != value and not _same_config(
            name, kept[name], value
        ):
            raise _error(path, name)
        else:
            merged.setdefault(name, value)
    return merged


def _require_settings(results: dict) -> None:
    """Raises ValueError if a run was evaluated in another way than it says.

    `trainers.evaluate` takes fields of the evaluation, which config.json of the
    workdir does not have.
    """
    config = results.get("config", {}).get("evaluation", {})
    config = json.loads(json.dumps(config))
    runs = [results]
    for part in PARTS:
        for of_part in results.get(part, {}).values():
            runs += of_part if isinstance(of_part, list) else [of_part]
    for run in runs:
        found = (run.get("evaluation") or {}).get("settings", {})
        for name, value in json.loads(json.dumps(found)).items():
            if config.get(name, value) != value:
                raise ValueError(
                    f"the run was evaluated with {name}={value!r}, and its "
                    f"config has {config[name]!r}; evaluate it again without "
                    "--config.evaluation, so that its command repeats it"
                )


def _same_recipe(kept: dict, new: dict) -> bool:
    """Whether two files have runs of one recipe with one config."""
    if kept.get("recipe") != new.get("recipe"):
        return False
    configs = kept.get("config"), new.get("config")
    return None not in configs and _same_config("config", *configs)


def _same_config(name: str, kept, new) -> bool:
    """Whether two configs differ only in places and the fold's number."""
    if name != "config":
        return False

    def comparable(config):
        config = resolved({**config, **PLACE_FIELDS})
        return config | {"folds": {**config.get("folds", {}), "fold": 0}}

    return comparable(kept) == comparable(new)


def _said(parts: list[str]) -> str:
    return " and ".join(parts) or "a single run"


def _error(path: pathlib.Path, what: str) -> ValueError:
    return ValueError(
        f"{path} already contains other values of {what}. Compare them with "
        "`python -m tools.agree WORKDIR`; pass --replace to overwrite the "
        "old values"
    )
