"""Facts about a run for the model card of an export."""

import pathlib

from trainers.workdir import read_results
from trainers.workdir import recipe_fields
from trainers.workdir import run_of_workdir

_FROM_TRAINING = ("commit", "epochs", "best_epoch", "monitor", "best_value")


def run_card(path: pathlib.Path, licence: str | None) -> dict:
    """Returns data, recipe, metrics and licence for `export_saved_model`.

    Folders of this machine are left out. `python -m trainers.evaluate`
    measures the metrics; a run without an evaluation has none.

    Args:
        path: The workdir.
        licence: Licence of the model, or None.
    """
    recipe, run = run_of_workdir(path)
    results = read_results(path)
    training = results.get("training", {})
    return {
        "data": {
            "name": run.data.dataset,
            "split": run.data.split,
            "fingerprint": results.get("data_fingerprint"),
        },
        "recipe": {
            "name": recipe,
            **{k: training[k] for k in _FROM_TRAINING if k in training},
            "config": recipe_fields(run),
        },
        "metrics": results.get("evaluation", {}),
        "licence": licence,
    }
