"""Runs that a table averages must differ in nothing but their seed."""

from collections.abc import Mapping

from tools.complete_config import complete_config
from trainers.workdirs.workdir import differing_fields


def require_one_config(what: str, configs: Mapping[object, dict]) -> None:
    """Raises ValueError if configs differ in more than seed and fold.

    Places of data make no difference, and an omitted field has its default.

    Args:
        what: What has these runs, for the message.
        configs: Configs of result files, by the name of the run.
    """
    if len(configs) < 2:
        return
    first = next(iter(configs))
    one = _comparable(configs[first])
    for name in configs:
        different = differing_fields(one, _comparable(configs[name]))
        if different:
            field, old, new = different[0]
            raise ValueError(
                f"{what}: the runs {first} and {name} differ in {field} "
                f"({old!r} and {new!r}) and in {len(different) - 1} other "
                "fields; expected runs that differ in `seed` only. Keep the "
                "winner of a search with tools.equal_budgets_table, and other "
                "variants under a recipe of their own"
            )


def without_start(config: dict, run: dict) -> dict:
    """Returns a config whose `initial_weights` is a recipe, not a folder.

    Seeds start from other folders, which have runs of one recipe.

    Args:
        config: The config of a run.
        run: The run in a result file, with the `initial_run` from which it
            started, if any.
    """
    if "initial_run" not in run:
        return config
    return config | {"initial_weights": run["initial_run"]["recipe"]}


def _comparable(config: dict) -> dict:
    """A config without its seed and the number of its fold."""
    config = complete_config(config)
    folds = {**config.get("folds", {}), "fold": 0}
    return {**config, "seed": 0, "folds": folds}
