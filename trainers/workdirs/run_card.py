"""Facts about a run for the model card of an export."""

import os
import pathlib
from collections.abc import Mapping

from trainers.config.own_code import DATA_KINDS
from trainers.config.own_code import file_and_name
from trainers.workdirs.results import read_results
from trainers.workdirs.workdir import recipe_fields
from trainers.workdirs.workdir import run_of_workdir

_FROM_TRAINING = ("commit", "epochs", "best_epoch", "monitor", "best_value")
_FILES = (".py", ".keras", ".h5", ".npz", ".csv", ".txt")


def run_card(
    path: pathlib.Path, licence: str | None, reached: str = ""
) -> dict:
    """Returns data, recipe, metrics and licence for `export_saved_model`.

    Folders of this machine are left out: of a path, only the last part is
    written. `python -m trainers.evaluate` measures the metrics; a run without
    an evaluation has none. Settings, seconds and machine of the evaluation are
    under `evaluation` of the recipe.

    Args:
        path: The workdir.
        licence: Licence of the model, or None.
        reached: How far a training is that has not ended, or "".
    """
    recipe, run = run_of_workdir(path)
    results = read_results(path)
    training = results.get("training", {})
    metrics, evaluation = _divided(results.get("evaluation", {}))
    return {
        "data": {
            "name": without_folders(run.data.dataset),
            "split": run.data.split,
            "fingerprint": results.get("data_fingerprint"),
        },
        "recipe": {
            "name": without_folders(recipe),
            **{k: training[k] for k in _FROM_TRAINING if k in training},
            **({"training_has_not_ended": reached} if reached else {}),
            "config": _config(recipe_fields(run)),
            **({"evaluation": without_folders(evaluation)} if metrics else {}),
        },
        "metrics": metrics,
        "licence": licence,
    }


def without_folders(value):
    """Returns a JSON value whose paths have only their last part.

    Paths are `KIND:PATH` of data, `FILE.py:NAME`, names with the ending of a
    file, and names that start at the root, at a home folder or at the current
    folder. Names of data sets such as `n_digit/digits_2_number` stay.
    """
    if isinstance(value, Mapping):
        return {name: without_folders(part) for name, part in value.items()}
    if isinstance(value, list):
        return [without_folders(part) for part in value]
    if not isinstance(value, str):
        return value
    kind, colon, place = value.partition(":")
    if colon and kind in DATA_KINDS:
        return f"{kind}:{_last(place)}"
    code = file_and_name(value)
    if code is not None:
        return f"{_last(code[0])}:{code[1]}"
    is_path = value.startswith(("/", "~", "./", "../"))
    return _last(value) if is_path or value.endswith(_FILES) else value


def _config(fields: dict) -> dict:
    """The fields of a run; its initial weights are always a path."""
    weights = fields.get("initial_weights", "")
    return {
        **without_folders(fields),
        **({"initial_weights": _last(weights)} if weights else {}),
    }


def _last(path: str) -> str:
    return os.path.basename(path.rstrip("/")) or path


def _divided(found: Mapping) -> tuple[dict, dict]:
    """Divides an evaluation into what it measured, and how it was made."""
    from trainers.workdirs.provenance import provenance

    about = {"seconds", "settings", "data_fingerprint", *provenance()}
    return (
        {name: _measured(v) for name, v in found.items() if name not in about},
        {name: value for name, value in found.items() if name in about},
    )


def _measured(value):
    """Leaves out the angle of a rotation, which does not measure quality."""
    if not isinstance(value, Mapping):
        return value
    return {
        name: _measured(part) for name, part in value.items() if name != "angle"
    }
